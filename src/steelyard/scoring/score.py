"""From verdict rows to the score table: the one function behind every surface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

import msgspec

from steelyard.model.standard import Suite
from steelyard.model.table import (
    Average,
    Ci,
    Completion,
    Coverage,
    DimensionScore,
    Measure,
    ScoreNotice,
    ScoreTable,
    SuiteRef,
)
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.scoring.alike import counts
from steelyard.scoring.averages import GroupScores
from steelyard.scoring.completion import completion, pass_rate, repeats
from steelyard.scoring.confidence import task_interval
from steelyard.scoring.decision import WORDS, Bounds, exact_average, exact_completion, exit_code, primary
from steelyard.scoring.detail import task_scores
from steelyard.scoring.scored import Scored, compute
from steelyard.scoring.slices import slices
from steelyard.scoring.tallies import (
    GateStates,
    fault_counts,
    gate_states,
    graders,
    median_of,
    stated,
)
from steelyard.scoring.tallies import states as _states
from steelyard.scoring.trials import missing_trials

PRIMARY_DIMENSION = "dimension:"


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
    suite, cells, accepted = made.plan.suite, made.cells, made.accepted_tasks
    gates = gate_states(cells, cells.dimension, len(made.plan.dimensions))
    by_layer = gate_states(cells, cells.layer, len(made.plan.layers))
    completed = completion(made.plan, accepted)
    dimensions = {
        name: _dimension(made, name, group, gates[place])
        for place, (name, group) in enumerate(made.dimensions.items())
    }
    bounds = _bounds(made, completed, dimensions)
    code = exit_code(
        made.plan,
        bounds,
        violated=sum(each.violated for each in gates),
        open_gates=sum(each.undecided for each in gates),
        used_rows=cells.used_rows,
    )
    hat, at = repeats(accepted)
    kinds, judged = graders(cells)
    tasks, left_out = task_scores(made, full=detail)
    counted = counts(made)
    measurements, notices = _measurements(made)
    return ScoreTable(
        suite=SuiteRef(name=suite.name, version=suite.version, owner=suite.owner, hash=suite.hash),
        primary=suite.primary,
        decision=WORDS[code],
        exit_code=code,
        bar=primary(made.plan, bounds),
        dimensions=dimensions,
        layers={
            name: _group(made, group, by_layer[place], LAYER_WORDS[name], "")
            for place, (name, group) in enumerate(made.layers.items())
        },
        completion=completed,
        pass_hat_k=hat,
        pass_at_k=at,
        pass_rate=pass_rate(accepted, independent=suite.clusters is None),
        measurements=measurements,
        states=_states(cells),
        faults=fault_counts(cells),
        tasks=tasks,
        slices=slices(made.plan, accepted, made.dimensions),
        licences={"machine_labelling": {"verdicts": judged, "state": "uncalibrated"}} if judged else {},
        graders=kinds,
        causes=counted.causes,
        complete_but=counted.complete_but,
        no_verdict=counted.no_verdict,
        skipped_by_fail=counted.skipped_by_fail,
        failed_outside=counted.failed_outside,
        missing_trials=missing_trials(cells.layout),
        left_out=left_out,
        notices=tuple(sorted([*cells.notices, *notices], key=lambda notice: (notice.code, notice.detail))),
        weights=_what_votes(suite),
        excluded=tuple(msgspec.to_builtins(entry) for entry in suite.excluded),
    )


def _bounds(made: Scored, completed: Completion, dimensions: Mapping[str, DimensionScore]) -> Bounds:
    suite = made.plan.suite
    if suite.primary.startswith(PRIMARY_DIMENSION):
        name = suite.primary[len(PRIMARY_DIMENSION) :]
        if name not in dimensions:
            return Bounds(value=None, low=0.0, high=1.0, exact=int)  # type: ignore[arg-type]
        member = made.cells.dimension == made.plan.dimensions.index(name)
        average = dimensions[name].task_average
        return Bounds(
            value=average.value, low=average.low or 0.0, high=1.0 if average.high is None else average.high,
            exact=lambda high: exact_average(made.plan, made.cells, member, high),
        )  # fmt: skip
    return Bounds(
        value=completed.value, low=completed.low, high=completed.high,
        exact=lambda high: exact_completion(made.plan, made.accepted_tasks, high),
    )  # fmt: skip


def _average(made: Scored, group: GroupScores) -> Average:
    interval = task_interval(made.plan, group.tasks.low, group.tasks.high, group.weights)
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


def _group(
    made: Scored, group: GroupScores, gates: GateStates, definition: str, scope: str
) -> DimensionScore:
    return DimensionScore(
        definition=definition,
        scope=scope,
        task_average=_average(made, group),
        pooled=_headline(group, group.pooled_low, group.pooled_high, group.pooled_graded, None),
        coverage=Coverage(tasks=group.assigned_tasks, of=len(made.plan.tasks)),
        gate=gates.trials > 0,
        gate_violations=gates.violations,
        gate_trials=gates.trials,
        open_gates=gates.open,
        pooled_voters=group.voters,
    )


def _dimension(made: Scored, name: str, group: GroupScores, gates: GateStates) -> DimensionScore:
    declared = made.plan.suite.dimensions.get(name)
    definition, scope = (declared.definition, declared.scope) if declared else ("", "")
    return _group(made, group, gates, definition, scope)


LAYER_WORDS = {
    "outcome": "Whether the task is done, in the world.",
    "process": "Whether the way was sound, step by step.",
    "efficiency": "What it used, under the declared budget.",
    "risk": "Over-reach, forbidden changes, leaks.",
}


def _measurements(made: Scored) -> tuple[dict[str, Measure], list[ScoreNotice]]:
    """Each measurement in its own unit; one too large to add is left out, and a notice says so."""
    found, left_out = {}, []
    for name, values in stated(made.cells):
        total = sum(values)
        if isfinite(total):
            found[name] = Measure(
                total=total, mean=total / len(values), median=median_of(values), max=values[-1], n=len(values)
            )
        else:
            detail = f"the values of {name!r} are too large to be added"
            left_out.append(ScoreNotice(code="measurement_left_out", detail=detail))
    return found, left_out


def _what_votes(suite: Suite) -> str:
    if suite.weights is not None:
        basis = f" ({suite.weights.basis})" if suite.weights.basis else ""
        return f"each {suite.weights.by} has its share{basis}"
    if any(task.weight is not None for task in suite.tasks):
        return "tasks vote by declared weight"
    return "each task votes"
