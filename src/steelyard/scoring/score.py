"""From verdict rows to the score table: the one function behind every surface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from statistics import median

import msgspec
import numpy as np

from steelyard.model.standard import Suite
from steelyard.model.table import (
    Average,
    Ci,
    Coverage,
    DimensionScore,
    Measure,
    ScoreNotice,
    ScoreTable,
    SuiteRef,
)
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.scoring.averages import GroupScores, score_group
from steelyard.scoring.cells import GRADED, STATUS_WORDS, Bools, Cells, tabulate
from steelyard.scoring.completion import (
    Acceptance,
    accept,
    completion,
    fault_counts,
    gate_states,
    pass_rate,
    repeats,
)
from steelyard.scoring.confidence import task_interval
from steelyard.scoring.decision import WORDS, Bounds, exact_average, exact_completion, exit_code, primary
from steelyard.scoring.detail import graders, judged_rows, task_scores
from steelyard.scoring.plan import Plan, plan
from steelyard.scoring.slices import slices

PRIMARY_DIMENSION = "dimension:"


class Scored(msgspec.Struct, kw_only=True):
    """Everything computed on the way to the table; kept together so that no number is computed twice."""

    plan: Plan
    cells: Cells
    accepted: Acceptance
    dimensions: Mapping[str, GroupScores]
    layers: Mapping[str, GroupScores]


def compute(suite: Suite, rows: Iterable[Verdict | TrialRow]) -> Scored:
    """Lay out, fill, apply needs, average, accept."""
    layout = plan(suite)
    cells = tabulate(layout, rows)
    return Scored(
        plan=layout,
        cells=cells,
        accepted=accept(layout, cells),
        dimensions={
            name: score_group(layout, cells, cells.dimension == position)
            for position, name in enumerate(layout.dimensions)
        },
        layers={
            name: score_group(layout, cells, cells.layer == position)
            for position, name in enumerate(layout.layers)
        },
    )


def score(suite: Suite, rows: Iterable[Verdict | TrialRow], *, detail: bool = True) -> ScoreTable:
    """Score verdict and trial rows under a standard.

    `rows` may come in any order, with gaps, repeats and contradictions (see `cells`). With `detail` false the table
    holds the tasks that are not complete only as far as a report needs them. Pure: the same rows give the same
    numbers, bit for bit. Raises nothing for what rows say.
    """
    made = compute(suite, rows)
    return table(made, detail=detail)


def table(made: Scored, *, detail: bool = True) -> ScoreTable:
    """The table of what `compute` found."""
    suite, cells, accepted = made.plan.suite, made.cells, made.accepted
    bounds = _bounds(made)
    violated, open_gates = gate_states(cells)
    code = exit_code(made.plan, bounds, violated=violated, open_gates=open_gates, used_rows=cells.used_rows)
    hat, at = repeats(made.plan, cells, accepted)
    judged = judged_rows(cells)
    return ScoreTable(
        suite=SuiteRef(name=suite.name, version=suite.version, owner=suite.owner, hash=suite.hash),
        primary=suite.primary,
        decision=WORDS[code],
        exit_code=code,
        bar=primary(made.plan, bounds),
        dimensions={name: _dimension(made, name, group) for name, group in made.dimensions.items()},
        layers={name: _layer(made, name, group) for name, group in made.layers.items()},
        completion=completion(made.plan, cells, accepted),
        pass_hat_k=hat,
        pass_at_k=at,
        pass_rate=pass_rate(cells, accepted, independent=suite.clusters is None),
        measurements=_measurements(cells),
        states=_states(cells),
        faults=fault_counts(cells),
        tasks=task_scores(made.plan, cells, accepted, made.dimensions, made.layers, full=detail),
        slices=slices(made.plan, accepted, made.dimensions),
        licences={"machine_labelling": {"verdicts": judged, "state": "uncalibrated"}} if judged else {},
        graders=graders(cells),
        notices=_notices(made),
        weights=_what_votes(suite),
        excluded=tuple(msgspec.to_builtins(entry) for entry in suite.excluded),
    )


def _bounds(made: Scored) -> Bounds:
    suite = made.plan.suite
    if suite.primary.startswith(PRIMARY_DIMENSION):
        name = suite.primary[len(PRIMARY_DIMENSION) :]
        group = made.dimensions.get(name)
        if group is None:
            return Bounds(value=None, low=0.0, high=1.0, exact=int)  # type: ignore[arg-type]
        member = made.cells.dimension == made.plan.dimensions.index(name)
        average = _average(made, group)
        return Bounds(
            value=average.value, low=average.low or 0.0, high=1.0 if average.high is None else average.high,
            exact=lambda high: exact_average(made.plan, made.cells, member, high),
        )  # fmt: skip
    found = completion(made.plan, made.cells, made.accepted)
    return Bounds(
        value=found.value, low=found.low, high=found.high,
        exact=lambda high: exact_completion(made.plan, made.cells, made.accepted, high),
    )  # fmt: skip


def _average(made: Scored, group: GroupScores) -> Average:
    interval = task_interval(made.plan, group.task_low, group.task_high, group.weights)
    return _headline(group, group.low, group.high, group.graded_mean, interval)


def _headline(
    group: GroupScores, low: float | None, high: float | None, graded_mean: float | None, ci: Ci | None
) -> Average:
    """Assigned and nothing votes: 0 to 1, since nothing is known. Not assigned at all: null."""
    floor, ceiling = (0.0, 1.0) if group.n_assigned else (None, None)
    return Average(
        value=low if group.n_graded else None,
        low=floor if low is None else low,
        high=ceiling if high is None else high,
        graded_mean=graded_mean,
        n_verdicts=group.n_graded,
        assigned=group.n_assigned,
        n_tasks=group.n_tasks,
        ci=ci,
    )


def _group(made: Scored, group: GroupScores, member: Bools, definition: str, scope: str) -> DimensionScore:
    cells = made.cells
    gates = member & cells.gate & cells.counted
    violated = gates & (cells.status == GRADED) & ~cells.passed
    return DimensionScore(
        definition=definition,
        scope=scope,
        task_average=_average(made, group),
        pooled=_headline(group, group.pooled_low, group.pooled_high, group.pooled_graded, None),
        coverage=Coverage(tasks=group.assigned_tasks, of=len(made.plan.tasks)),
        gate=bool(gates.any()),
        gate_violations=len(np.unique(cells.trial[violated])),
        gate_trials=len(np.unique(cells.trial[gates])),
    )


def _dimension(made: Scored, name: str, group: GroupScores) -> DimensionScore:
    declared = made.plan.suite.dimensions.get(name)
    member = made.cells.dimension == made.plan.dimensions.index(name)
    definition, scope = (declared.definition, declared.scope) if declared else ("", "")
    return _group(made, group, member, definition, scope)


LAYER_WORDS = {
    "outcome": "Whether the task is done, in the world.",
    "process": "Whether the way was sound, step by step.",
    "efficiency": "What it used, under the declared budget.",
    "risk": "Over-reach, forbidden changes, leaks.",
}


def _layer(made: Scored, name: str, group: GroupScores) -> DimensionScore:
    return _group(made, group, made.cells.layer == made.plan.layers.index(name), LAYER_WORDS[name], "")


def _stated(cells: Cells) -> dict[str, list[float]]:
    """Each measurement's values, sorted, over the counted trials that state it."""
    found: dict[str, list[float]] = {}
    for trial in cells.trials:
        if trial.counted and trial.row is not None:
            for name, value in trial.row.measurements.items():
                found.setdefault(name, []).append(float(value))
    return {name: sorted(values) for name, values in sorted(found.items())}


