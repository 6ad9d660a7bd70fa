"""Whether what was computed here agrees with what the benchmark itself recorded, simulation by simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from steelyard.model.standard import OBLIGATION, CompleteWhen
from steelyard.model.table import ScoreNotice, ScoreTable, TrialScore
from steelyard.model.trace import ExternalScore, Quarantined, Trace

RECOMPUTED: tuple[str, ...] = ("ACTION", "COMMUNICATE")
"""Components that the source recorded and that code computes again from the raw messages."""
MISMATCH = "criteria_mismatch"
"""The importer's notice: the criteria that a simulation was scored with are not those of the task it names.
"""

_CLOSE = 1e-6
_ENDED_WELL = CompleteWhen().ended_by


def distrust_mismatched(trace: Trace) -> Trace:
    """The trace without its recorded values, when they were scored against criteria of some other task.

    The scores stay by name with no value, so that each criterion which needs one becomes an error that says
    why. Other traces come back as they are.
    """
    if not any(notice.code == MISMATCH for notice in trace.notices):
        return trace
    detail = "recorded against criteria that are not those of the named task"
    emptied = tuple(ExternalScore(name=score.name, detail=detail) for score in trace.external_scores)
    return msgspec.structs.replace(trace, external_scores=emptied)


def watched(traces: Iterable[Trace | Quarantined], kept: list[Trace]) -> Iterator[Trace | Quarantined]:
    """Passes traces on to grading, mismatched ones without their recorded values; `kept` gets what
    `cross_check` needs.

    What is kept are the traces as imported but without steps, so that a long stream stays small in memory.
    """
    for trace in traces:
        if isinstance(trace, Quarantined):
            yield trace
            continue
        kept.append(msgspec.structs.replace(trace, steps=()))
        yield distrust_mismatched(trace)


def cross_check(table: ScoreTable, traces: Iterable[Trace]) -> tuple[ScoreNotice, ...]:
    """Every disagreement between the table and the records in `traces`, each naming simulation, task and
    component.

    Compared per simulation: the obligations and the way it ended against the recorded reward (success is
    |reward - 1| <= 1e-6; gates are outside this comparison), and ACTION and COMMUNICATE by code against the
    recorded component. A simulation without a recorded value is not compared. Call it with the traces as
    imported.
    """
    trials: dict[str, list[tuple[str, TrialScore]]] = {}
    for task in table.tasks:
        for trial in task.trials:
            if trial.trace is not None:
                trials.setdefault(trial.trace, []).append((task.id, trial))
    found: list[ScoreNotice] = []
    for trace in traces:
        found.extend(_of_trace(trace, trials.get(trace.id, ())))
    return tuple(dict.fromkeys(found))


def _of_trace(trace: Trace, trials: Sequence[tuple[str, TrialScore]]) -> Iterator[ScoreNotice]:
    named = [(task, trial) for task, trial in trials if trace.task_id in (None, task)]
    if len(named) == 1:
        yield from _disagreements(trace, *named[0])
    elif named:
        yield ScoreNotice(
            code="ambiguous_simulation",
            where=named[0][0],
            detail=f"{len(named)} simulations of task {named[0][0]} share the id {trace.id}: "
            "what they recorded was not compared.",
        )


def _disagreements(trace: Trace, task: str, trial: TrialScore) -> Iterator[ScoreNotice]:
    recorded = {score.name: score.value for score in trace.external_scores if score.value is not None}
    where = f"{task}#{trial.trial}"
    if any(notice.code == MISMATCH for notice in trace.notices):
        yield ScoreNotice(
            code=MISMATCH,
            where=where,
            detail=f"Simulation {trace.id} of task {task}: its recorded components were scored against "
            "other criteria than the task's, so they count as errors here.",
        )
        return
    if "reward" in recorded and _earned(trial) != _success(recorded["reward"]):
        yield ScoreNotice(
            code="reward_differs",
            where=where,
            detail=f"Simulation {trace.id} of task {task}: the recorded reward is {recorded['reward']:g}, "
            f"the obligations computed here are {'met' if _earned(trial) else 'not all met'}.",
        )
    for criterion in trial.criteria:
        if criterion.id not in RECOMPUTED or criterion.id not in recorded:
            continue
        if (criterion.outcome == "pass") != _success(recorded[criterion.id]):
            yield ScoreNotice(
                code="component_differs",
                where=f"{where}/{criterion.id}",
                detail=f"Simulation {trace.id} of task {task}: {criterion.id} was recorded as "
                f"{recorded[criterion.id]:g}, computed from the messages it is {criterion.outcome}.",
            )


def _success(value: float) -> bool:
    return abs(value - 1) <= _CLOSE


def _earned(trial: TrialScore) -> bool:
    """What the source's reward says: every obligation passes and the conversation ended by agent or user."""
    ended = trial.ended_by is None or trial.ended_by in _ENDED_WELL
    obligations = [criterion for criterion in trial.criteria if criterion.dimension == OBLIGATION]
    return ended and bool(obligations) and all(criterion.outcome == "pass" for criterion in obligations)
