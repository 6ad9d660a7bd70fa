"""A time limit around one check, so that a check that hangs is an error of its criterion and of nothing else."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from steelyard.errors import GraderTimeoutError

T = TypeVar("T")


def call_within(seconds: float, work: Callable[[], T]) -> T:
    """`work()`, or GraderTimeoutError after `seconds`.

    In the main thread of a POSIX system an interval timer interrupts Python code. Elsewhere the work runs in a
    daemon thread that is left behind when its time is over.
    """
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        return _with_timer(seconds, work)
    return _with_thread(seconds, work)


def _with_timer(seconds: float, work: Callable[[], T]) -> T:
    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise GraderTimeoutError(f"the check ran longer than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


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
    thread.join(seconds)
    if thread.is_alive():
        raise GraderTimeoutError(f"the check ran longer than {seconds:g} s")
    if problem:
        raise problem[0]
    return result[0]
