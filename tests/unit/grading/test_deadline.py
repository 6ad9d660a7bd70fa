"""The time limit of one check, in the main thread and elsewhere."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from steelyard.errors import GraderTimeoutError
from steelyard.grading.deadline import call_within


def in_main(work: Callable[[], Any]) -> Any:
    return work()


def in_worker(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    problem: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # noqa: BLE001  raised again below
            problem.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    if problem:
        raise problem[0]
    return found[0]


@pytest.fixture(params=[in_main, in_worker], ids=["main", "worker"])
def place(request: pytest.FixtureRequest) -> Callable[[Callable[[], Any]], Any]:
    return request.param


@pytest.fixture(autouse=True)
def nothing_armed() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def spin(until: float) -> None:
    while time.monotonic() < until:
        pass


Place = Callable[[Callable[[], Any]], Any]


def test_the_result_comes_back(place: Place) -> None:
    assert place(lambda: call_within(5, lambda: 42)) == 42


def test_its_exception_comes_back(place: Place) -> None:
    def work() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        place(lambda: call_within(5, work))


@pytest.mark.parametrize("seconds", [0.1, 0, -1])
def test_what_hangs_is_a_timeout(place: Place, seconds: float) -> None:
    started = time.monotonic()
    with pytest.raises(GraderTimeoutError, match="longer than") as caught:
        place(lambda: call_within(seconds, lambda: spin(started + 3)))
    assert caught.value.code == "timeout"
    assert time.monotonic() - started < 2


def test_sleep_is_cut_short_too(place: Place) -> None:
    started = time.monotonic()
    with pytest.raises(GraderTimeoutError):
        place(lambda: call_within(0.1, lambda: time.sleep(3)))
    assert time.monotonic() - started < 2


def test_a_check_that_catches_every_exception_does_not_catch_its_limit(place: Place) -> None:
    until = time.monotonic() + 3

    def work() -> None:
        while time.monotonic() < until:
            try:
                spin(until)
            except Exception:  # noqa: BLE001  what is tested
                continue

    with pytest.raises(GraderTimeoutError):
        place(lambda: call_within(0.1, work))
    assert time.monotonic() < until


def test_an_exception_raised_while_the_limit_interrupts_is_what_comes_back() -> None:
    def work() -> None:
        try:
            time.sleep(3)
        finally:
            raise ValueError("cleaning up failed")

    with pytest.raises(ValueError, match="cleaning up"):
        call_within(0.1, work)


def test_an_exception_after_the_limit_reaches_nobody() -> None:
    ended = threading.Event()

    def work() -> None:
        try:
            time.sleep(0.3)
            raise RuntimeError("too late")
        finally:
            ended.set()

    with pytest.raises(GraderTimeoutError):
        in_worker(lambda: call_within(0.05, work))
    assert ended.wait(5)
    assert call_within(5, lambda: "next") == "next"


def test_interrupting_the_program_is_no_error_of_a_check(place: Place) -> None:
    def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place(lambda: call_within(5, work))


def test_a_timer_of_the_caller_runs_on() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        assert call_within(5, lambda: 1) == 1
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.2
        until = time.monotonic() + 5
        while not rung and time.monotonic() < until:
            time.sleep(0.01)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung == [1]
