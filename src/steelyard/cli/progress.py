"""Progress on stderr: a bar with time left on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steelyard.cli.output import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    Progress = Callable[[int, int | None], None]

EVERY = 5.0
"""Seconds between two lines where stderr is no terminal; work that ends earlier prints none."""


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress | None]:
    """A function to call with (done, expected), or None with `quiet`."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as update:
            yield update
    else:
        yield _Lines()


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("grading", total=None)
        yield lambda done, expected: shown.update(
            task, completed=done, total=None if expected is None else max(done, expected)
        )


class _Lines:
    def __init__(self) -> None:
        self.started = self.last = time.monotonic()

    def __call__(self, done: int, expected: int | None) -> None:
        now = time.monotonic()
        if now - self.last < EVERY or done == 0:
            return
        self.last = now
        left = ""
        if expected is not None and expected >= done:
            seconds = (now - self.started) / done * (expected - done)
            left = f" of {expected}, about {seconds:.0f} s left"
        warn(f"graded {done} trials{left}")
