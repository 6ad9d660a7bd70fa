"""First part of the reference: suite and rows become trials, with a verdict for each assigned criterion."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

ZERO, ONE = Fraction(0), Fraction(1)
DEFAULT_LAYER = {
    "correctness": "outcome",
    "grounding": "process",
    "authority": "risk",
    "process": "process",
    "efficiency": "efficiency",
}
LAYERS = ("outcome", "process", "efficiency", "risk")
FAULTS = {"infrastructure_fault": "infrastructure", "simulator_fault": "simulator"}
ENDED_WELL = ("agent_stop", "user_stop")
STATUSES = ("graded", "unknown", "error", "skipped")


class InvalidSuite(ValueError):
    """The suite is an error of the standard: there is nothing to score."""


# --- numbers ------------------------------------------------------------------------------------------------


def exact_number(value: Any) -> Fraction | None:
    """A JSON number exactly as written (0.7 is 7/10); None for anything else, and for non-finite ones."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(repr(value))
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    return None


def weight_of(owner: dict[str, Any], where: str) -> Fraction:
    weight = exact_number(owner.get("weight", 1))
    if weight is None or weight < 0:
        raise InvalidSuite(f"{where}: a weight is a finite number, 0 or more")
    return weight


# --- the suite ----------------------------------------------------------------------------------------------


def read_criterion(raw: dict[str, Any], where: str) -> dict[str, Any]:
    dimension = raw["dimension"]
    layer = raw.get("layer", DEFAULT_LAYER.get(dimension))
    if layer not in LAYERS:
        raise InvalidSuite(f"{where}: dimension {dimension} has no default layer")
    pass_mark = exact_number(raw.get("pass_mark", 1))
    if pass_mark is None or not 0 <= pass_mark <= 1:
        raise InvalidSuite(f"{where}: pass mark off the scale")
    return {
        "id": raw["id"],
        "dimension": dimension,
        "layer": layer,
        "weight": weight_of(raw, where),
        "pass_mark": pass_mark,
        "gate": raw.get("gate", False),
        "needs": list(raw.get("needs", [])),
    }


