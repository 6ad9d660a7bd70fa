"""Second part of the reference: nested means, pooled means, votes and Wilson intervals, in Fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tests.reference.records import ONE, ZERO, InvalidSuite, exact_number

Z95 = 1.959963984540054

Reading = Callable[[dict[str, Any]], Fraction | None]  # a verdict's value in an average; None leaves it
Chosen = Callable[[dict[str, Any]], bool]  # is the criterion in this dimension (or layer)?


def low_of(verdict: dict[str, Any]) -> Fraction | None:
    value: Fraction | None = verdict["low"]
    return value


def high_of(verdict: dict[str, Any]) -> Fraction | None:
    value: Fraction | None = verdict["high"]
    return value


def graded_of(verdict: dict[str, Any]) -> Fraction | None:
    value: Fraction | None = verdict["score"]
    return value


def weighted_mean(pairs: list[tuple[Fraction, Fraction]]) -> Fraction | None:
    total = sum((weight for weight, _ in pairs), ZERO)
    if total == 0:
        return None
    return sum((weight * value for weight, value in pairs), ZERO) / total


def trial_mean(
    task: dict[str, Any], trial: dict[str, Any], chosen: Chosen, reading: Reading
) -> Fraction | None:
    pairs = []
    for criterion in task["criteria"]:
        value = reading(trial["verdicts"][criterion["id"]])
        if chosen(criterion) and value is not None:
            pairs.append((criterion["weight"], value))
    return weighted_mean(pairs)


def task_mean(task: dict[str, Any], chosen: Chosen, reading: Reading) -> Fraction | None:
    means = [trial_mean(task, trial, chosen, reading) for trial in task["counted"]]
    return weighted_mean([(ONE, mean) for mean in means if mean is not None])


def task_weights(suite: dict[str, Any], tasks: list[dict[str, Any]]) -> dict[str, Fraction]:
    """Weights of these tasks among themselves, not normalised: one each unless declared."""
    by = suite.get("weights")
    if not by:
        return {task["id"]: task["weight"] for task in tasks}
    weights = {}
    for task in tasks:
        group = task["tags"][by["by"]]
        peers = [other for other in tasks if other["tags"][by["by"]] == group]
        share = exact_number(by["shares"][group])
        if share is None or share < 0:
            raise InvalidSuite(f"the share of {group} is not a number, 0 or more")
        weights[task["id"]] = share / len(peers)
    return weights


def suite_mean(
    suite: dict[str, Any], tasks: list[dict[str, Any]], scores: dict[str, Fraction | None]
) -> Fraction | None:
    present = [task for task in tasks if scores[task["id"]] is not None]
    weights = task_weights(suite, present)
    pairs = []
    for task in present:
        value = scores[task["id"]]
        assert value is not None
        pairs.append((weights[task["id"]], value))
    return weighted_mean(pairs)


def votes_of(
    suite: dict[str, Any], tasks: list[dict[str, Any]], chosen: Chosen, pooled: bool
) -> dict[tuple[str, int | None, str], Fraction]:
    """Effective vote of each verdict in one average, multiplied down the levels; sums to 1 or is all zero."""
    present = [task for task in tasks if task_mean(task, chosen, low_of) is not None]
    weights = task_weights(suite, present)
    votes: dict[tuple[str, int | None, str], Fraction] = {}
    for task in present:
        trials = [t for t in task["counted"] if trial_mean(task, t, chosen, low_of) is not None]
        for trial in trials:
            inside = [
                c for c in task["criteria"] if chosen(c) and trial["verdicts"][c["id"]]["low"] is not None
            ]
            total = sum((c["weight"] for c in inside), ZERO)
            for criterion in inside:
                vote = weights[task["id"]] / len(trials) * criterion["weight"] / total
                if pooled:
                    vote = ONE if vote > 0 else ZERO
                votes[task["id"], trial["trial"], criterion["id"]] = vote
    whole = sum(votes.values(), ZERO)
    return {key: vote / whole if whole else ZERO for key, vote in votes.items()}


def pooled_mean(
    suite: dict[str, Any], tasks: list[dict[str, Any]], chosen: Chosen, reading: Reading
) -> Fraction | None:
    """One vote for each check that votes at all: weight 0 of a criterion, task or group is no vote (R6)."""
    weights = task_weights(suite, tasks)
    values = []
    for task in tasks:
        for trial in task["counted"]:
            for criterion in task["criteria"]:
                value = reading(trial["verdicts"][criterion["id"]])
                if (
                    chosen(criterion)
                    and value is not None
                    and criterion["weight"] > 0
                    and weights[task["id"]] > 0
                ):
                    values.append((ONE, value))
    return weighted_mean(values)


def graded_by_votes(
    tasks: list[dict[str, Any]], votes: dict[tuple[str, int | None, str], Fraction]
) -> Fraction | None:
    """The other reading of `graded_mean` (R4): graded verdicts with their effective votes, renormalised."""
    pairs = []
    for task in tasks:
        for trial in task["counted"]:
            for name, verdict in trial["verdicts"].items():
                key = (task["id"], trial["trial"], name)
                if verdict["score"] is not None and key in votes:
                    pairs.append((votes[key], verdict["score"]))
    return weighted_mean(pairs)


def wilson(share: Fraction, n: int) -> tuple[float, float]:
    p, z2 = float(share), Z95 * Z95
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def interval(
    suite: dict[str, Any], tasks: list[dict[str, Any]], lows: dict[str, Any], highs: dict[str, Any]
) -> dict[str, Any] | None:
    """Wilson where every task score is 0 or 1 and all votes are equal; None: no opinion."""
    present = [task for task in tasks if lows[task["id"]] is not None]
    weights = set(task_weights(suite, present).values())
    if (
        len(present) < 2
        or len(weights) != 1
        or ZERO in weights
        or suite.get("clusters")
        or suite.get("weights")
    ):
        return None
    scores = [(lows[task["id"]], highs[task["id"]]) for task in present]
    if any(score not in (0, 1) for pair in scores for score in pair):
        return None
    n = len(scores)
    low = wilson(Fraction(sum(pair[0] for pair in scores), n), n)[0]
    high = wilson(Fraction(sum(pair[1] for pair in scores), n), n)[1]
    return {"low": low, "high": high, "method": "wilson"}


# --- the table ----------------------------------------------------------------------------------------------


def averages(suite: dict[str, Any], tasks: list[dict[str, Any]], chosen: Chosen) -> dict[str, Any]:
    """task_average, pooled and coverage of one dimension or layer."""
    assigned_tasks = [task for task in tasks if any(chosen(c) for c in task["criteria"])]
    if not assigned_tasks:
        nothing = {
            "value": None,
            "low": None,
            "high": None,
            "graded_mean": None,
            "n_verdicts": 0,
            "assigned": 0,
            "n_tasks": 0,
        }
        return {
            "task_average": dict(nothing),
            "pooled": dict(nothing),
            "coverage": {"tasks": 0, "of": len(tasks)},
        }
    assigned = graded = 0
    for task in assigned_tasks:
        for trial in task["counted"]:
            for criterion in task["criteria"]:
                if chosen(criterion):
                    assigned += 1
                    graded += trial["verdicts"][criterion["id"]]["status"] == "graded"
    lows = {task["id"]: task_mean(task, chosen, low_of) for task in assigned_tasks}
    highs = {task["id"]: task_mean(task, chosen, high_of) for task in assigned_tasks}
    gradeds = {task["id"]: task_mean(task, chosen, graded_of) for task in assigned_tasks}
    counts = {
        "n_verdicts": graded,
        "assigned": assigned,
        "n_tasks": sum(low is not None for low in lows.values()),
    }

    def average(
        low: Fraction | None, high: Fraction | None, graded_mean: Fraction | None, pooled: bool
    ) -> dict[str, Any]:
        if low is None or high is None:
            low, high, value = ZERO, ONE, None
        else:
            value = low if graded else None
        by_votes = graded_by_votes(assigned_tasks, votes_of(suite, assigned_tasks, chosen, pooled))
        return {
            "value": value,
            "low": low,
            "high": high,
            "graded_mean": graded_mean,
            "graded_mean_by_votes": by_votes,
            **counts,
        }

    task_average = average(
        suite_mean(suite, assigned_tasks, lows),
        suite_mean(suite, assigned_tasks, highs),
        suite_mean(suite, assigned_tasks, gradeds),
        False,
    )
    task_average["ci"] = interval(suite, assigned_tasks, lows, highs)
    pooled = average(
        pooled_mean(suite, assigned_tasks, chosen, low_of),
        pooled_mean(suite, assigned_tasks, chosen, high_of),
        pooled_mean(suite, assigned_tasks, chosen, graded_of),
        True,
    )
    return {
        "task_average": task_average,
        "pooled": pooled,
        "coverage": {"tasks": len(assigned_tasks), "of": len(tasks)},
    }


def in_dimension(name: str) -> Chosen:
    return lambda criterion: criterion["dimension"] == name


def in_layer(name: str) -> Chosen:
    return lambda criterion: criterion["layer"] == name
