"""Time limits of many calls under one timer."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from steelyard.errors import GraderTimeoutError
from steelyard.grading.deadline import Limits


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "done"


def test_the_timer_is_armed_once_for_all_of_them() -> None:
    with Limits() as limits:
        assert limits.call(5, lambda: 1) == 1
        left = signal.getitimer(signal.ITIMER_REAL)[0]
        time.sleep(0.02)
        assert limits.call(5, lambda: 2) == 2
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] < left, "not armed anew"


def test_each_has_its_own_limit_whenever_the_timer_was_armed() -> None:
    with Limits() as limits:
        assert limits.call(0.2, lambda: sleep(0.15)) == "done"
        assert limits.call(0.2, lambda: sleep(0.15)) == "done", (
            "the timer rang in it, and its time was not over"
        )
        with pytest.raises(GraderTimeoutError, match=r"longer than 0\.2 s"):
            limits.call(0.2, lambda: sleep(3))
        assert limits.call(0.2, lambda: 4) == 4


def test_a_shorter_limit_after_a_longer_one_rings_in_time() -> None:
    with Limits() as limits:
        assert limits.call(60, lambda: 1) == 1
        started = time.monotonic()
        with pytest.raises(GraderTimeoutError):
            limits.call(0.1, lambda: sleep(3))
        assert time.monotonic() - started < 2
        assert limits.call(0.1, lambda: 2) == 2


def test_what_is_done_between_two_calls_has_no_limit() -> None:
    with Limits() as limits:
        assert limits.call(0.05, lambda: 1) == 1
        assert sleep(0.15) == "done"
        assert limits.call(0.05, lambda: 2) == 2


def test_a_timer_of_the_caller_is_left_to_it() -> None:
    rung: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with Limits() as limits:
            assert limits.call(5, lambda: 1) == 1
            assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.2
            with pytest.raises(GraderTimeoutError):
                limits.call(0.05, lambda: sleep(3))
            assert sleep(0.3) == "done"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(rung) == 1


def test_a_timer_that_the_caller_arms_between_two_calls_rings_for_the_caller() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        with Limits() as limits:
            assert limits.call(60, lambda: 1) == 1
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            assert sleep(0.15) == "done"
            assert rung == [1]
            with pytest.raises(GraderTimeoutError):
                limits.call(0.1, lambda: sleep(3))
    finally:
        signal.signal(signal.SIGALRM, before)
