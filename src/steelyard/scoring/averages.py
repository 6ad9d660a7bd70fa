"""Cells to averages, with the effective vote of every verdict in each of them.

An average is linear in the scores: value = sum of vote x score. A verdict's vote is its weight among the criteria
of its trial, times one over the trials of its task, times its task's vote.
"""

from __future__ import annotations

import msgspec
import numpy as np

from steelyard.scoring.cells import GRADED, SKIPPED, Bools, Cells, Floats, Ints
from steelyard.scoring.plan import Plan, task_weights


class GroupScores(msgspec.Struct, kw_only=True):
    """One group of criteria (a dimension or a layer).

    `task_graded` and `trial_graded` count graded verdicts: a value stands only where something was graded.
    `task_low`, `task_high` are per task (NaN where the group has no value there), `weights` their relative
    votes, `votes` and `pooled_votes` per cell. All means are null when no task has a value.
    """

    low: float | None
    high: float | None
    graded_mean: float | None
    pooled_low: float | None
    pooled_high: float | None
    pooled_graded: float | None
    n_graded: int
    n_assigned: int
    n_tasks: int
    assigned_tasks: int
    task_low: Floats
    task_high: Floats
    trial_low: Floats
    task_graded: Ints
    trial_graded: Ints
    weights: Floats
    votes: Floats
    pooled_votes: Floats


def trial_tasks(cells: Cells) -> Ints:
    """The task of each trial."""
    return np.array([trial.task for trial in cells.trials], dtype=np.int64)


def score_group(plan: Plan, cells: Cells, member: Bools) -> GroupScores:
    """Average the cells that `member` marks, over the counted trials."""
    inside = member & cells.counted
    leaves = cells.skip_fail & ~cells.obligation  # an auxiliary skip by a graded fail is not measured at all
    weight = np.where(inside & ~leaves, cells.weight, 0.0)
    graded = cells.status == GRADED
    low = np.where(graded, cells.score, 0.0)
    high = np.where(graded, cells.score, np.where(cells.skip_fail, 0.0, 1.0))
    trial_low, trial_weight = _by_trial(cells, weight, low)
    trial_high, _ = _by_trial(cells, weight, high)
    task_of = trial_tasks(cells)
    n_tasks = len(plan.tasks)
    task_low, trials_voting = _by_task(task_of, trial_low, n_tasks)
    task_high, _ = _by_task(task_of, trial_high, n_tasks)
    has_value = ~np.isnan(task_low)
    weights = np.array(task_weights(plan.suite, plan.tasks, tuple(bool(flag) for flag in has_value)))
    votes = _votes(cells, weight, trial_weight, task_of, trials_voting, weights)
    has_vote = np.array(task_weights(plan.suite, plan.tasks, (True,) * n_tasks)) > 0
    pooled = np.where((weight > 0) & has_vote[task_of[cells.trial]], 1.0, 0.0)
    voters = float(pooled.sum())
    return GroupScores(
        low=_weighted(task_low, weights),
        high=_weighted(task_high, weights),
        graded_mean=_graded_mean(plan, cells, np.where(graded, weight, 0.0), task_of),
        pooled_low=_ratio(float((pooled * low).sum()), voters),
        pooled_high=_ratio(float((pooled * high).sum()), voters),
        pooled_graded=_ratio(float((pooled * low)[graded].sum()), float(pooled[graded].sum())),
        n_graded=int((inside & graded).sum()),
        n_assigned=int(inside.sum()),
        n_tasks=int(has_value.sum()),
        assigned_tasks=len(np.unique(task_of[cells.trial[inside]])),
        task_low=task_low,
        task_high=task_high,
        trial_low=trial_low,
        task_graded=np.bincount(task_of[cells.trial[inside & graded]], minlength=n_tasks),
        trial_graded=np.bincount(cells.trial[inside & graded], minlength=len(cells.trials)),
        weights=weights,
        votes=votes,
        pooled_votes=pooled / voters if voters else pooled,
    )


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom > 0 else None


def _by_trial(cells: Cells, weight: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Weighted mean in each trial, NaN where no weight is left; and the weights' sums."""
    n = len(cells.trials)
    total: Floats = np.bincount(cells.trial, weights=weight, minlength=n).astype(np.float64)
    summed: Floats = np.bincount(cells.trial, weights=weight * value, minlength=n).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, summed / total, np.nan), total


def _by_task(task_of: Ints, trial_value: Floats, n_tasks: int) -> tuple[Floats, Floats]:
    """Mean over the trials of each task that have a value, NaN where none has; and how many had."""
    has_value = ~np.isnan(trial_value)
    count: Floats = np.bincount(task_of, weights=has_value, minlength=n_tasks).astype(np.float64)
    summed = np.bincount(task_of, weights=np.where(has_value, trial_value, 0.0), minlength=n_tasks)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, summed / count, np.nan), count


def _weighted(task_value: Floats, weights: Floats) -> float | None:
    """Mean of task values by relative votes; exactly 1.0 and 0.0 at the ends; null when nobody votes."""
    voting = weights > 0
    if not voting.any():
        return None
    total = float(weights[voting].sum())
    return min(1.0, max(0.0, float((weights[voting] * task_value[voting]).sum()) / total))


def _graded_mean(plan: Plan, cells: Cells, weight: Floats, task_of: Ints) -> float | None:
    """The same average over graded verdicts only: tasks and trials without one have no part in it."""
    trial_value, _ = _by_trial(cells, weight, cells.score)
    task_value, _ = _by_task(task_of, trial_value, len(plan.tasks))
    voting = tuple(bool(flag) for flag in ~np.isnan(task_value))
    return _weighted(task_value, np.array(task_weights(plan.suite, plan.tasks, voting)))


def _votes(
    cells: Cells, weight: Floats, trial_weight: Floats, task_of: Ints, trials_voting: Floats, weights: Floats
) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        in_trial = weight / trial_weight[cells.trial]
        in_task = 1.0 / trials_voting[task_of[cells.trial]]
        in_suite = weights[task_of[cells.trial]] / weights.sum()
        votes = in_suite * in_task * in_trial
    return np.where((weight > 0) & (weights[task_of[cells.trial]] > 0), votes, 0.0)


def undecided(cells: Cells) -> Bools:
    """Cells that count 0 in low and 1 in high."""
    found: Bools = (cells.status != GRADED) & ~((cells.status == SKIPPED) & cells.skip_fail)
    return found
