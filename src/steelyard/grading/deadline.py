"""A time limit around one check, so that a check that hangs is an error of its criterion and of nothing else."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from steelyard.errors import GraderTimeoutError

T = TypeVar("T")

SHORTEST = 0.001
"""Seconds; a timer of 0 would be no limit at all."""


def call_within(seconds: float, work: Callable[[], T]) -> T:
    """`work()`, or GraderTimeoutError after `seconds`.

    In the main thread of a POSIX system an interval timer interrupts Python code; a timer that the caller had armed
    is armed again afterwards. Elsewhere the work runs in a
    daemon thread that is left behind when its time is over.
    """
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        return _with_timer(seconds, work)
    return _with_thread(seconds, work)


class _Expired(BaseException):
    """Not an `Exception`, so that a check that catches everything it can think of does not swallow its own limit."""


def _with_timer(seconds: float, work: Callable[[], T]) -> T:
    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise _Expired

    handler = signal.signal(signal.SIGALRM, interrupt)
    armed = signal.setitimer(signal.ITIMER_REAL, max(seconds, SHORTEST))
    try:
        try:
            return work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _Expired:
        raise _too_long(seconds) from None
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *armed)


def _too_long(seconds: float) -> GraderTimeoutError:
    return GraderTimeoutError(f"the check ran longer than {seconds:g} s")


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
        raise _too_long(seconds)
    if problem:
        raise problem[0]
    return result[0]
