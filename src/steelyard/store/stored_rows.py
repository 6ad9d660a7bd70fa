"""The rows of one kept grading: their columns at hand, the rows themselves read again when they are asked for."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from steelyard.model.columns import CompactRows, Row, RowColumns
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.store import reading, schema
from steelyard.store.columns import MERGED, TRIAL, VERDICT
from steelyard.store.encoding import collector_paused, decode_body, measurements_of, verdict_of

Opened = Callable[[], AbstractContextManager[sqlite3.Connection]]
"""Opens the store to read, for one batch of rows."""
_AT_ONCE = 500


class StoredRows(CompactRows):
    """See `CompactRows`. `merged` are the rows of trials that were graded several times."""

    def __init__(self, opened: Opened, grading: int, columns: RowColumns, merged: Sequence[Row]) -> None:
        self._opened = opened
        self._grading = grading
        self._columns = columns
        self._merged = merged

    def columns(self) -> RowColumns:
        return self._columns

    def __len__(self) -> int:
        return len(self._columns.place) + len(self._columns.trial_place)

    def __iter__(self) -> Iterator[Row]:
        with self._opened() as connection, collector_paused():
            rows = tuple(reading.rows(connection, self._grading))
        return iter(rows)

    def rows_at(self, places: Sequence[int]) -> list[Row]:
        if not places:
            return []
        found: dict[int, Row] = {}
        with self._opened() as connection:
            for kind, read in ((VERDICT, _verdicts_at), (TRIAL, _trials_at)):
                wanted = sorted({place >> 2 for place in places if place & 3 == kind})
                for start in range(0, len(wanted), _AT_ONCE):
                    for id_, row in read(connection, wanted[start : start + _AT_ONCE]):
                        found[id_ << 2 | kind] = row
            if not all(place in found or place & 3 == MERGED for place in places):
                raise ValueError("rows that were there are not any more")
        return [self._merged[place >> 2] if place & 3 == MERGED else found[place] for place in places]


def _marks(ids: Sequence[int]) -> str:
    return f"({','.join('?' * len(ids))})"


def _verdicts_at(connection: sqlite3.Connection, ids: Sequence[int]) -> Iterator[tuple[int, Verdict]]:
    statement = schema.VERDICTS_AT + _marks(ids)
    for id_, task, number, criterion, status, score, tag, body in connection.execute(statement, ids):
        address = (task, number, criterion)
        yield id_, verdict_of(address, schema.STATUSES[status], score, tag, decode_body(body))


def _trials_at(connection: sqlite3.Connection, ids: Sequence[int]) -> Iterator[tuple[int, TrialRow]]:
    statement = schema.TRIALS_AT + _marks(ids)
    for id_, task, number, ended_by, measurements, trace in connection.execute(statement, ids):
        row = TrialRow(
            task=task,
            trial=number,
            ended_by=ended_by,
            measurements=measurements_of(measurements),
            trace=trace,
        )
        yield id_, row
