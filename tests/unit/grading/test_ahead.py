"""Trials are read a few ahead, never more than is wanted, and none is lost to an error of the one after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from steelyard.grading.ahead import MOST_SECONDS, MOST_SIZE, MOST_TRIALS, windows


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def small(_: int) -> int:
    return 1


def read_all(source: Iterator[int], seen: list[int]) -> None:
    for window in windows(source, size=small, clock=Clock()):
        seen.extend(window)


def test_everything_comes_in_order_in_lists_that_grow() -> None:
    found = list(windows(range(1000), size=small, clock=Clock()))
    assert [one for window in found for one in window] == list(range(1000))
    lengths = [len(window) for window in found]
    assert lengths[:5] == [1, 2, 4, 8, 16]
    assert max(lengths) == MOST_TRIALS
    assert list(windows([], size=small)) == []


def test_large_traces_are_not_held_together() -> None:
    found = list(windows(range(20), size=lambda _: MOST_SIZE, clock=Clock()))
    assert [len(window) for window in found] == [1] * 20


def test_where_reading_is_slow_each_is_given_on_as_it_comes() -> None:
    clock = Clock()

    def slow() -> Iterator[int]:
        for number in range(40):
            clock.now += 0.0 if number < 20 else 2 * MOST_SECONDS
            yield number

    lengths = [len(window) for window in windows(slow(), size=small, clock=clock)]
    assert max(lengths[:4]) > 1
    assert lengths[-15:] == [1] * 15


def test_what_was_read_before_an_error_comes_first() -> None:
    def broken() -> Iterator[int]:
        yield from range(5)
        raise ValueError("the rest is gone")

    seen: list[int] = []
    with pytest.raises(ValueError, match="the rest is gone"):
        read_all(broken(), seen)
    assert seen == [0, 1, 2, 3, 4]


def test_an_interrupt_while_reading_gives_nothing_on() -> None:
    def stopped() -> Iterator[int]:
        yield from range(2)
        raise KeyboardInterrupt

    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        read_all(stopped(), seen)
    assert seen == [0]
