"""What a grading holds of each trial already, as a digest of its last attempt: enough to see that nothing changed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from steelyard.store.schema import CONTENTS, TRIALS

Address = tuple[int, str, int]
"""Grading, task, number of the trial."""


def digest_of(trial: Sequence[Any], verdicts: Sequence[Sequence[Any]]) -> bytes:
    """16 bytes over the columns of a trial and of its verdicts, as they are written (the payload by its hash)."""
    return hashlib.sha256(repr((tuple(trial), [tuple(row) for row in verdicts])).encode()).digest()[:16]


def held(connection: sqlite3.Connection, grading: int) -> dict[Address, bytes]:
    """The last attempt of every trial of a grading."""
    rows = groupby(connection.execute(CONTENTS, (grading,)), key=itemgetter(0))
    verdicts = {id_: [row[1:] for row in several] for id_, several in rows}
    return {
        (grading, columns[0], columns[1]): digest_of(columns, verdicts.pop(id_, ()))
        for id_, *columns in connection.execute(TRIALS, (grading,))
    }
