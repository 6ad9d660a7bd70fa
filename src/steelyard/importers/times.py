"""Times as written. A time without a zone stays without one: it is never read as local."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from steelyard.model.trace import Clock

_EPOCH_FROM = 1e9
"""Numbers from here on are seconds since 1970 (2001 and later); smaller ones count from some start."""

Problem = tuple[str, str]


class TimeReader:
    """Reads the times of one trace in source order and sees where they contradict it."""

    def __init__(self) -> None:
        self._last: dict[str, datetime] = {}

    def read(self, value: Any) -> tuple[str | None, Clock, Problem | None]:
        """(text as written, clock, problem to tell or None)."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None, "none", ("unreadable_time", "A time is neither text nor a number; it is left out.")
        if not isinstance(value, str):
            return _number(value)
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return (
                value,
                "none",
                ("unreadable_time", "A time is not ISO 8601; it is kept as text and not used."),
            )
        clock: Clock = "naive" if moment.tzinfo is None else "utc"
        return value, clock, self._compare(clock, moment)

    def _compare(self, clock: Clock, moment: datetime) -> Problem | None:
        last = self._last.get(clock)
        mixed = last is None and bool(self._last)
        if last is None or moment >= last:
            self._last[clock] = moment
        if mixed:
            return (
                "mixed_clocks",
                "Some times have a zone and some have none; they cannot be compared with each other.",
            )
        if last is not None and moment < last:
            return "times_go_back", "A time lies before an earlier step's; the order of the record is kept."
        return None


def _number(value: int | float) -> tuple[str | None, Clock, Problem | None]:
    if not math.isfinite(value) or abs(value) > 1e11:
        return None, "none", ("unreadable_time", "A time is a number out of range; it is left out.")
    if value >= _EPOCH_FROM:
        return datetime.fromtimestamp(value, tz=UTC).isoformat(), "utc", None
    return str(value), "relative", None
