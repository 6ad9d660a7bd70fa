"""A time limit around one check, so that a check that hangs is an error of its criterion and of nothing else."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from math import inf
from types import FrameType
from typing import Any, Self, TypeVar

from steelyard.errors import GraderTimeoutError

T = TypeVar("T")

SHORTEST = 0.001
"""Seconds; a timer of 0 would be no limit at all."""
CLOCK_SLACK = 0.01
"""Seconds by which the timer and the clock may differ."""


def call_within(seconds: float, work: Callable[[], T]) -> T:
    """`work()`, or GraderTimeoutError after `seconds`.

    In the main thread of a POSIX system an interval timer interrupts Python code; a timer that the caller had armed
    is armed again afterwards. Elsewhere the work runs in a
    daemon thread that is left behind when its time is over.
    """
    if not _interruptible():
        return _with_thread(seconds, work)
    armed = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        with _Timer() as timer:
            return timer.call(seconds, work)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *armed)


class Limits:
    """Time limits of many calls one after the other, under one timer that is armed once for all of them.

    A context manager. Where the caller has armed the timer for itself, or where there is none, each call gets a limit
    of its own, as by `call_within`.
    """

    def __init__(self) -> None:
        self._timer: _Timer | None = None

    def __enter__(self) -> Self:
        if _interruptible() and signal.getitimer(signal.ITIMER_REAL)[0] == 0:
            self._timer = _Timer().__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._timer is not None:
            self._timer.__exit__(*exc_info)
            self._timer = None

    def call(self, seconds: float, work: Callable[[], T]) -> T:
        """`work()`, or GraderTimeoutError after `seconds`."""
        if self._timer is None:
            return call_within(seconds, work)
        return self._timer.call(seconds, work)


class _Expired(BaseException):
    """Not an `Exception`, so that a check that catches everything it can think of does not swallow its own limit."""


class _Timer:
    """The interval timer while it is ours. It may ring when nothing runs any more, or something that began later."""

    def __init__(self) -> None:
        self._until: float | None = None
        """When the time of what runs is over."""
        self._rings = inf
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGALRM, self._ring)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._rings < inf:
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def call(self, seconds: float, work: Callable[[], T]) -> T:
        until = time.monotonic() + max(seconds, SHORTEST)
        try:
            try:
                self._until = until
                if until < self._rings:
                    self._arm(until)
                return work()
            finally:
                self._until = None
        except _Expired:
            raise GraderTimeoutError(f"the check ran longer than {seconds:g} s") from None

    def _arm(self, until: float) -> None:
        self._rings = until
        signal.setitimer(signal.ITIMER_REAL, max(until - time.monotonic(), SHORTEST))

    def _ring(self, signum: int, frame: FrameType | None) -> None:
        until, now = self._until, time.monotonic()
        if now < self._rings - CLOCK_SLACK and callable(
            self._before
        ):  # armed by somebody else between two calls
            self._rings = inf
            self._before(signum, frame)
        elif until is not None and now < until:
            self._arm(until)
        else:
            self._rings = inf
            if until is not None:
                raise _Expired


def _interruptible() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _with_thread(seconds: float, work: Callable[[], T]) -> T:
    result: list[T] = []
    problem: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001  handed to the caller's thread, where it is raised
            problem.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(seconds, SHORTEST))
    if thread.is_alive():
        raise GraderTimeoutError(f"the check ran longer than {seconds:g} s")
    if problem:
        raise problem[0]
    return result[0]
