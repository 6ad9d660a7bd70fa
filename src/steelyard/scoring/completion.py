"""Complete-task success, pass^k, pass@k and the pass rate. Not linear in the scores: acceptance decides each trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import msgspec
import numpy as np

from steelyard.model.table import Completion, Count, KScore, PassRate, TaskCount
from steelyard.scoring.averages import undecided
from steelyard.scoring.cells import CONFLICT, Cells
from steelyard.scoring.confidence import rate_interval, task_interval
from steelyard.scoring.plan import Bools, Floats, Ints, Plan, task_weights
from steelyard.stats.repeats import pass_at_k, pass_hat_k

MOST_K = 32
"""pass^k and pass@k are listed up to this k (and always up to 2)."""


class AcceptedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Task by task: counted trials `of` (with stand-ins), `own` (without), and faults.

    `low` are complete for sure, `high` if everything missing came out well, `own_high` of them without stand-ins.
    """

    of: Ints
    own: Ints
    faults: Ints
    low: Ints
    high: Ints
    own_high: Ints

    @property
    def share_low(self) -> Floats:
        """Completion of each task, at least."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.low / self.of

    @property
    def share_high(self) -> Floats:
        """Completion of each task, at most."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.high / self.of


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """Trial by trial: complete for sure, and complete if everything missing came out well."""

    low: Bools
    high: Bools


def accept(plan: Plan, cells: Cells) -> tuple[AcceptedTasks, Acceptance]:
    """Apply each task's acceptance rule. How the trial ended is read before any verdict."""
    layout, rule = cells.layout, cells.in_rule
    n, m = len(plan.tasks), len(layout.task)
    ruled = np.bincount(cells.trial[rule], minlength=m) > 0  # no requirement, no completion
    short = rule & ~cells.passed
    low = np.bincount(cells.trial[short], minlength=m) == 0
    high = np.bincount(cells.trial[short & ~undecided(cells)], minlength=m) == 0
    ended = _ends_well(plan, cells)
    open_end = layout.ended == layout.endings.index(CONFLICT)
    counted = layout.counted
    accepted = Acceptance(low=low & ended & counted & ruled, high=high & (ended | open_end) & counted & ruled)
    tasks = AcceptedTasks(
        of=np.bincount(layout.task[counted], minlength=n),
        own=np.bincount(layout.task[counted & ~layout.stand_in], minlength=n),
        faults=np.bincount(layout.task[~counted], minlength=n),
        low=np.bincount(layout.task[accepted.low], minlength=n),
        high=np.bincount(layout.task[accepted.high], minlength=n),
        own_high=np.bincount(layout.task[accepted.high & ~layout.stand_in], minlength=n),
    )
    return tasks, accepted


def _ends_well(plan: Plan, cells: Cells) -> Bools:
    """Trials that ended in a way their task accepts, or that do not say how."""
    layout = cells.layout
    well = np.array(
        [
            [ending in shape.example.complete_when.ended_by for ending in layout.endings] + [True]
            for shape in plan.shapes
        ],
        dtype=np.bool_,
    )
    found: Bools = well[plan.shape_of[layout.task], layout.ended]
    return found


def completion(plan: Plan, accepted: AcceptedTasks) -> Completion:
    """The mean of task completion with its plain counts and interval."""
    weights = task_weights(plan, np.ones(len(plan.tasks), dtype=np.bool_))
    total = float(weights.sum())
    task_low, task_high = accepted.share_low, accepted.share_high
    low = min(1.0, float((weights * task_low).sum()) / total)
    high = min(1.0, float((weights * task_high).sum()) / total)
    return Completion(
        value=low,
        low=low,
        high=high,
        trials=Count(complete=int(accepted.low.sum()), of=int(accepted.own.sum())),
        tasks=TaskCount(always_complete=int((task_low == 1.0).sum()), of=len(plan.tasks)),
        ci=task_interval(plan, task_low, task_high, weights),
    )


def repeats(accepted: AcceptedTasks) -> tuple[dict[str, KScore], dict[str, KScore]]:
    """pass^k and pass@k by the unbiased estimators, each over the tasks with at least k trials that were no fault."""
    columns = (accepted.own, accepted.low, accepted.own_high)
    alike = Counter(zip(*(column.tolist() for column in columns), strict=True))
    hat, at = {}, {}
    for k in range(1, max(2, min(int(accepted.own.max(initial=0)), MOST_K)) + 1):
        able = {counts: tasks for counts, tasks in alike.items() if counts[0] >= k}
        hat[str(k)] = _mean_k(pass_hat_k, able, k)
        at[str(k)] = _mean_k(pass_at_k, able, k)
    return hat, at


def _mean_k(
    estimator: Callable[[int, int, int], Fraction | None], alike: dict[tuple[int, int, int], int], k: int
) -> KScore:
    """`alike` counts tasks by their trials, complete trials, and trials that are or could still be complete."""
    n_tasks = sum(alike.values())
    if not n_tasks:
        return KScore(value=None, n_tasks=0, status="too_few_trials")
    low = high = Fraction(0)
    for (n, complete, possible), tasks in alike.items():
        low += (estimator(n, complete, k) or Fraction(0)) * tasks
        high += (estimator(n, possible, k) or Fraction(0)) * tasks
    value = float(low / n_tasks)
    return KScore(value=value, low=value, high=float(high / n_tasks), n_tasks=n_tasks)


def pass_rate(accepted: AcceptedTasks, *, independent: bool = True) -> PassRate:
    """Complete trials of all trials that were no fault; a planned trial without a record counts as not passed.

    The empty trial that holds the votes of a task with only faults is no execution, so it is not among them.
    """
    complete, possible = int(accepted.low.sum()), int(accepted.own_high.sum())
    of, faults = int(accepted.own.sum()), int(accepted.faults.sum())
    one_each = not (accepted.of > 1).any()
    return PassRate(
        value=complete / of if of else None,
        low=complete / of if of else None,
        high=possible / of if of else None,
        complete=complete,
        of=of,
        strict=complete / (of + faults) if of + faults else None,
        ci=rate_interval(complete, possible, of) if independent and one_each else None,
    )
