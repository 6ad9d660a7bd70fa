"""The table of tasks, trials and criteria: every verdict as scored, with its votes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.model.columns import GRADED, SKIPPED
from steelyard.model.standard import OBLIGATION, Criterion
from steelyard.model.table import CriterionScore, LeftOut, TaskScore, TrialScore
from steelyard.model.verdict import Errored, Skipped, TrialRow, Verdict
from steelyard.scoring.averages import GroupScores, votes
from steelyard.scoring.cells import STATUS_WORDS
from steelyard.scoring.plan import Floats, Ints
from steelyard.scoring.scored import Scored

MOST_INCOMPLETE = 200
"""Without full detail, this many tasks that are not complete are still listed, ..."""
MOST_LISTED = 4_000
"""... and of their trials that are not complete as many as have this many verdicts."""

Listed = list[tuple[int, list[int]]]
"""Tasks with those of their trials that are listed, by their places in the columns."""


def task_scores(made: Scored, *, full: bool) -> tuple[tuple[TaskScore, ...], LeftOut | None]:
    """Tasks in the order of the file; without `full`, the first trials that are not complete, and what is left out."""
    listed = _all(made) if full else _incomplete(made)
    chosen = [trial for _, trials in listed for trial in trials]
    writer = _Writer(made, chosen)
    tasks = tuple(writer.task(task, trials) for task, trials in listed)
    return tasks, None if full else _left_out(made, listed)


def _all(made: Scored) -> Listed:
    bounds = np.searchsorted(made.cells.layout.task, np.arange(len(made.plan.tasks) + 1)).tolist()
    return [(task, list(range(bounds[task], bounds[task + 1]))) for task in made.plan.display]


def _short(made: Scored) -> Ints:
    """Counted trials that are not complete."""
    return np.flatnonzero(made.cells.layout.counted & ~made.accepted.low)


def _incomplete(made: Scored) -> Listed:
    layout, plan = made.cells.layout, made.plan
    short = _short(made)
    bounds = np.searchsorted(layout.task[short], np.arange(len(plan.tasks) + 1))
    listed: Listed = []
    room = MOST_LISTED
    for task in plan.display:
        size = len(plan.tasks[task].shape.ids)
        own = short[bounds[task] : bounds[task + 1]][: room // max(1, size)].tolist()
        if own:
            listed.append((task, own))
            room -= len(own) * size
        if len(listed) == MOST_INCOMPLETE or room <= 0:
            break
    return listed


def _left_out(made: Scored, listed: Listed) -> LeftOut | None:
    tasks = made.accepted_tasks
    return LeftOut(
        tasks=len(made.plan.tasks) - len(listed),
        incomplete_tasks=int((tasks.low < tasks.of).sum()) - len(listed),
        incomplete_trials=len(_short(made)) - sum(len(trials) for _, trials in listed),
    )


class _Writer:
    """Reads the columns of one grading to write rows of the table."""

    def __init__(self, made: Scored, trials: Sequence[int]) -> None:
        self.made, self.plan, self.cells = made, made.plan, made.cells
        offset, layout = self.cells.offset, self.cells.layout
        size = self.plan.asked.size[self.plan.shape_of[layout.task]]
        places = np.asarray(trials, dtype=np.int64)
        sizes = size[places]
        starts = np.cumsum(sizes) - sizes
        cells = np.repeat(offset[places] - starts, sizes) + np.arange(int(sizes.sum()))
        self.first = dict(zip(trials, starts.tolist(), strict=True))
        self.rows = self.cells.rows_of(cells.tolist())
        self.columns = (
            self.cells.status[cells].tolist(), self.cells.score[cells].tolist(), self.cells.passed[cells].tolist(),
            self.cells.skip_fail[cells].tolist(), *(column.tolist() for column in _votes(made, cells)),
        )  # fmt: skip
        self.own = self._trial_rows(places)

    def _trial_rows(self, trials: Ints) -> dict[int, TrialRow]:
        entries = self.cells.layout.row[trials]
        known = np.flatnonzero(entries >= 0)
        places = self.cells.placed.read.trial_place[entries[known]].tolist()
        rows = self.cells.placed.source.rows_at(places)
        pairs = zip(trials[known].tolist(), rows, strict=True)
        return {trial: row for trial, row in pairs if isinstance(row, TrialRow)}

    def task(self, index: int, trials: Sequence[int]) -> TaskScore:
        tasks, dimensions = self.made.accepted_tasks, self.made.dimensions
        low = float(tasks.share_low[index])
        correctness = dimensions.get(OBLIGATION)
        return TaskScore(
            id=self.plan.tasks[index].task.id,
            weight=float(self.made.task_votes[index]),
            correctness=_bounds(correctness, index) if correctness else None,
            dimensions={name: _bounds(group, index) for name, group in dimensions.items()},
            completion={
                "value": low,
                "low": low,
                "high": float(tasks.share_high[index]),
                "trials": {"complete": int(tasks.low[index]), "of": int(tasks.own[index])},
            },
            trials=tuple(self._trial(index, trial) for trial in trials),
        )

    def _trial(self, task: int, index: int) -> TrialScore:
        entry, layout = self.plan.tasks[task], self.cells.layout
        counted = bool(layout.counted[index])
        start = self.first[index]
        criteria = tuple(
            self._criterion(criterion, start + position, entry.in_rule[position])
            for criterion, position in zip(entry.task.criteria, entry.display, strict=True)
        )
        row = self.own.get(index)
        ended = int(layout.ended[index])
        return TrialScore(
            trial=layout.numbers[layout.number[index]],
            complete=bool(self.made.accepted.low[index]) if counted else None,
            possibly_complete=bool(self.made.accepted.high[index]) if counted else None,
            ended_by=layout.endings[ended] if ended >= 0 else None,
            counted=counted,
            placeholder=bool(layout.placeholder[index]),
            gates={score.id: score.outcome for score in criteria if score.gate},
            failure=_failure(criteria) if counted else None,
            criteria=criteria,
            dimensions={
                name: _known(group.low[index]) if group.graded[index] else None
                for name, group in self.made.dimension_trials.items()
            },
            measurements=row.measurements if row else {},
            trace=row.trace if row else None,
        )

    def _criterion(self, criterion: Criterion, at: int, in_rule: bool) -> CriterionScore:
        code, score, passed, skip_fail, *voting = (column[at] for column in self.columns)
        row, status = self.rows[at], STATUS_WORDS[code]
        failed = code == GRADED and not passed
        dimension, layer = criterion.dimension, criterion.layer
        return CriterionScore(
            id=criterion.id,
            status=status,
            score=score if code == GRADED else None,
            outcome=_outcome(status, passed, criterion),
            dimension=dimension,
            layer=layer,
            gate=criterion.gate,
            votes={
                f"{dimension}.task_average": voting[0],
                f"{dimension}.pooled": voting[1],
                f"layers.{layer}.task_average": voting[2],
                f"layers.{layer}.pooled": voting[3],
            },
            cause=("fail" if skip_fail else "undecided") if code == SKIPPED else None,
            reason=reason_of(row, status, criterion),
            evidence_refs=row.evidence_refs if row else (),
            failure_tag=_tag(row, criterion, status) if failed or status == "error" else None,
            in_acceptance=in_rule,
            graders=row.graders if row else (),
            retried=max(0, len(row.attempts) - 1) if row else 0,
        )


def _votes(made: Scored, cells: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Of each cell: its votes in its dimension (task average, pooled) and in its layer."""
    found = (np.zeros(len(cells)), np.zeros(len(cells)), np.zeros(len(cells)), np.zeros(len(cells)))
    kinds = (
        (made.cells.dimension, made.dimensions, made.dimension_trials, found[:2]),
        (made.cells.layer, made.layers, made.layer_trials, found[2:]),
    )
    for column, groups, trials, (average, pooled) in kinds:
        of = column[cells]
        for position, name in enumerate(groups):
            here = np.flatnonzero(of == position)
            if len(here):
                average[here], pooled[here] = votes(made.cells, cells[here], groups[name], trials[name])
    return found


