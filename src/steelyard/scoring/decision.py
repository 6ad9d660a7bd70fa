"""PASS, FAIL or INCOMPLETE: gates and the bar of the primary metric, compared exactly."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import msgspec

from steelyard.model.table import Primary
from steelyard.scoring.averages import trial_tasks, undecided
from steelyard.scoring.cells import GRADED, Bools, Cells
from steelyard.scoring.completion import Acceptance
from steelyard.scoring.plan import Plan

NEAR = 1e-9
"""Floats decide when they are further than this from the bar; exact fractions decide the rest."""

WORDS = {0: "PASS", 1: "FAIL", 3: "INCOMPLETE", 4: "INCOMPLETE"}


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The primary metric as floats, and how to compute `low` and `high` exactly when they are near the bar."""

    value: float | None
    low: float
    high: float
    exact: Callable[[bool], Fraction]
    """`exact(False)` is low, `exact(True)` is high."""


def primary(plan: Plan, bounds: Bounds) -> Primary:
    """The metric that decides, beside its bar."""
    suite = plan.suite
    bar = Decimal(1) if suite.at_least is None else suite.at_least
    return Primary(
        metric=suite.primary, value=bounds.value, low=bounds.low, high=bounds.high, bar=float(bar),
        declared=suite.at_least is not None,
    )  # fmt: skip


def exit_code(plan: Plan, bounds: Bounds, *, violated: int, open_gates: int, used_rows: int) -> int:
    """0 every gate passed and low reaches the bar; 1 a gate violated or high below the bar; 3 else; 4 no row at all."""
    if used_rows == 0:
        return 4
    bar = Fraction(1 if plan.suite.at_least is None else plan.suite.at_least)
    if violated or not _reaches(bounds.high, bar, lambda: bounds.exact(True)):
        return 1
    if open_gates == 0 and _reaches(bounds.low, bar, lambda: bounds.exact(False)):
        return 0
    return 3


def _reaches(value: float, bar: Fraction, exact: Callable[[], Fraction]) -> bool:
    if abs(value - float(bar)) > NEAR:
        return value > float(bar)
    return exact() >= bar


def rational(score: float) -> Fraction:
    """The fraction that a score was written from: 2/3 for the float nearest to 2/3, 7/10 for 0.7."""
    simple = Fraction(score).limit_denominator(1_000_000)
    return simple if float(simple) == score else Fraction(Decimal(repr(score)))


def exact_completion(plan: Plan, cells: Cells, accepted: Acceptance, high: bool) -> Fraction:
    """Mean of task completion in exact fractions."""
    done = accepted.high if high else accepted.low
    task_of = trial_tasks(cells).tolist()
    passed = [0] * len(plan.tasks)
    of = [0] * len(plan.tasks)
    for index, trial in enumerate(cells.trials):
        if trial.counted:
            of[task_of[index]] += 1
            passed[task_of[index]] += bool(done[index])
    values = [Fraction(top, bottom) for top, bottom in zip(passed, of, strict=True)]
    return _exact_mean(plan, dict(enumerate(values)), nobody=Fraction(int(high)))


def exact_average(plan: Plan, cells: Cells, member: Bools, high: bool) -> Fraction:
    """The task average of a group in exact fractions; 0 or 1 where nothing votes."""
    missing = undecided(cells)
    by_task: dict[int, list[Fraction]] = {}
    for index, trial in enumerate(cells.trials):
        if not trial.counted:
            continue
        total = summed = Fraction(0)
        start = cells.offset[index]
        for position, criterion in enumerate(plan.tasks[trial.task].criteria):
            cell = start + position
            if not member[cell] or (cells.skip_fail[cell] and not cells.obligation[cell]):
                continue
            weight = Fraction(criterion.weight)
            total += weight
            if cells.status[cell] == GRADED:
                summed += weight * rational(float(cells.score[cell]))
            elif missing[cell] and high:
                summed += weight
        if total:
            by_task.setdefault(trial.task, []).append(summed / total)
    values = {task: sum(scores, Fraction(0)) / len(scores) for task, scores in by_task.items()}
    return _exact_mean(plan, values, nobody=Fraction(int(high)))


def _exact_mean(plan: Plan, values: dict[int, Fraction], *, nobody: Fraction) -> Fraction:
    """The mean by task votes; `nobody` where no task has a vote."""
    suite = plan.suite
    weights: dict[int, Fraction] = {}
    if suite.weights is not None:
        groups: dict[str, list[int]] = {}
        for task in values:
            groups.setdefault(plan.tasks[task].task.tags[suite.weights.by], []).append(task)
        for name, members in groups.items():
            weights.update({task: Fraction(suite.weights.shares[name]) / len(members) for task in members})
    else:
        for task in values:
            weight = plan.tasks[task].task.weight
            weights[task] = Fraction(1) if weight is None else Fraction(weight)
    total = sum(weights.values(), Fraction(0))
    return (
        sum((weights[task] * value for task, value in values.items()), Fraction(0)) / total
        if total
        else nobody
    )
