"""Cells to averages, with the effective vote of every verdict in each of them.

An average is linear in the scores: value = sum of vote x score. A verdict's vote is its weight among the criteria
of its trial, times one over the trials of its task, times its task's vote. All sums go by task first, so that what
changes in one task can be put in the place of what was there.
"""

from __future__ import annotations

import msgspec
import numpy as np

from steelyard.model.columns import GRADED, SKIPPED
from steelyard.scoring.cells import Cells
from steelyard.scoring.plan import Bools, Floats, Ints, Plan, task_weights


class GroupTasks(msgspec.Struct, frozen=True, kw_only=True):
    """One group of criteria (a dimension or a layer), task by task.

    `low`, `high` and `graded_mean` are NaN where the group has no value in a task. `graded` of `assigned` verdicts were
    graded. `voters` have a vote in the pooled score, which sums to `pooled_low` and `pooled_high`; `pooled_voters` of
    them were graded.
    """

    low: Floats
    high: Floats
    graded_mean: Floats
    graded: Ints
    assigned: Ints
    voters: Floats
    pooled_low: Floats
    pooled_high: Floats
    pooled_voters: Floats


class GroupTrials(msgspec.Struct, frozen=True, kw_only=True):
    """The same group trial by trial: its mean (NaN where it has none), the weight behind it, graded verdicts."""

    low: Floats
    weight: Floats
    graded: Ints
    voting: Floats
    """By task: trials with a value."""


class GroupScores(msgspec.Struct, frozen=True, kw_only=True):
    """One group over the suite. `weights` are the relative votes of the tasks. Means are null when no task has one."""

    low: float | None
    high: float | None
    graded_mean: float | None
    pooled_low: float | None
    pooled_high: float | None
    pooled_graded: float | None
    voters: int
    n_graded: int
    n_assigned: int
    n_tasks: int
    assigned_tasks: int
    weights: Floats
    tasks: GroupTasks


def score_group(plan: Plan, cells: Cells, member: Bools) -> tuple[GroupTasks, GroupTrials]:
    """Average the cells that `member` marks, over the counted trials."""
    inside = np.flatnonzero(member & cells.counted)
    if not len(inside):
        return _nothing(len(plan.tasks), len(cells.layout.task))
    trial, status, score = cells.trial[inside], cells.status[inside], cells.score[inside]
    task_of = cells.layout.task
    task = task_of[trial]
    skip_fail = cells.skip_fail[inside]
    leaves = (
        skip_fail & ~cells.obligation[inside]
    )  # an auxiliary skip by a graded fail is not measured at all
    weight = np.where(leaves, 0.0, cells.weight[inside])
    graded = status == GRADED
    low = np.where(graded, score, 0.0)
    high = np.where(graded, score, np.where(skip_fail, 0.0, 1.0))
    n, m = len(plan.tasks), len(task_of)
    trial_low, trial_weight = _by_trial(trial, m, weight, low)
    trial_high, _ = _by_trial(trial, m, weight, high)
    trial_graded, _ = _by_trial(trial, m, np.where(graded, weight, 0.0), score)
    task_low, voting = _by_task(task_of, trial_low, n)
    has_vote = task_weights(plan, np.ones(n, dtype=np.bool_)) > 0
    pooled = np.where((weight > 0) & has_vote[task], 1.0, 0.0)
    tasks = GroupTasks(
        low=task_low,
        high=_by_task(task_of, trial_high, n)[0],
        graded_mean=_by_task(task_of, trial_graded, n)[0],
        graded=np.bincount(task[graded], minlength=n),
        assigned=np.bincount(task, minlength=n),
        voters=_sums(task, pooled, n),
        pooled_low=_sums(task, pooled * low, n),
        pooled_high=_sums(task, pooled * high, n),
        pooled_voters=_sums(task, pooled * graded, n),
    )
    trials = GroupTrials(
        low=trial_low, weight=trial_weight, graded=np.bincount(trial[graded], minlength=m), voting=voting
    )
    return tasks, trials