def _outcome(status: str, passed: bool, criterion: Criterion) -> str:
    if status != "graded":
        return status
    if criterion.pass_mark == 0:
        return "report"
    return "pass" if passed else "fail"


def reason_of(row: Verdict | None, status: str, criterion: Criterion) -> str:
    """Why a verdict came out so: what its row says, or what scoring made of it."""
    if status == "skipped" and not isinstance(row, Skipped):
        return f"needs {', '.join(criterion.needs)}, which did not all pass"
    if row is None:
        return "no verdict was recorded"
    if isinstance(row, Skipped) and status == "error":
        return (
            "recorded as skipped, but the criterion needs no other one; a verdict cannot be left out this way"
        )
    return row.reason


def _tag(row: Verdict | None, criterion: Criterion, status: str) -> str | None:
    if status == "error":
        return row.error if isinstance(row, Errored) else ("missing_row" if row is None else "invalid_row")
    return (row.failure_tag if row else None) or criterion.failure_tag


def _failure(criteria: tuple[CriterionScore, ...]) -> dict[str, str | None] | None:
    """The first criterion of the acceptance rule that failed of itself: where it shows, and its layer."""
    for entry in criteria:
        if entry.in_acceptance and entry.outcome == "fail":
            step = next((ref for ref in entry.evidence_refs if not ref.startswith("fact:")), None)
            return {
                "criterion": entry.id, "tag": entry.failure_tag, "step": step, "layer": entry.layer,
                "stage": "unknown",
            }  # fmt: skip
    return None


def _bounds(group: GroupScores, task: int) -> dict[str, float | None]:
    low, high = _known(group.tasks.low[task]), _known(group.tasks.high[task])
    return {"value": low if group.tasks.graded[task] else None, "low": low, "high": high}


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