def acceptance_rule(raw: dict[str, Any], criteria: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Ids of the criteria that completion requires, and the accepted ways to end. Absent keys: R1."""
    rule = raw.get("complete_when") or {}
    dimensions = rule.get("dimensions", ["correctness"])
    named = rule.get("criteria", [])
    gates = rule.get("gates", True)
    required = []
    for criterion in criteria:
        inside = (
            criterion["dimension"] in dimensions or criterion["id"] in named or (gates and criterion["gate"])
        )
        if inside and criterion["pass_mark"] > 0:
            required.append(criterion["id"])
    if not required:
        raise InvalidSuite(f"task {raw['id']}: the acceptance rule names no criterion")
    return required, list(rule.get("ended_by", ENDED_WELL))


def read_task(raw: dict[str, Any]) -> dict[str, Any]:
    criteria: list[dict[str, Any]] = []
    for entry in raw["criteria"]:
        criterion = read_criterion(entry, f"{raw['id']}/{entry['id']}")
        earlier = [other["id"] for other in criteria]
        if criterion["id"] in earlier:
            raise InvalidSuite(f"{raw['id']}/{criterion['id']}: declared twice")
        if any(need not in earlier for need in criterion["needs"]):
            raise InvalidSuite(f"{raw['id']}/{criterion['id']}: needs must be earlier criteria")
        criteria.append(criterion)
    if not criteria:
        raise InvalidSuite(f"task {raw['id']} has no criteria")
    for dimension in {c["dimension"] for c in criteria}:
        if sum(c["weight"] for c in criteria if c["dimension"] == dimension) == 0:
            raise InvalidSuite(f"task {raw['id']}: every weight in {dimension} is 0")
    required, ended_by = acceptance_rule(raw, criteria)
    planned = raw.get("trials", 0)
    if "trials" in raw and planned < 1:
        raise InvalidSuite(f"task {raw['id']}: trials must be 1 or more")
    return {
        "id": raw["id"],
        "criteria": criteria,
        "weight": weight_of(raw, raw["id"]),
        "planned": planned,
        "tags": raw.get("tags", {}),
        "required": required,
        "ended_by": ended_by,
    }


def read_suite(suite: dict[str, Any]) -> list[dict[str, Any]]:
    tasks = [read_task(raw) for raw in suite.get("tasks", [])]
    if not tasks:
        raise InvalidSuite("the suite has no tasks")
    if len({task["id"] for task in tasks}) != len(tasks):
        raise InvalidSuite("two tasks have the same id")
    weights = suite.get("weights")
    if weights:
        for task in tasks:
            if task["tags"].get(weights["by"]) not in weights["shares"]:
                raise InvalidSuite(f"task {task['id']} is in no declared group")
    return tasks


# --- rows ---------------------------------------------------------------------------------------------------


def same_json(left: Any, right: Any) -> bool:
    """Equal as JSON: 1 equals 1.0, never true."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same_json(a, b) for a, b in zip(left, right, strict=True))
    a, b = exact_number(left), exact_number(right)
    if a is not None and b is not None:
        return a == b
    return type(left) is type(right) and bool(left == right)


def sort_rows(
    tasks: list[dict[str, Any]], rows: Iterable[dict[str, Any]]
) -> tuple[dict[tuple[str, int, str], list[Any]], dict[tuple[str, int], list[Any]], list[str]]:
    """Verdict rows by (task, trial, criterion), trial rows by (task, trial), and notices."""
    criteria_of = {task["id"]: [c["id"] for c in task["criteria"]] for task in tasks}
    verdict_rows: dict[tuple[str, int, str], list[Any]] = {}
    trial_rows: dict[tuple[str, int], list[Any]] = {}
    notices: list[str] = []
    for raw in rows:
        row = dict(raw)
        task, trial = row.get("task"), row.pop("trial", 1)
        criterion: Any = row.pop("criterion", row.get("rubric_id"))
        row.pop("rubric_id", None)
        if not isinstance(task, str) or task not in criteria_of:
            notices.append(f"row of an unknown task: {task}")
        elif isinstance(trial, bool) or not isinstance(trial, int) or trial < 1:
            notices.append(f"row of {task} without a usable trial number")
        elif criterion is None:
            trial_rows.setdefault((task, trial), []).append(row)
        elif criterion not in criteria_of[task]:
            notices.append(f"row of an unknown criterion: {task}/{criterion}")
        else:
            verdict_rows.setdefault((task, trial, criterion), []).append(row)
    for key, group in verdict_rows.items():
        if len(group) > 1:
            notices.append(f"{len(group)} rows for {key}")
    return verdict_rows, trial_rows, sorted(notices)


def recorded_state(rows: list[dict[str, Any]]) -> tuple[str, Fraction | None]:
    """(status, score) as the rows of one criterion say; no, contradicting or malformed rows: an error."""
    if not rows or not all(same_json(rows[0], other) for other in rows):
        return "error", None
    row = rows[0]
    status, score = row.get("status"), row.get("score")
    if status not in STATUSES:
        return "error", None
    if status != "graded":
        return (status, None) if score is None else ("error", None)
    value = exact_number(score)
    if value is None or not 0 <= value <= 1:
        return "error", None
    judged = any(grader.get("kind") == "judge" for grader in row.get("graders") or [])
    if judged and value not in (0, 1):
        return "error", None
    return "graded", value


def verdict_of(
    criterion: dict[str, Any], rows: list[Any], before: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """The verdict after `needs`: `fate` is pass, fail or undecided; `low` and `high` None leave the mean."""
    status, value = recorded_state(rows)
    failing = [before[need] for need in criterion["needs"] if before[need]["fate"] != "pass"]
    if failing:
        decided = all(needed["fate"] == "fail" for needed in failing)
        if not decided:
            return {"status": "skipped", "score": None, "fate": "undecided", "low": ZERO, "high": ONE}
        earns = ZERO if criterion["dimension"] == "correctness" else None
        return {"status": "skipped", "score": None, "fate": "fail", "low": earns, "high": earns}
    if status == "skipped" and not criterion["needs"]:
        status = "error"
    if status != "graded":
        return {"status": status, "score": None, "fate": "undecided", "low": ZERO, "high": ONE}
    assert value is not None
    fate = "pass" if value >= criterion["pass_mark"] else "fail"
    return {"status": "graded", "score": value, "fate": fate, "low": value, "high": value}


# --- trials -------------------------------------------------------------------------------------------------


def ending(rows: list[dict[str, Any]]) -> str | None:
    ends = {row.get("ended_by") for row in rows}
    if len(ends) > 1:
        return "conflicting"
    return ends.pop() if ends else None


def build_trial(
    task: dict[str, Any], number: int | None, rows: dict[Any, list[Any]], ended_by: str | None
) -> dict[str, Any]:
    verdicts: dict[str, dict[str, Any]] = {}
    for criterion in task["criteria"]:
        own = rows.get((task["id"], number, criterion["id"]), [])
        verdicts[criterion["id"]] = verdict_of(criterion, own, verdicts)
    fates = [verdicts[name]["fate"] for name in task["required"]]
    ended_well = ended_by is None or ended_by in task["ended_by"]
    return {
        "trial": number,
        "ended_by": ended_by,
        "fault": FAULTS.get(ended_by or ""),
        "verdicts": verdicts,
        "complete": ended_well and all(fate == "pass" for fate in fates),
        "possible": ended_well and all(fate != "fail" for fate in fates),
    }


def build_trials(
    task: dict[str, Any],
    verdict_rows: dict[tuple[str, int, str], list[Any]],
    trial_rows: dict[tuple[str, int], list[Any]],
) -> None:
    """Adds `trials` (all), `counted` (those that vote), `held` (placeholder of an only-faulted task)."""
    numbers = set(range(1, task["planned"] + 1))
    numbers |= {trial for name, trial, _ in verdict_rows if name == task["id"]}
    numbers |= {trial for name, trial in trial_rows if name == task["id"]}
    if not numbers:
        numbers = {1}
    task["trials"] = []
    for number in sorted(numbers):
        ended_by = ending(trial_rows.get((task["id"], number), []))
        task["trials"].append(build_trial(task, number, verdict_rows, ended_by))
    task["counted"] = [trial for trial in task["trials"] if not trial["fault"]]
    task["held"] = None
    if not task["counted"]:
        task["held"] = build_trial(task, None, {}, None)
        task["trials"].append(task["held"])
        task["counted"] = [task["held"]]
