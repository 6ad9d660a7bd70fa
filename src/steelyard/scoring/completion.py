"""Complete-task success, pass^k, pass@k and the pass rate. Not linear in the scores: acceptance decides each trial."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import numpy as np

from steelyard.model.table import Completion, Count, KScore, PassRate, TaskCount
from steelyard.scoring.averages import trial_tasks, undecided
from steelyard.scoring.cells import CONFLICT, GRADED, Bools, Cells, Floats
from steelyard.scoring.confidence import rate_interval, task_interval
from steelyard.scoring.plan import Plan, task_weights
from steelyard.stats.repeats import pass_at_k, pass_hat_k

MOST_K = 32
"""pass^k and pass@k are listed up to this k (and always up to 2)."""


class Acceptance(msgspec.Struct, kw_only=True):
    """Per trial: complete for sure (`low`), and complete if everything missing came out well (`high`)."""

    low: Bools
    high: Bools
    task_low: Floats
    task_high: Floats
    weights: Floats


def accept(plan: Plan, cells: Cells) -> Acceptance:
    """Apply each task's acceptance rule. How the trial ended is read before any verdict."""
    n = len(cells.trials)
    rule = cells.in_rule
    ruled = np.bincount(cells.trial, weights=rule, minlength=n) > 0  # no requirement, no completion
    short = np.bincount(cells.trial, weights=rule & ~cells.passed, minlength=n)
    broken = np.bincount(cells.trial, weights=rule & ~cells.passed & ~undecided(cells), minlength=n)
    ended = np.array(
        [
            trial.ended_by is None or trial.ended_by in plan.tasks[trial.task].task.complete_when.ended_by
            for trial in cells.trials
        ],
        dtype=np.bool_,
    )
    open_end = np.array([trial.ended_by == CONFLICT for trial in cells.trials], dtype=np.bool_)
    counted = np.array([trial.counted for trial in cells.trials], dtype=np.bool_)
    low, high = (short == 0) & ended & counted & ruled, (broken == 0) & (ended | open_end) & counted & ruled
    task_of = trial_tasks(cells)
    of = np.bincount(task_of, weights=counted, minlength=len(plan.tasks))
    return Acceptance(
        low=low,
        high=high,
        task_low=np.bincount(task_of, weights=low, minlength=len(plan.tasks)) / of,
        task_high=np.bincount(task_of, weights=high, minlength=len(plan.tasks)) / of,
        weights=np.array(task_weights(plan.suite, plan.tasks, (True,) * len(plan.tasks))),
    )


def completion(plan: Plan, cells: Cells, accepted: Acceptance) -> Completion:
    """The mean of task completion with its plain counts and interval."""
    total = float(accepted.weights.sum())
    low = min(1.0, float((accepted.weights * accepted.task_low).sum()) / total)
    high = min(1.0, float((accepted.weights * accepted.task_high).sum()) / total)
    counted = sum(trial.counted and not trial.stand_in for trial in cells.trials)
    return Completion(
        value=low,
        low=low,
        high=high,
        trials=Count(complete=int(accepted.low.sum()), of=counted),
        tasks=TaskCount(always_complete=int((accepted.task_low == 1.0).sum()), of=len(plan.tasks)),
        ci=task_interval(plan, accepted.task_low, accepted.task_high, accepted.weights),
    )


def repeats(plan: Plan, cells: Cells, accepted: Acceptance) -> tuple[dict[str, KScore], dict[str, KScore]]:
    """pass^k and pass@k by the unbiased estimators, each over the tasks with at least k trials that were no fault."""
    task_of = trial_tasks(cells)
    counted = np.array([trial.counted and not trial.stand_in for trial in cells.trials], dtype=np.bool_)
    n = np.bincount(task_of, weights=counted, minlength=len(plan.tasks)).astype(int).tolist()
    c = np.bincount(task_of, weights=accepted.low, minlength=len(plan.tasks)).astype(int).tolist()
    hat, at = {}, {}
    for k in range(1, max(2, min(max(n, default=0), MOST_K)) + 1):
        able = [(trials, passed) for trials, passed in zip(n, c, strict=True) if trials >= k]
        hat[str(k)] = _mean_k([pass_hat_k(trials, passed, k) for trials, passed in able])
        at[str(k)] = _mean_k([pass_at_k(trials, passed, k) for trials, passed in able])
    return hat, at


def _mean_k(values: list[Fraction | None]) -> KScore:
    known = [value for value in values if value is not None]
    if not known:
        return KScore(value=None, n_tasks=0, status="too_few_trials")
    return KScore(value=float(sum(known, Fraction(0)) / len(known)), n_tasks=len(known))


def pass_rate(cells: Cells, accepted: Acceptance, *, independent: bool = True) -> PassRate:
    """Complete trials of all trials that were no fault; a planned trial without a record counts as not passed.

    The empty trial that holds the votes of a task with only faults is no execution, so it is not among them.
    """
    own = [index for index, trial in enumerate(cells.trials) if trial.counted and not trial.stand_in]
    complete = int(sum(bool(accepted.low[index]) for index in own))
    possible = int(sum(bool(accepted.high[index]) for index in own))
    faults = sum(not trial.counted for trial in cells.trials)
    of = len(own)
    return PassRate(
        value=complete / of if of else None,
        low=complete / of if of else None,
        high=possible / of if of else None,
        complete=complete,
        of=of,
        strict=complete / (of + faults) if of + faults else None,
        ci=rate_interval(complete, possible, of) if independent and _one_trial_each(cells) else None,
    )


def _one_trial_each(cells: Cells) -> bool:
    tasks = [trial.task for trial in cells.trials if trial.counted]
    return len(tasks) == len(set(tasks))


def fault_counts(cells: Cells) -> dict[str, int]:
    """Trials that ended by an infrastructure or simulator fault; they are in no mean."""
    ended = [trial.ended_by for trial in cells.trials]
    return {
        "infrastructure": ended.count("infrastructure_fault"),
        "simulator": ended.count("simulator_fault"),
    }


def gate_states(cells: Cells) -> tuple[int, int]:
    """Over counted trials: gates graded below their mark, and gates with no pass for another reason."""
    gates = cells.gate & cells.counted
    violated = gates & (cells.status == GRADED) & ~cells.passed
    return int(violated.sum()), int((gates & ~cells.passed & ~violated).sum())
