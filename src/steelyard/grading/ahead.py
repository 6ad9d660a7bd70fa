"""A few trials are read ahead, so that what is known of all of them is looked up at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

MOST_TRIALS = 256
MOST_SIZE = 8_192
"""Steps of all the traces that are held at a time."""
MOST_SECONDS = 0.05
"""Where reading takes longer than this, the next trial is graded as soon as it is there."""


def windows(
    source: Iterable[T], *, size: Callable[[T], int], clock: Callable[[], float] = time.monotonic
) -> Iterator[list[T]]:
    """The source in short lists, in its order. Starts with lists of one; what was read before an error comes first."""
    reading = iter(source)
    most = 1
    while True:
        window: list[T] = []
        held, began = 0, clock()
        try:
            for entry in reading:
                window.append(entry)
                held += size(entry)
                if len(window) >= most or held >= MOST_SIZE or clock() - began > MOST_SECONDS:
                    break
            else:
                break
        except Exception:
            yield window
            raise
        yield window
        most = 1 if clock() - began > MOST_SECONDS else min(2 * most, MOST_TRIALS)
    if window:
        yield window
