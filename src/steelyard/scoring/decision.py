"""PASS, FAIL or INCOMPLETE: gates and the bar of the primary metric, compared exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from steelyard.model.table import Primary
from steelyard.scoring.averages import undecided
from steelyard.scoring.cells import GRADED, Cells
from steelyard.scoring.completion import AcceptedTasks
from steelyard.scoring.plan import Bools, Ints, Plan

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


def exact_completion(plan: Plan, accepted: AcceptedTasks, high: bool) -> Fraction:
    """Mean of task completion in exact fractions."""
    done = (accepted.high if high else accepted.low).tolist()
    alike = Counter(zip(_vote_keys(plan), done, accepted.of.tolist(), strict=True))
    voting = Counter[Any]()
    for (key, _, _), tasks in alike.items():
        voting[key] += tasks
    votes = _votes(plan, voting)
    total = sum((votes[key] * tasks for key, tasks in voting.items()), Fraction(0))
    summed = sum(
        (votes[key] * tasks * Fraction(passed, of) for (key, passed, of), tasks in alike.items()), Fraction(0)
    )
    return summed / total if total else Fraction(int(high))


def exact_average(plan: Plan, cells: Cells, member: Bools, high: bool) -> Fraction:
    """The task average of a group in exact fractions; 0 or 1 where nothing votes.

    It is linear: cells of equal score and weight, in trials of equal weight, in tasks of equal vote and as many trials,
    are added at once.
    """
    leaves = cells.skip_fail & ~cells.obligation
    voting = np.flatnonzero(member & cells.counted & ~leaves & (cells.weight > 0))
    if not len(voting):
        return Fraction(int(high))
    trial = cells.trial[voting]
    weight_code, weights = _weight_codes(plan, cells.asked[voting])
    trial_code, trial_weights = _trial_weights(trial, weight_code, weights)
    voters = np.unique(trial)
    task = cells.layout.task[trial]
    of = np.bincount(cells.layout.task[voters], minlength=len(plan.tasks))
    vote_code, votes, total = _task_votes(plan, np.flatnonzero(of))
    missing = undecided(cells)[voting] & high
    score = np.where(cells.status[voting] == GRADED, cells.score[voting], np.where(missing, 1.0, 0.0))
    scores, score_code = np.unique(score, return_inverse=True)
    sizes, size_code = np.unique(of[task], return_inverse=True)
    group, times = _together([vote_code[task], size_code, trial_code, weight_code, score_code])
    exact = [rational(value) for value in scores.tolist()]
    summed = Fraction(0)
    for (vote, size, whole, weight, came_out), count in zip(group, times, strict=True):
        if exact[came_out]:
            part = votes[vote] * weights[weight] * exact[came_out] / (int(sizes[size]) * trial_weights[whole])
            summed += part * count
    return summed / total if total else Fraction(int(high))


def _together(columns: list[Ints]) -> tuple[list[list[int]], list[int]]:
    """The different combinations of these codes, and how often each occurs."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    for column in columns:
        joined = code * (int(column.max()) + 1) + column
        _, first, code = np.unique(joined, return_index=True, return_inverse=True)
    groups = [[int(column[entry]) for column in columns] for entry in first.tolist()]
    return groups, np.bincount(code).tolist()


def _weight_codes(plan: Plan, asked: Ints) -> tuple[Ints, list[Fraction]]:
    known: dict[Decimal, int] = {}
    codes = np.array([known.setdefault(weight, len(known)) for weight in plan.asked.weights], dtype=np.int64)
    return codes[asked], [Fraction(weight) for weight in known]


def _trial_weights(trial: Ints, code: Ints, weights: Sequence[Fraction]) -> tuple[Ints, list[Fraction]]:
    """For each cell the code of its trial's whole weight, and those weights: exact sums over the trial's cells."""
    starts = np.flatnonzero(np.concatenate(([True], trial[1:] != trial[:-1])))
    sizes = np.diff(np.concatenate((starts, [len(trial)])))
    known: dict[Any, int] = {}
    if len(weights) == 1:  # the whole weight follows from the number of cells
        wholes, codes = np.unique(sizes, return_inverse=True)
        return np.repeat(codes, sizes), [weights[0] * int(size) for size in wholes]
    found = []
    text, width = np.ascontiguousarray(code).tobytes(), code.itemsize
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        found.append(known.setdefault(text[start * width : (start + size) * width], len(known)))
    sums = [
        sum((weights[each] for each in np.frombuffer(held, dtype=np.int64).tolist()), Fraction(0))
        for held in known
    ]
    return np.repeat(np.array(found, dtype=np.int64), sizes), sums


def _vote_keys(plan: Plan) -> list[Any]:
    """What decides the vote of each task: its weight, or its group."""
    if plan.group is not None:
        return list(plan.group.tolist())
    return [entry.task.weight for entry in plan.tasks]


def _votes(plan: Plan, voting: Mapping[Any, int]) -> dict[Any, Fraction]:
    """The vote of a task by its key, where so many tasks of that key vote."""
    if plan.suite.weights is None:
        return {key: Fraction(1 if key is None else key) for key in voting}
    shares = list(plan.suite.weights.shares.values())
    return {key: Fraction(shares[key]) / tasks for key, tasks in voting.items()}


def _task_votes(plan: Plan, tasks: Ints) -> tuple[Ints, list[Fraction], Fraction]:
    """A code for the vote of each task that votes, those votes, and their sum over the tasks."""
    keys = _vote_keys(plan)
    voting = Counter(keys[task] for task in tasks.tolist())
    votes = _votes(plan, voting)
    known = {key: place for place, key in enumerate(voting)}
    code = np.zeros(len(plan.tasks), dtype=np.int64)
    code[tasks] = [known[keys[task]] for task in tasks.tolist()]
    total = sum((votes[key] * times for key, times in voting.items()), Fraction(0))
    return code, [votes[key] for key in voting], total
