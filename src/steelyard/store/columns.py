"""The rows of a kept grading as columns: the database adds them up to long texts, and none becomes a record here."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.model.columns import ColumnBuilder, RowColumns
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.store import reading, schema
from steelyard.store.encoding import collector_paused, measurements_of

Ints = npt.NDArray[np.int64]
Row = Verdict | TrialRow

VERDICT, TRIAL, MERGED = 0, 1, 2
"""What a place is about: its rest modulo 4. The quotient is the id of the row, or a position among the merged rows."""
SPAN = 20_000
"""Rows that are read at once."""
_SPARSE = 8
"""Where a grading has less than one in so many of the verdicts in its range, they are looked up trial by trial."""
_NO_WORD = "error"

_texts = msgspec.json.Decoder(list[str]).decode
_words = msgspec.json.Decoder(list[str | None]).decode


class _Who(msgspec.Struct, frozen=True, kw_only=True):
    kind: str


class _Brief(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a payload that scoring counts."""

    graders: tuple[_Who, ...] = ()
    attempts: tuple[msgspec.Raw, ...] = ()
    error: str | None = None


_decode_brief = msgspec.json.Decoder(_Brief).decode


class _Codes:
    """Names in the order in which they were met, and the code of each."""

    def __init__(self, names: Iterable[Any] = ()) -> None:
        self.known: dict[Any, int] = {}
        self.of(list(names))

    def of(self, names: Sequence[Any]) -> npt.NDArray[np.int32]:
        for name in set(names) - self.known.keys():
            self.known[name] = len(self.known)
        return np.fromiter(map(self.known.__getitem__, names), dtype=np.int32, count=len(names))


class _Tables:
    def __init__(self) -> None:
        self.tasks, self.criteria, self.numbers, self.endings = _Codes(), _Codes(), _Codes(), _Codes()
        self.kinds, self.tags, self.measures = _Codes(), _Codes([None]), _Codes()

    def builder(self) -> ColumnBuilder:
        return ColumnBuilder(
            tasks=self.tasks.known, criteria=self.criteria.known, numbers=self.numbers.known,
            endings=self.endings.known, kinds=self.kinds.known, tags=self.tags.known, measures=self.measures.known,
        )  # fmt: skip


def read_columns(connection: sqlite3.Connection, grading: int) -> tuple[RowColumns, Sequence[Row]]:
    """Columns of one grading, and the rows of trials that were graded several times, merged as in `reading.rows`.

    ValueError and msgspec's own errors mean that the file is damaged.
    """
    with collector_paused():
        tables = _Tables()
        trials, several = _trials(connection, grading, tables)
        verdicts = _verdicts(connection, tables, trials)
        merged = tuple(reading.merged_trials(connection, several))
        builder = tables.builder()
        for position, row in enumerate(merged):
            builder.add(row, position << 2 | MERGED)
        return builder.columns(before={**trials, **verdicts}), merged


