from __future__ import annotations

from typing import Any

import pytest

from steelyard.importers.times import TimeReader


@pytest.mark.parametrize(
    ("value", "text", "clock"),
    [
        ("2030-03-01T10:00:00Z", "2030-03-01T10:00:00Z", "utc"),
        ("2030-03-01T11:00:00+01:00", "2030-03-01T11:00:00+01:00", "utc"),
        ("2025-08-01T16:20:44.335657", "2025-08-01T16:20:44.335657", "naive"),
        (1_700_000_000, "2023-11-14T22:13:20+00:00", "utc"),
        (12.5, "12.5", "relative"),
    ],
)
def test_times_are_kept_as_written_with_their_clock(value: Any, text: str, clock: str) -> None:
    assert TimeReader().read(value) == (text, clock, None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1 March 2030", "1 March 2030"),
        ("", ""),
        (True, None),
        ([], None),
        (float("nan"), None),
        (1e300, None),
    ],
)
def test_what_is_no_time_is_told_and_not_used(value: Any, text: str | None) -> None:
    read, clock, problem = TimeReader().read(value)
    assert (read, clock) == (text, "none")
    assert problem is not None
    assert problem[0] == "unreadable_time"


def test_a_time_before_an_earlier_one_is_told() -> None:
    reader = TimeReader()
    assert reader.read("2030-03-01T10:00:00Z")[2] is None
    assert reader.read("2030-03-01T11:00:00+01:00")[2] is None, "the same instant in another zone"
    problem = reader.read("2030-03-01T10:30:00+01:00")[2]
    assert problem is not None
    assert problem[0] == "times_go_back"


def test_times_with_and_without_a_zone_are_never_compared() -> None:
    reader = TimeReader()
    reader.read("2030-03-01T10:00:00Z")
    text, clock, problem = reader.read("2030-03-01T01:00:00")
    assert (text, clock) == ("2030-03-01T01:00:00", "naive")
    assert problem is not None
    assert problem[0] == "mixed_clocks"
    assert reader.read("2030-03-01T01:00:01")[2] is None
