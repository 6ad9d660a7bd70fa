"""Counts behind what a report says: verdicts that came out alike, over the whole run, whatever the table lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.model.columns import ERROR, GRADED, UNKNOWN
from steelyard.model.standard import Criterion
from steelyard.model.table import Alike, Counted
from steelyard.scoring.cells import CONFLICTING, NO_ROW, STATUS_WORDS
from steelyard.scoring.detail import reason_of
from steelyard.scoring.plan import Bools, Ints
from steelyard.scoring.scored import Scored

MOST_GROUPS = 50
"""Groups of each kind that a table holds."""
_SPECIAL = ("missing_row", "conflict", "judge_fraction", "invalid_row")
_Key = tuple[str, ...]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """See the fields of the same names of `ScoreTable`."""

    causes: Counted
    complete_but: Counted
    no_verdict: Counted
    skipped_by_fail: int
    failed_outside: Mapping[str, int]


class _Group(msgspec.Struct, kw_only=True):
    """Verdicts of one key; `cell` is the first of them (of a group of trials: the first trial)."""

    outcome: str
    tag: str | None
    criterion: Criterion | None
    task: int
    cell: int
    gate: bool
    times: int = 0
    tasks: int = 0
    last: int = -1

    def add(self, task: int, times: int) -> None:
        """Tasks come one after the other, so a task that is not the last one is new."""
        self.times += times
        self.tasks += task != self.last
        self.last = task


def counts(made: Scored) -> Counts:
    """Count over all counted trials of a run."""
    cells, layout = made.cells, made.cells.layout
    failed = cells.counted & (cells.status == GRADED) & ~cells.passed
    by_fail = cells.counted & cells.skip_fail
    outside = failed & ~cells.gate & ~cells.in_rule
    by_dimension = np.bincount(cells.dimension[outside], minlength=len(made.plan.dimensions)).tolist()
    recorded = cells.counted & ~layout.placeholder[cells.trial]
    missing = (cells.status == ERROR) | (cells.status == UNKNOWN)
    return Counts(
        causes=_counted(made, [*_trials(made), *_blocking(made, recorded)]),
        complete_but=_counted(made, _grouped(made, failed & made.accepted.low[cells.trial])),
        no_verdict=_counted(made, _grouped(made, recorded & missing & ~cells.in_rule & ~cells.gate)),
        skipped_by_fail=int(by_fail.sum()),
        failed_outside={
            name: count for name, count in zip(made.plan.dimensions, by_dimension, strict=True) if count
        },
    )


def blocking(made: Scored) -> Bools:
    """Cells that keep their trial from completion, or are a gate and no pass."""
    cells = made.cells
    complete = made.accepted.low[cells.trial]
    found: Bools = cells.counted & ~cells.passed & (cells.gate | cells.in_rule & ~complete & ~cells.skip_fail)
    return found


def _blocking(made: Scored, recorded: Bools) -> list[_Group]:
    return _grouped(made, blocking(made) & recorded)


def _trials(made: Scored) -> list[_Group]:
    """Trials of which nothing is recorded, and those that ended in a way that completes none."""
    cells, layout, m = made.cells, made.cells.layout, len(made.cells.layout.task)
    failed = cells.counted & cells.skip_fail & (cells.in_rule | cells.gate)
    failed |= blocking(made) & (cells.status == GRADED)
    decided = np.bincount(cells.trial[failed], minlength=m) > 0
    gates = np.bincount(cells.trial[cells.gate], minlength=m) > 0
    ended = layout.counted & ~layout.placeholder & ~made.accepted.high & ~decided
    empty = layout.placeholder
    rank = _ranks(made)
    chosen = np.flatnonzero(ended | empty)
    chosen = chosen[np.argsort(rank[layout.task[chosen]], kind="stable")]
    found: dict[_Key, _Group] = {}
    faulted = made.accepted_tasks.faults > 0
    for trial in chosen.tolist():
        task, code = int(layout.task[trial]), int(layout.ended[trial])
        gate = bool(gates[trial]) and bool(empty[trial])
        if empty[trial]:
            tag = "only_faults" if faulted[task] else "nothing_recorded"
        else:
            tag = f"ended by {layout.endings[code]}" if code >= 0 else "ended by not said"
        group = found.setdefault(
            (tag, str(gate)),
            _Group(
                outcome="error" if empty[trial] else "fail", tag=tag, criterion=None, task=task, cell=trial, gate=gate
            ),
        )  # fmt: skip
        group.add(task, 1)
    return list(found.values())


def _ranks(made: Scored) -> Ints:
    """The place of each task in the file."""
    rank = np.empty(len(made.plan.tasks), dtype=np.int64)
    rank[np.array(made.plan.display, dtype=np.int64)] = np.arange(len(rank))
    return rank


def _grouped(made: Scored, chosen: Bools) -> list[_Group]:
    """By criterion id, outcome, tag (or rule) and gate; each group begins with its first verdict in the file."""
    cells = np.flatnonzero(chosen)
    if not len(cells):
        return []
    plan, task = made.plan, made.cells.layout.task[made.cells.trial[cells]]
    words = _words(made, cells)
    rank = _ranks(made)[task]
    keys = (rank * (int(plan.asked.size.max()) + 1) + made.cells.criterion[cells]) * 4 + made.cells.status[
        cells
    ]
    joined = keys * (int(words.max()) + 1) + words
    _, first, times = np.unique(joined, return_index=True, return_counts=True)
    found: dict[_Key, _Group] = {}
    names = (*made.cells.placed.read.tags, *_SPECIAL)
    for at, count in zip(first.tolist(), times.tolist(), strict=True):
        entry, cell = plan.tasks[task[at]], int(cells[at])
        criterion = entry.task.criteria[entry.shape.order[made.cells.criterion[cell]]]
        outcome = "fail" if made.cells.status[cell] == GRADED else STATUS_WORDS[made.cells.status[cell]]
        tag = _tag(outcome, names[words[at]], criterion)
        rule = criterion.rule if outcome == "fail" and tag is None else ""
        key = (criterion.id, outcome, tag or "", rule, str(criterion.gate))
        group = found.setdefault(
            key,
            _Group(
                outcome=outcome,
                tag=tag,
                criterion=criterion,
                task=int(task[at]),
                cell=cell,
                gate=criterion.gate,
            ),
        )
        group.add(int(task[at]), count)
    return list(found.values())


def _tag(outcome: str, word: str | None, criterion: Criterion) -> str | None:
    if outcome == "error":
        return word
    return word or criterion.failure_tag if outcome == "fail" else None


def _words(made: Scored, cells: Ints) -> Ints:
    """For each cell a code of its tag: a place in the tags that were read, then in `_SPECIAL`."""
    columns, special = made.cells, len(made.cells.placed.read.tags)
    status, place, given = columns.status[cells], columns.place[cells], columns.given[cells]
    error = np.select(
        [place == NO_ROW, place == CONFLICTING, columns.judged[cells], given != ERROR],
        [special, special + 1, special + 2, special + 3],
        default=columns.tag[cells],
    )
    plain: npt.NDArray[np.int64] = np.where(status == GRADED, columns.tag[cells], 0)
    return np.where(status == ERROR, error, plain)


def _counted(made: Scored, groups: Sequence[_Group]) -> Counted:
    ordered = sorted(groups, key=lambda group: (not group.gate, -group.times))
    rest: dict[str, int] = {}
    for group in ordered[MOST_GROUPS:]:
        rest[group.outcome] = rest.get(group.outcome, 0) + group.times
    return Counted(
        groups=_alike(made, ordered[:MOST_GROUPS]),
        total=sum(group.times for group in groups),
        more=max(0, len(ordered) - MOST_GROUPS),
        rest=rest,
    )


def _alike(made: Scored, groups: Sequence[_Group]) -> tuple[Alike, ...]:
    layout = made.cells.layout
    rows = iter(made.cells.rows_of([group.cell for group in groups if group.criterion]))
    found = []
    for group in groups:
        criterion, row = group.criterion, next(rows) if group.criterion else None
        trial = made.cells.trial[group.cell] if criterion else group.cell
        status = "graded" if group.outcome == "fail" else group.outcome
        found.append(
            Alike(
                criterion=criterion.id if criterion else "",
                outcome=group.outcome,
                tag=group.tag,
                dimension=criterion.dimension if criterion else "",
                gate=group.gate,
                times=group.times,
                tasks=group.tasks,
                task=made.plan.tasks[group.task].task.id,
                trial=layout.numbers[layout.number[trial]],
                rule=criterion.rule if criterion and group.outcome == "fail" else "",
                reason=reason_of(row, status, criterion) if criterion else "",
                evidence_refs=row.evidence_refs if row else (),
            )
        )
    return tuple(found)
