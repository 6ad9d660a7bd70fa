"""PASS, FAIL or INCOMPLETE: gates and the bar of the primary metric, compared exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import numpy as np

from steelyard.model.table import Primary
from steelyard.scoring.averages import undecided
from steelyard.scoring.cells import GRADED, Bools, Cells
from steelyard.scoring.completion import Acceptance
from steelyard.scoring.plan import Plan

K = TypeVar("K", bound=Hashable)
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
    done = (accepted.high if high else accepted.low).tolist()
    passed = [0] * len(plan.tasks)
    of = [0] * len(plan.tasks)
    for index, trial in enumerate(cells.trials):
        if trial.counted:
            of[trial.task] += 1
            passed[trial.task] += done[index]
    counts = dict(enumerate(zip(passed, of, strict=True)))
    return _exact_mean(plan, counts, lambda count: Fraction(*count), nobody=Fraction(int(high)))


def exact_average(plan: Plan, cells: Cells, member: Bools, high: bool) -> Fraction:
    """The task average of a group in exact fractions; 0 or 1 where nothing votes."""
    missing = undecided(cells)
    votes = (member & ~(cells.skip_fail & ~cells.obligation) & (cells.weight > 0)).tolist()
    score = np.where(cells.status == GRADED, cells.score, np.where(missing & high, 1.0, 0.0)).tolist()
    came_out: dict[int, Counter[Held]] = {}
    for index, trial in enumerate(cells.trials):
        if not trial.counted:
            continue
        start = cells.offset[index]
        held = tuple(
            (criterion.weight, score[start + position])
            for position, criterion in enumerate(plan.tasks[trial.task].criteria)
            if votes[start + position]
        )
        if held:
            came_out.setdefault(trial.task, Counter())[held] += 1
    tasks = {task: tuple(sorted(trials.items())) for task, trials in came_out.items()}
    return _exact_mean(plan, tasks, _task_value, nobody=Fraction(int(high)))


Held = tuple[tuple[Decimal, float], ...]
"""(weight, score) of each voting criterion of one trial."""


@lru_cache(maxsize=4096)
def _trial_value(held: Held) -> Fraction:
    total = sum((Fraction(weight) for weight, _ in held), Fraction(0))
    return sum((Fraction(weight) * rational(value) for weight, value in held), Fraction(0)) / total


def _task_value(trials: tuple[tuple[Held, int], ...]) -> Fraction:
    of = sum(times for _, times in trials)
    return sum((_trial_value(held) * times for held, times in trials), Fraction(0)) / of


def _exact_mean(
    plan: Plan, came_out: Mapping[int, K], value_of: Callable[[K], Fraction], *, nobody: Fraction
) -> Fraction:
    """The mean by task votes; `nobody` where no task has a vote. Tasks that came out alike are added at once."""
    suite = plan.suite
    if suite.weights is None:
        alike = Counter[tuple[Any, K]]((plan.tasks[task].task.weight, key) for task, key in came_out.items())
        votes = {weight: Fraction(1 if weight is None else weight) for weight, _ in alike}
    else:
        tag, shares = suite.weights.by, suite.weights.shares
        alike = Counter[tuple[Any, K]](
            (plan.tasks[task].task.tags[tag], key) for task, key in came_out.items()
        )
        sizes: Counter[Any] = Counter()
        for (name, _), times in alike.items():
            sizes[name] += times
        votes = {name: Fraction(shares[name]) / size for name, size in sizes.items()}
    total = sum((votes[weight] * times for (weight, _), times in alike.items()), Fraction(0))
    summed = sum(
        (votes[weight] * times * value_of(key) for (weight, key), times in alike.items()), Fraction(0)
    )
    return summed / total if total else nobody