def _measurements(cells: Cells) -> dict[str, Measure]:
    """Each measurement in its own unit; one too large to add is left out, and `_notices` says so."""
    return {name: _measure(values) for name, values in _stated(cells).items() if isfinite(sum(values))}


def _measure(values: list[float]) -> Measure:
    total = sum(values)
    return Measure(
        total=total, mean=total / len(values), median=median(values), max=values[-1], n=len(values)
    )  # fmt: skip


def _states(cells: Cells) -> dict[str, int]:
    """Verdicts of counted trials by status; a missing row is an error."""
    return {
        word: int(((cells.status == code) & cells.counted).sum()) for code, word in enumerate(STATUS_WORDS)
    }


def _what_votes(suite: Suite) -> str:
    if suite.weights is not None:
        basis = f" ({suite.weights.basis})" if suite.weights.basis else ""
        return f"each {suite.weights.by} has its share{basis}"
    if any(task.weight is not None for task in suite.tasks):
        return "tasks vote by declared weight"
    return "each task votes"


def _notices(made: Scored) -> tuple[ScoreNotice, ...]:
    too_large = [name for name, values in _stated(made.cells).items() if not isfinite(sum(values))]
    left_out = [
        ScoreNotice(code="measurement_left_out", detail=f"the values of {name!r} are too large to be added")
        for name in too_large
    ]
    return tuple(sorted([*made.cells.notices, *left_out], key=lambda notice: (notice.code, notice.detail)))
