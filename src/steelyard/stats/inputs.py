"""Checks of numeric arguments: every function of this room refuses bad numbers with a sentence."""

from __future__ import annotations

import math
import operator
from collections.abc import Sized
from typing import SupportsFloat, SupportsIndex


def checked_integer(number: SupportsIndex, name: str, *, minimum: int = 0) -> int:
    """The integer, or ValueError when it is a bool, not an integer, or below `minimum`."""
    if isinstance(number, bool):
        raise ValueError(f"{name} must be a count, not the truth value {number}.")
    try:
        count = operator.index(number)
    except TypeError:
        raise ValueError(f"{name} must be an integer; got {number!r}.") from None
    if count < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {count}.")
    return count


def checked_counts(successes: SupportsIndex, n: SupportsIndex) -> tuple[int, int]:
    """Both counts, or ValueError unless 0 <= successes <= n."""
    total = checked_integer(n, "n")
    count = checked_integer(successes, "The number of successes")
    if count > total:
        raise ValueError(f"There cannot be more successes than observations; got {count} of {total}.")
    return count, total


def checked_real(number: SupportsFloat, name: str) -> float:
    """The number as a float, or ValueError when it is not finite or not a number."""
    if isinstance(number, (str, bytes)):
        raise ValueError(f"{name} must be a number, not the text {number!r}.")
    try:
        value = float(number)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number; got {number!r}.") from None
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite; got {value}.")
    return value


def checked_open_unit(number: SupportsFloat, name: str) -> float:
    """The number, or ValueError unless it lies strictly between 0 and 1."""
    value = checked_real(number, name)
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {value}.")
    return value


def checked_between(number: SupportsFloat, name: str, low: float, high: float) -> float:
    """The number, or ValueError unless low <= number <= high."""
    value = checked_real(number, name)
    if not low <= value <= high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}; got {value}.")
    return value


def checked_positive(number: SupportsFloat, name: str) -> float:
    """The number, or ValueError unless it is above 0."""
    value = checked_real(number, name)
    if value <= 0.0:
        raise ValueError(f"{name} must be above 0; got {value}.")
    return value


def checked_nonnegative(number: SupportsFloat, name: str) -> float:
    """The number, or ValueError when it is below 0."""
    value = checked_real(number, name)
    if value < 0.0:
        raise ValueError(f"{name} must not be negative; got {value}.")
    return value


def checked_length(sequence: Sized | None, name: str, expected: int) -> None:
    """ValueError when the sequence is given and does not have one entry per value."""
    if sequence is not None and len(sequence) != expected:
        raise ValueError(f"{name} needs one entry per value: {expected} values, {len(sequence)} entries.")
