"""Task ids and trial numbers, as recordings write them."""

from __future__ import annotations

import math
from typing import Any

from steelyard.errors import FormatError
from steelyard.importers.building import StepBuilder
from steelyard.model.verdict import MOST_TRIAL


def read_task_id(value: Any, builder: StepBuilder) -> str | None:
    """The task id as text; a number becomes its decimal text, with a notice. Raises `FormatError` for anything else."""
    if value == "":
        builder.notice("blank_task_id", "The task id is empty; it is read as not recorded.")
        return None
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise FormatError("its task_id is neither text nor a number")
    builder.notice("task_id_number", f"The task id is the number {value}; it is read as the text '{value}'.")
    return str(value)


def read_trial(value: Any, builder: StepBuilder) -> int | None:
    """The trial number, 0 to `MOST_TRIAL`; digits as text are taken with a notice.

    Raises `FormatError` for anything else.
    """
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        builder.notice("trial_text", f"The trial is the text '{value}'; it is read as a number.")
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TRIAL:
        raise FormatError(f"its trial is not a whole number from 0 to {MOST_TRIAL}")
    return value


def finite(value: Any) -> float | None:
    """A finite number as float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def text_of(value: Any) -> str | None:
    """Text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None
