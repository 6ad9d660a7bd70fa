"""Exact numbers: what counts as one, and how a text is read as one."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from steelyard.rules.values import as_decimal, is_finite

MAX_DIGITS = 10_000
"""Numbers with more digits before or after the point are refused: exact arithmetic on them has no bound."""

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)


def exact(value: Any) -> Fraction | None:
    """The exact value of a JSON number; None for anything else: bool, text, NaN, infinities, absurd sizes.

    A float stands for its shortest spelling: 0.1 is one tenth.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value) if value.bit_length() < MAX_DIGITS * 4 else None
    if not isinstance(value, (float, Decimal)) or not is_finite(value):
        return None
    return _fraction(as_decimal(value))


@lru_cache(maxsize=1024)
def _fraction(decimal: Decimal) -> Fraction | None:
    _, digits, exponent = decimal.as_tuple()
    if not isinstance(exponent, int) or len(digits) + abs(exponent) > MAX_DIGITS:
        return None
    return Fraction(decimal)


def number_text(text: str, unit: str | None = None, *, unit_required: bool = False) -> Fraction | None:
    """A text that is exactly one JSON number, with the unit behind it if one is named; None for any other text.

    White space around it and before the unit does not matter. Nothing is dug out of a sentence.
    """
    trimmed = text.strip()
    if unit:
        bare = trimmed.removesuffix(unit.strip())
        if unit_required and bare == trimmed:
            return None
        trimmed = bare.rstrip()
    if len(trimmed) > MAX_DIGITS or not _JSON_NUMBER.fullmatch(trimmed):
        return None
    return exact(Decimal(trimmed))


def within(value: Fraction, target: Fraction, abs_tol: Fraction, rel_tol: Fraction) -> bool:
    """Whether `value` lies within either tolerance of `target`; bounds inclusive. Zero tolerances: equal."""
    if value == target:
        return True
    if not (abs_tol or rel_tol):
        return False
    return abs(value - target) <= max(abs_tol, rel_tol * abs(target))
