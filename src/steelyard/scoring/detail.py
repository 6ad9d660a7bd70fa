"""The table of tasks, trials and criteria: every verdict as scored, with its votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from steelyard.model.standard import OBLIGATION, Criterion
from steelyard.model.table import CriterionScore, TaskScore, TrialScore
from steelyard.model.verdict import Errored, Skipped, Verdict
from steelyard.scoring.averages import GroupScores, undecided
from steelyard.scoring.cells import GRADED, SKIPPED, STATUS_WORDS, Bools, Cells
from steelyard.scoring.completion import Acceptance
from steelyard.scoring.plan import Plan

MOST_INCOMPLETE = 200
"""Without full detail, this many trials that are not complete are still listed."""


def task_scores(
    plan: Plan,
    cells: Cells,
    accepted: Acceptance,
    dimensions: Mapping[str, GroupScores],
    layers: Mapping[str, GroupScores],
    *,
    full: bool,
) -> tuple[TaskScore, ...]:
    """Tasks in the order of the file; without `full`, the first tasks that have a trial that is not complete."""
    writer = _Writer(plan, cells, accepted, dimensions, layers)
    if full:
        return tuple(writer.task(index) for index in plan.display)
    incomplete = [index for index in plan.display if accepted.task_low[index] < 1.0]
    return tuple(writer.task(index) for index in incomplete[:MOST_INCOMPLETE])


class _Writer:
    """Reads the columns of one grading to write rows of the table."""

    def __init__(
        self,
        plan: Plan,
        cells: Cells,
        accepted: Acceptance,
        dimensions: Mapping[str, GroupScores],
        layers: Mapping[str, GroupScores],
    ) -> None:
        self.plan, self.cells, self.accepted = plan, cells, accepted
        self.dimensions, self.layers = dimensions, layers
        self.undecided: Bools = undecided(cells)
        self.trials: dict[int, list[int]] = {}
        for index, trial in enumerate(cells.trials):
            self.trials.setdefault(trial.task, []).append(index)

    def task(self, index: int) -> TaskScore:
        numbers = self.trials[index]
        counted = [
            trial
            for trial in numbers
            if self.cells.trials[trial].counted and not self.cells.trials[trial].stand_in
        ]
        accepted = self.accepted
        correctness = self.dimensions.get(OBLIGATION)
        return TaskScore(
            id=self.plan.tasks[index].task.id,
            weight=float(accepted.weights[index] / accepted.weights.sum()),
            correctness=_bounds(correctness, index) if correctness else None,
            dimensions={name: _bounds(group, index) for name, group in self.dimensions.items()},
            completion={
                "value": float(accepted.task_low[index]),
                "low": float(accepted.task_low[index]),
                "high": float(accepted.task_high[index]),
                "trials": {"complete": int(accepted.low[counted].sum()), "of": len(counted)},
            },
            trials=tuple(self._trial(index, trial) for trial in numbers),
        )

    def _trial(self, task: int, index: int) -> TrialScore:
        entry, trial = self.plan.tasks[task], self.cells.trials[index]
        start = self.cells.offset[index]
        criteria = tuple(
            self._criterion(entry.criteria[position], start + position, entry.in_rule[position])
            for position in entry.display
        )
        return TrialScore(
            trial=trial.number,
            complete=bool(self.accepted.low[index]) if trial.counted else None,
            possibly_complete=bool(self.accepted.high[index]) if trial.counted else None,
            ended_by=trial.ended_by,
            counted=trial.counted,
            placeholder=trial.placeholder,
            gates={score.id: score.outcome for score in criteria if score.gate},
            failure=_failure(criteria) if trial.counted else None,
            criteria=criteria,
            dimensions={
                name: _known(group.trial_low[index]) if group.trial_graded[index] else None
                for name, group in self.dimensions.items()
            },
            measurements=trial.row.measurements if trial.row else {},
            trace=trial.row.trace if trial.row else None,
        )

    def _criterion(self, criterion: Criterion, cell: int, in_rule: bool) -> CriterionScore:
        cells = self.cells
        row, status = cells.rows[cell], STATUS_WORDS[cells.status[cell]]
        skipped = cells.status[cell] == SKIPPED
        passed = bool(cells.passed[cell])
        failed = cells.status[cell] == GRADED and not passed
        return CriterionScore(
            id=criterion.id,
            status=status,
            score=float(cells.score[cell]) if cells.status[cell] == GRADED else None,
            outcome=_outcome(status, passed, criterion),
            dimension=criterion.dimension,
            layer=criterion.layer,
            gate=criterion.gate,
            votes=self._votes(criterion, cell),
            cause=("fail" if cells.skip_fail[cell] else "undecided") if skipped else None,
            reason=_reason(row, status, criterion),
            evidence_refs=row.evidence_refs if row else (),
            failure_tag=_tag(row, criterion, status) if failed or status == "error" else None,
            in_acceptance=in_rule,
            graders=row.graders if row else (),
            retried=max(0, len(row.attempts) - 1) if row else 0,
        )

    def _votes(self, criterion: Criterion, cell: int) -> dict[str, float]:
        dimension, layer = self.dimensions[criterion.dimension], self.layers[criterion.layer]
        return {
            f"{criterion.dimension}.task_average": float(dimension.votes[cell]),
            f"{criterion.dimension}.pooled": float(dimension.pooled_votes[cell]),
            f"layers.{criterion.layer}.task_average": float(layer.votes[cell]),
            f"layers.{criterion.layer}.pooled": float(layer.pooled_votes[cell]),
        }


def _outcome(status: str, passed: bool, criterion: Criterion) -> str:
    if status != "graded":
        return status
    if criterion.pass_mark == 0:
        return "report"
    return "pass" if passed else "fail"


def _reason(row: Verdict | None, status: str, criterion: Criterion) -> str:
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
    low, high = _known(group.task_low[task]), _known(group.task_high[task])
    return {"value": low if group.task_graded[task] else None, "low": low, "high": high}


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def graders(cells: Cells) -> dict[str, int]:
    """Verdicts of counted trials by kind of grader, errors apart; rows that do not say are `unnamed`."""
    found: Counter[str] = Counter()
    for cell, row in enumerate(cells.rows):
        if row is not None and cells.counted[cell] and not isinstance(row, Errored):
            found.update([ref.kind for ref in row.graders] or ["unnamed"])
    return dict(sorted(found.items()))


def judged_rows(cells: Cells) -> int:
    """Counted verdicts that a model gave: without a licence they are machine labelling."""
    return sum(
        any(ref.kind == "judge" for ref in row.graders)
        for cell, row in enumerate(cells.rows)
        if row is not None and cells.counted[cell]
    )
