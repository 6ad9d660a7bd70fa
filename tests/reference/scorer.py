"""Reference of the scoring algebra: naive, exact, and written from the published rules alone.

It exists to disagree with the product. Everything is a `Fraction`, every average is the nested mean that
the rules describe, and votes are computed a second way (multiplied down the levels), so that the two can be
checked against each other. Where the rules leave room, the reading taken has a number (R1, R2, ...) in
README.md. records.py decides each verdict, averages.py averages, this file makes the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from tests.reference.averages import (
    averages,
    high_of,
    in_dimension,
    in_layer,
    interval,
    low_of,
    suite_mean,
    task_mean,
    votes_of,
)
from tests.reference.records import (
    LAYERS,
    STATUSES,
    ZERO,
    InvalidSuite,
    build_trials,
    exact_number,
    read_suite,
    sort_rows,
)


def conversations(task: dict[str, Any]) -> list[dict[str, Any]]:
    """The counted trials without the placeholder of an only-faulted task, which nobody held (R8)."""
    return [trial for trial in task["counted"] if trial is not task["held"]]


def completion_of_task(task: dict[str, Any]) -> dict[str, Any]:
    n = len(task["counted"])
    real = conversations(task)
    complete = sum(trial["complete"] for trial in real)
    return {
        "value": Fraction(sum(trial["complete"] for trial in task["counted"]), n),
        "low": Fraction(sum(trial["complete"] for trial in task["counted"]), n),
        "high": Fraction(sum(trial["possible"] for trial in task["counted"]), n),
        "trials": {"complete": complete, "of": len(real)},
        "always": bool(real) and complete == len(real),
    }


def completion(suite: dict[str, Any], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    each = {task["id"]: completion_of_task(task) for task in tasks}
    lows = {name: one["low"] for name, one in each.items()}
    highs = {name: one["high"] for name, one in each.items()}
    low, high = suite_mean(suite, tasks, lows), suite_mean(suite, tasks, highs)
    if low is None or high is None:
        raise InvalidSuite("every task has weight 0")
    return {
        "value": low,
        "low": low,
        "high": high,
        "ci": interval(suite, tasks, lows, highs),
        "trials": {
            "complete": sum(one["trials"]["complete"] for one in each.values()),
            "of": sum(one["trials"]["of"] for one in each.values()),
        },
        "tasks": {"always_complete": sum(one["always"] for one in each.values()), "of": len(tasks)},
    }


def pass_k(tasks: list[dict[str, Any]], hat: bool) -> dict[str, Any]:
    """pass^k (hat) or pass@k for k = 1 .. largest n + 1; a plain mean over the tasks with n >= k (R9)."""
    table = {}
    largest = max(len(conversations(task)) for task in tasks)
    for k in range(1, largest + 2):
        values = []
        for task in tasks:
            n = len(conversations(task))
            c = sum(trial["complete"] for trial in conversations(task))
            if n >= k:
                hits = math.comb(c, k) if hat else math.comb(n, k) - math.comb(n - c, k)
                values.append(Fraction(hits, math.comb(n, k)))
        mean = sum(values, ZERO) / len(values) if values else None
        table[str(k)] = {"value": mean, "n_tasks": len(values)}
    return table


def pass_rate(tasks: list[dict[str, Any]]) -> dict[str, Any]:
    real = [trial for task in tasks for trial in conversations(task)]
    faulted = sum(bool(trial["fault"]) for task in tasks for trial in task["trials"])
    complete, possible = sum(t["complete"] for t in real), sum(t["possible"] for t in real)
    of = len(real)
    return {
        "value": Fraction(complete, of) if of else None,
        "low": Fraction(complete, of) if of else None,
        "high": Fraction(possible, of) if of else None,
        "complete": complete,
        "of": of,
        "with_faults_as_failures": Fraction(complete, of + faulted) if of + faulted else None,
    }


def exit_code(suite: dict[str, Any], tasks: list[dict[str, Any]], table: dict[str, Any]) -> int:
    primary = suite.get("primary", "completion")
    if primary == "completion":
        low, high = table["completion"]["low"], table["completion"]["high"]
    else:
        name = primary.removeprefix("dimension:")
        if name not in table["dimensions"]:
            raise InvalidSuite(f"primary: no task assigns {name}")
        average = table["dimensions"][name]["task_average"]
        low, high = average["low"], average["high"]
    bar = exact_number(suite.get("at_least", 1))
    if bar is None or not 0 <= bar <= 1:
        raise InvalidSuite("at_least is a number in 0..1")
    gates = []
    for task in tasks:
        for criterion in task["criteria"]:
            if criterion["gate"]:
                gates += [trial["verdicts"][criterion["id"]] for trial in task["counted"]]
    if any(gate["status"] == "graded" and gate["fate"] == "fail" for gate in gates) or high < bar:
        return 1
    if all(gate["fate"] == "pass" for gate in gates) and low >= bar:
        return 0
    return 3


def trial_table(
    task: dict[str, Any], trial: dict[str, Any], votes: dict[str, dict[Any, Fraction]]
) -> dict[str, Any]:
    faulted = bool(trial["fault"])
    criteria = []
    for criterion in task["criteria"]:
        verdict = trial["verdicts"][criterion["id"]]
        key = (task["id"], trial["trial"], criterion["id"])
        own = {}
        for average in ("task_average", "pooled"):
            name = f"{criterion['dimension']}.{average}"
            own[name] = ZERO if faulted else votes[name].get(key, ZERO)
        criteria.append(
            {"id": criterion["id"], "status": verdict["status"], "score": verdict["score"], "votes": own}
        )
    return {
        "trial": trial["trial"],
        "ended_by": trial["ended_by"],
        "fault": trial["fault"],
        "placeholder": trial is task["held"],
        "complete": None if faulted else trial["complete"],
        "possibly_complete": None if faulted else trial["possible"],
        "criteria": criteria,
    }


def task_table(task: dict[str, Any], votes: dict[str, dict[Any, Fraction]]) -> dict[str, Any]:
    table: dict[str, Any] = {"id": task["id"], "completion": completion_of_task(task), "dimensions": {}}
    for dimension in sorted({c["dimension"] for c in task["criteria"]}):
        inside = in_dimension(dimension)
        low, high = task_mean(task, inside, low_of), task_mean(task, inside, high_of)
        table["dimensions"][dimension] = {"low": low, "high": high}
    table["trials"] = [trial_table(task, trial, votes) for trial in task["trials"]]
    return table


def score(suite: dict[str, Any], rows: Iterable[dict[str, Any]], exact: bool = False) -> dict[str, Any]:
    """The score table of a suite (plain JSON types) and its verdict and trial rows.

    Numbers are floats, or Fractions with `exact=True`; undefined ones are None. Raises InvalidSuite.
    """
    tasks = read_suite(suite)
    verdict_rows, trial_rows, notices = sort_rows(tasks, rows)
    for task in tasks:
        build_trials(task, verdict_rows, trial_rows)
    names = sorted({c["dimension"] for task in tasks for c in task["criteria"]})
    votes = {}
    for name in names:
        votes[f"{name}.task_average"] = votes_of(suite, tasks, in_dimension(name), pooled=False)
        votes[f"{name}.pooled"] = votes_of(suite, tasks, in_dimension(name), pooled=True)
    counted = [trial for task in tasks for trial in task["counted"]]
    every = [trial for task in tasks for trial in task["trials"]]
    statuses = [verdict["status"] for trial in counted for verdict in trial["verdicts"].values()]
    table: dict[str, Any] = {
        "primary": suite.get("primary", "completion"),
        "dimensions": {name: averages(suite, tasks, in_dimension(name)) for name in names},
        "layers": {name: averages(suite, tasks, in_layer(name)) for name in LAYERS},
        "completion": completion(suite, tasks),
        "pass_hat_k": pass_k(tasks, hat=True),
        "pass_at_k": pass_k(tasks, hat=False),
        "pass_rate": pass_rate(tasks),
        "states": {status: statuses.count(status) for status in STATUSES},
        "faults": {
            kind: sum(trial["fault"] == kind for trial in every) for kind in ("infrastructure", "simulator")
        },
        "tasks": [task_table(task, votes) for task in tasks],
        "notices": notices,
    }
    table["exit_code"] = exit_code(suite, tasks, table)
    return table if exact else floats(table)


def floats(value: Any) -> Any:
    """The same structure with every Fraction as a float."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, dict):
        return {key: floats(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [floats(entry) for entry in value]
    return value