def _nothing(n: int, m: int) -> tuple[GroupTasks, GroupTrials]:
    """A group without verdicts: as many zeros as there are tasks and trials, in the room of one."""
    zero, none = np.broadcast_to(np.float64(0.0), n), np.broadcast_to(np.int64(0), n)
    unknown = np.broadcast_to(np.float64("nan"), n)
    tasks = GroupTasks(
        low=unknown, high=unknown, graded_mean=unknown, graded=none, assigned=none, voters=zero, pooled_low=zero,
        pooled_high=zero, pooled_voters=zero,
    )  # fmt: skip
    trials = GroupTrials(
        low=np.broadcast_to(np.float64("nan"), m),
        weight=np.broadcast_to(np.float64(0.0), m),
        graded=np.broadcast_to(np.int64(0), m),
        voting=zero,
    )
    return tasks, trials


def average_group(plan: Plan, tasks: GroupTasks) -> GroupScores:
    """The averages over all tasks."""
    has_value = ~np.isnan(tasks.low)
    weights = task_weights(plan, has_value)
    voters, graded_voters = float(tasks.voters.sum()), float(tasks.pooled_voters.sum())
    pooled_low = float(tasks.pooled_low.sum())
    return GroupScores(
        low=_weighted(tasks.low, weights),
        high=_weighted(tasks.high, weights),
        graded_mean=_weighted(tasks.graded_mean, task_weights(plan, ~np.isnan(tasks.graded_mean))),
        pooled_low=_ratio(pooled_low, voters),
        pooled_high=_ratio(float(tasks.pooled_high.sum()), voters),
        pooled_graded=_ratio(pooled_low, graded_voters),
        voters=int(voters),
        n_graded=int(tasks.graded.sum()),
        n_assigned=int(tasks.assigned.sum()),
        n_tasks=int(has_value.sum()),
        assigned_tasks=int((tasks.assigned > 0).sum()),
        weights=weights,
        tasks=tasks,
    )


def votes(cells: Cells, chosen: Ints, group: GroupScores, trials: GroupTrials) -> tuple[Floats, Floats]:
    """The effective votes of these cells of the group in its task average and in its pooled score."""
    trial = cells.trial[chosen]
    task = cells.layout.task[trial]
    leaves = cells.skip_fail[chosen] & ~cells.obligation[chosen]
    weight = np.where(cells.counted[chosen] & ~leaves, cells.weight[chosen], 0.0)
    total = group.weights.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        in_suite = group.weights[task] / total
        found = in_suite * (1.0 / trials.voting[task]) * (weight / trials.weight[trial])
    average = np.where((weight > 0) & (group.weights[task] > 0), found, 0.0)
    pooled = np.where((weight > 0) & (group.tasks.voters[task] > 0), 1.0, 0.0)
    return average, pooled / group.voters if group.voters else pooled


def _sums(group: Ints, value: Floats, n: int) -> Floats:
    return np.bincount(group, weights=value, minlength=n).astype(np.float64)


def _ratio(top: float, bottom: float) -> float | None:
    return min(1.0, top / bottom) if bottom > 0 else None


def _by_trial(trial: Ints, m: int, weight: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Weighted mean in each trial, NaN where no weight is left; and the weights' sums."""
    total, summed = _sums(trial, weight, m), _sums(trial, weight * value, m)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, summed / total, np.nan), total


def _by_task(task_of: Ints, trial_value: Floats, n_tasks: int) -> tuple[Floats, Floats]:
    """Mean over the trials of each task that have a value, NaN where none has; and how many had."""
    has_value = (~np.isnan(trial_value)).astype(np.float64)
    count = _sums(task_of, has_value, n_tasks)
    summed = _sums(task_of, np.where(has_value > 0, trial_value, 0.0), n_tasks)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, summed / count, np.nan), count


def _weighted(task_value: Floats, weights: Floats) -> float | None:
    """Mean of task values by relative votes; exactly 1.0 and 0.0 at the ends; null when nobody votes."""
    voting = weights > 0
    if not voting.any():
        return None
    total = float(weights[voting].sum())
    return min(1.0, max(0.0, float((weights[voting] * task_value[voting]).sum()) / total))


def undecided(cells: Cells) -> Bools:
    """Cells that count 0 in low and 1 in high."""
    found: Bools = (cells.status != GRADED) & ~((cells.status == SKIPPED) & cells.skip_fail)
    return found