def _numbers(text: str | None, count: int) -> Ints:
    """Whole numbers that stand in a text with commas. ValueError where any of them is something else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the count tells what could not be read
        found: Ints = np.fromstring(text or "", dtype=np.int64, sep=",")
    if len(found) != count:
        raise ValueError("something else where a number was written")
    return found


def _trials(
    connection: sqlite3.Connection, grading: int, tables: _Tables
) -> tuple[dict[str, npt.NDArray[Any]], list[list[int]]]:
    """Columns of the trial rows by field; and the ids of trials that were graded several times, which are in none."""
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    text_codes = _Codes()
    last = -1
    while True:
        row = connection.execute(schema.TRIAL_COLUMNS, (grading, last, SPAN)).fetchone()
        count, ids, tasks, numbers, endings, measurements = row
        if not count:
            break
        held = _numbers(ids, count)
        last = int(held[-1])
        parts.append(
            (
                held,
                tables.tasks.of(_texts(tasks)),
                tables.numbers.of(_numbers(numbers, count).tolist()),
                tables.endings.of(_words(endings)),
                text_codes.of(_texts(measurements)),
            )
        )
    texts = list(text_codes.known)
    id_, task, number, ended, text = (
        (np.concatenate(column) for column in zip(*parts, strict=True))
        if parts
        else (np.zeros(0, dtype=np.int64),) * 5
    )
    once, several = _apart(id_, task, number)
    measured, measure, value = _measured(text[once], texts, tables)
    columns = {
        "trial_task": task[once], "trial_number": number[once], "ended": ended[once],
        "trial_place": id_[once] << 2 | TRIAL, "measured": measured, "measure": measure, "value": value,
    }  # fmt: skip
    return columns, several


def _apart(id_: Ints, task: Ints, number: Ints) -> tuple[Ints, list[list[int]]]:
    """Which trials stand once, and for each that does not the ids of its attempts."""
    key = task.astype(np.int64) * (int(number.max(initial=0)) + 1) + number
    _, where, times = np.unique(key, return_inverse=True, return_counts=True)
    many = times[where] > 1 if len(key) else np.zeros(0, dtype=np.bool_)
    groups: dict[int, list[int]] = {}
    for place in np.flatnonzero(many).tolist():
        groups.setdefault(int(where[place]), []).append(int(id_[place]))
    return np.flatnonzero(~many), list(groups.values())


def _measured(
    text: Ints, texts: Sequence[str], tables: _Tables
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Position of the trial, code of the measurement and value, for each measurement of each trial."""
    stated = [measurements_of(each) for each in texts]
    sizes = np.array([len(each) for each in stated], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    names = tables.measures.of([name for each in stated for name in each])
    values = np.array([value for each in stated for value in each.values()], dtype=np.float64)
    if not len(values):
        return np.zeros(0, dtype=np.int32), names, values
    size = sizes[text]
    owner = np.repeat(np.arange(len(text)), size)
    at = np.repeat(starts[text] - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
    return owner.astype(np.int32), names[at], values[at]


def _verdicts(
    connection: sqlite3.Connection, tables: _Tables, trials: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Columns of the verdict rows of these trials, by field."""
    ids = trials["trial_place"] >> 2
    parts = list(_spans(connection, ids, tables)) if len(ids) else []
    if not parts:
        return {}
    flags, trial, payload, criterion = (np.concatenate(column) for column in zip(*parts, strict=True))
    id_, status = flags >> 3, flags >> 1 & 3
    order = _order(id_)
    score = np.where(status == 0, (flags & 1).astype(np.float64), np.nan)
    for other, value in connection.execute(schema.OTHER_SCORES, (int(id_.min()), int(id_.max()))):
        at = _find(id_, order, other)
        if at >= 0 and status[at] == 0:
            if not 0 <= value <= 1:
                raise ValueError(f"a graded verdict with the score {value}")
            score[at] = value
    kind, word, again = _payloads(connection, payload, tables)
    tag = np.where(status == schema.STATUSES.index("error"), word, 0).astype(np.int32)
    _tag(connection, (id_, order, status), tag, tables)
    own = np.searchsorted(ids, trial)
    return {
        "task": trials["trial_task"][own], "number": trials["trial_number"][own], "criterion": criterion,
        "status": status.astype(np.int8), "score": score, "kind": kind, "tag": tag, "place": id_ << 2 | VERDICT,
        "retried": (id_ << 2 | VERDICT)[again],
    }  # fmt: skip


def _order(id_: Ints) -> Ints:
    """What sorts the ids, which mostly are sorted."""
    return np.arange(len(id_)) if (id_[1:] > id_[:-1]).all() else np.argsort(id_, kind="stable")


def _find(id_: Ints, order: Ints, wanted: int) -> int:
    at = int(np.searchsorted(id_, wanted, sorter=order))
    return int(order[at]) if at < len(order) and id_[order[at]] == wanted else -1


def _tag(
    connection: sqlite3.Connection,
    known: tuple[Ints, Ints, Ints],
    tag: npt.NDArray[np.int32],
    tables: _Tables,
) -> None:
    """Set the failure tags where there are any; an error has its own word in that place."""
    id_, order, status = known
    rows = connection.execute(schema.TAGS, (int(id_.min()), int(id_.max()))).fetchall()
    if not rows:
        return
    reading.check_texts(*{text for _, text in rows})
    wanted = np.array([each for each, _ in rows], dtype=np.int64)
    at = np.minimum(np.searchsorted(id_, wanted, sorter=order), len(order) - 1)
    fits = (id_[order[at]] == wanted) & (status[order[at]] != schema.STATUSES.index("error"))
    tag[order[at[fits]]] = tables.tags.of([text for _, text in rows])[fits]


def _spans(
    connection: sqlite3.Connection, ids: Ints, tables: _Tables
) -> Iterator[tuple[Ints, Ints, Ints, npt.NDArray[np.int32]]]:
    """Status and score, trial, payload and criterion of the verdicts of these trials, some at once."""
    lowest, highest, count = connection.execute(schema.RANGE, (int(ids[0]), int(ids[-1]))).fetchone()
    if not count:
        return
    sparse = highest - lowest >= count * _SPARSE
    statement = schema.COLUMNS_BY_TRIAL if sparse else schema.COLUMNS_BY_ID
    first, last = (int(ids[0]), int(ids[-1])) if sparse else (lowest, highest)
    for start in range(first, last + 1, SPAN):
        row = connection.execute(statement, (start, min(last, start + SPAN - 1))).fetchone()
        count, sound, scoreless, *columns, criteria = row
        if not count:
            continue
        if sound != count or scoreless:
            raise ValueError("a verdict without a status, or graded without a score")
        flags, trial, payload = (_numbers(text, count) for text in columns)
        criterion = tables.criteria.of(_texts(criteria))
        own = ids[np.minimum(np.searchsorted(ids, trial), len(ids) - 1)] == trial
        yield flags[own], trial[own], payload[own], criterion[own]


def _payloads(
    connection: sqlite3.Connection, payload: Ints, tables: _Tables
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """Of each verdict: the code of its graders' kinds, of its error word, and whether it took several attempts."""
    ids, where = _distinct(payload)
    alike: dict[str, tuple[int, int, bool]] = {}
    found: list[tuple[int, int, bool]] = []
    seen: list[int] = []
    for id_, body in _bodies(connection, ids):
        # Equal from the graders on means equal graders and attempts; no text before can hold this key, since its
        # quotation marks are escaped there. Errors are read whole for their word.
        at = body.find('"graders":')
        tail = "" if at < 0 or body.startswith('{"error":') else body[at:]
        codes = alike.get(tail)
        if codes is None:
            codes = _codes(_decode_brief(body), tables)
            if tail and len(alike) < SPAN:
                alike[tail] = codes
        found.append(codes)
        seen.append(id_)
    if not np.array_equal(np.array(seen, dtype=np.int64), ids):
        raise ValueError("a verdict without its payload")
    kinds, words, again = (np.array(column) for column in zip(*found, strict=True))
    return kinds.astype(np.int32)[where], words.astype(np.int32)[where], again[where]


def _distinct(ids: Ints) -> tuple[Ints, Ints]:
    """The different ids, sorted, and where each of these stands among them."""
    low, width = int(ids.min()), int(ids.max() - ids.min()) + 1
    if width > len(ids) * _SPARSE:
        found, where = np.unique(ids, return_inverse=True)
        return found, where
    known = np.zeros(width, dtype=np.int64)
    known[ids - low] = 1
    return np.flatnonzero(known) + low, (np.cumsum(known) - 1)[ids - low]


def _codes(brief: _Brief, tables: _Tables) -> tuple[int, int, bool]:
    kinds = tuple(who.kind for who in brief.graders)
    word = _NO_WORD if brief.error is None else brief.error
    return int(tables.kinds.of([kinds])[0]), int(tables.tags.of([word])[0]), len(brief.attempts) > 1


def _bodies(connection: sqlite3.Connection, ids: Ints) -> Iterator[tuple[int, str]]:
    """The texts of these payloads, by id."""
    if int(ids[-1]) - int(ids[0]) == len(ids) - 1:
        yield from connection.execute(schema.BODIES_BETWEEN, (int(ids[0]), int(ids[-1])))
        return
    if int(ids[-1]) - int(ids[0]) < len(ids) * _SPARSE:
        wanted = set(ids.tolist())
        rows = connection.execute(schema.BODIES_BETWEEN, (int(ids[0]), int(ids[-1])))
        yield from (row for row in rows if row[0] in wanted)
        return
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500].tolist()
        yield from connection.execute(f"{schema.BODIES_OF}({','.join('?' * len(some))}) ORDER BY id", some)
