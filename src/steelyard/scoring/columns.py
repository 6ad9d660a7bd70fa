"""Row columns under a plan: names become positions, repeats are found, and each verdict gets its trial.

Rows that name nothing in the standard are counted and named, never dropped in silence.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec
import numpy as np

from steelyard.model.columns import CompactRows, Row, RowColumns
from steelyard.model.table import ScoreNotice
from steelyard.scoring.plan import Bools, Ints, Plan

MOST_NAMED = 20
"""Names of the standard's missing parts that get a notice of their own."""
MOST_TABLED = 2_000_000
_AT_ONCE = 10_000
_canonical = msgspec.msgpack.Encoder(order="deterministic").encode


class Placed(msgspec.Struct, kw_only=True):
    """Rows that name a task (and criterion) of the plan, with positions for names.

    `keep` and `keep_trials` are the entries of `read` that fit. `numbers` are all trial numbers, sorted; `number` and
    `trial_number` are places in it.
    """

    source: CompactRows
    read: RowColumns
    numbers: list[int]
    keep: Ints
    task: Ints
    number: Ints
    criterion: Ints
    keep_trials: Ints
    trial_task: Ints
    trial_number: Ints
    unmatched: Counter[tuple[str, str]]


def place(plan: Plan, source: CompactRows) -> Placed:
    """Positions in the plan for every row that has some."""
    read = source.columns()
    numbers = sorted(set(read.numbers))
    rank = {number: place for place, number in enumerate(numbers)}
    ranks = np.array([rank[number] for number in read.numbers], dtype=np.int64)
    tasks = np.array([plan.index.get(name, -1) for name in read.tasks], dtype=np.int64)
    criterion = _criteria(plan, read, tasks)
    keep = np.flatnonzero(criterion >= 0)
    keep_trials = np.flatnonzero(tasks[read.trial_task] >= 0) if len(tasks) else np.zeros(0, dtype=np.int64)
    return Placed(
        source=source,
        read=read,
        numbers=numbers,
        keep=keep,
        task=tasks[read.task[keep]],
        number=ranks[read.number[keep]],
        criterion=criterion[keep],
        keep_trials=keep_trials,
        trial_task=tasks[read.trial_task[keep_trials]],
        trial_number=ranks[read.trial_number[keep_trials]],
        unmatched=_unmatched(read, tasks, criterion),
    )


def _criteria(plan: Plan, read: RowColumns, tasks: Ints) -> Ints:
    """The position of each verdict's criterion among those of its task's shape; -1 where it has none, or no task."""
    if not len(read.task):
        return np.zeros(0, dtype=np.int64)
    task = tasks[read.task]
    shape = np.where(task >= 0, plan.shape_of[task], -1)
    names = len(read.criteria)
    pair = (shape + 1) * names + read.criterion
    size = (len(plan.shapes) + 1) * names
    if size <= MOST_TABLED:
        seen = np.flatnonzero(np.bincount(pair, minlength=size))
        table = np.full(size, -1, dtype=np.int64)
        table[seen] = _positions(plan, read, seen.tolist())
        return table[pair]
    seen, where = np.unique(pair, return_inverse=True)
    return np.array(_positions(plan, read, seen.tolist()), dtype=np.int64)[where]


def _positions(plan: Plan, read: RowColumns, pairs: Sequence[int]) -> list[int]:
    found = []
    for pair in pairs:
        shape, name = divmod(pair, len(read.criteria))
        found.append(-1 if shape == 0 else plan.shapes[shape - 1].index.get(read.criteria[name], -1))
    return found


def _unmatched(read: RowColumns, tasks: Ints, criterion: Ints) -> Counter[tuple[str, str]]:
    """By (task, criterion): rows that name what the standard does not have; the criterion is empty for a task."""
    found: Counter[tuple[str, str]] = Counter()
    for entry in np.flatnonzero(criterion < 0).tolist():
        known = tasks[read.task[entry]] >= 0
        found[read.tasks[read.task[entry]], read.criteria[read.criterion[entry]] if known else ""] += 1
    if len(tasks):
        for task in read.trial_task[tasks[read.trial_task] < 0].tolist():
            found[read.tasks[task], ""] += 1
    return found


def unmatched_notices(plan: Plan, unmatched: Counter[tuple[str, str]]) -> Iterator[ScoreNotice]:
    """The first names that the standard does not have, in an order of their own, and how many more rows there are."""
    ordered = sorted(unmatched)
    for task, criterion in ordered[:MOST_NAMED]:
        name = criterion or task
        what = f"criterion {criterion!r} of task {task!r}" if criterion else f"task {task!r}"
        known: Mapping[str, int] = plan.tasks[plan.index[task]].index if criterion else plan.index
        close = get_close_matches(name, sorted(known), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        yield ScoreNotice(
            code="unmatched_row", detail=f"a row names {what}, which the standard does not have{hint}"
        )
    if len(unmatched) > MOST_NAMED:
        rest = sum(unmatched[key] for key in ordered[MOST_NAMED:])
        detail = f"and {rest} more rows name what the standard does not have"
        yield ScoreNotice(code="unmatched_row", detail=detail)


def repeated(group: Ints, n_groups: int) -> Bools:
    """Which entries share their group with another one."""
    return np.bincount(group, minlength=n_groups)[group] > 1


def different(source: CompactRows, group: Ints, places: Ints) -> dict[int, list[int]]:
    """For each group of rows that stand for the same, the places of those that differ (one where all are equal).

    Rows are read in the order of their places, a few at once, and told apart by a digest; those with different digests
    are compared as they are.
    """
    found: dict[int, dict[bytes, int]] = {}
    order = np.argsort(places, kind="stable")
    groups, sorted_places = group[order].tolist(), places[order].tolist()
    for start in range(0, len(groups), _AT_ONCE):
        stop = start + _AT_ONCE
        for key, at, row in zip(
            groups[start:stop], sorted_places[start:stop], source.rows_at(sorted_places[start:stop]), strict=True
        ):  # fmt: skip
            found.setdefault(key, {}).setdefault(_digest(row), at)
    return {
        key: list(held.values()) if len(held) == 1 else _unequal(source, list(held.values()))
        for key, held in found.items()
    }


def _digest(row: Row) -> bytes:
    try:
        written = _canonical(row)
    except (TypeError, ValueError, OverflowError, RecursionError):
        written = repr(row).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(written, digest_size=16).digest()


def _unequal(source: CompactRows, places: list[int]) -> list[int]:
    kept: list[tuple[Any, int]] = []
    for row, at in zip(source.rows_at(places), places, strict=True):
        if all(row != other for other, _ in kept):
            kept.append((row, at))
    return [at for _, at in kept]
