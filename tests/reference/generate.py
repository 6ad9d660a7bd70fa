"""Random suites and rows for comparing two scorers: wild, but every suite is a complete, valid suite file.

    python -m tests.reference.generate OUTDIR N SEED [--without FEATURE,FEATURE] [--plain] [--nan-token]

writes OUTDIR/0000/suite.json, rows.jsonl and expected.json (what the reference makes of them).
FEATURES are the places where the rules leave room, or where a product may rightly refuse the input;
`--plain` switches all of them off, so that every remaining difference is a plain defect of one side
(graded_mean excepted, see R4 in README.md).
"""

from __future__ import annotations

import argparse
import json
import math
import random
from pathlib import Path
from typing import Any

from tests.reference.scorer import score

FEATURES = (
    "zero_criterion_weight",  # a criterion that is shown and has no vote
    "zero_task_weight",  # a task that has no vote; sometimes every task of a dimension
    "auxiliary_needs",  # needs in auxiliary dimensions: a skip by a graded fail leaves the mean
    "report_only_needs",  # needs on a criterion of pass mark 0
    "missing_trials",  # declared trials without any row
    "extra_trials",  # more trials in the rows than declared
    "only_faulted",  # tasks whose every trial was faulted
    "faulted_rows",  # verdict rows in faulted trials
    "wild_scores",  # NaN, infinity, out of range, text, bool, list, null
    "bare_skips",  # rows recorded as skipped, with and without needs
    "stray_scores",  # a score on a row that is not graded
    "malformed_status",  # a status outside the four, or none
    "judge_fractions",  # a fraction from a judge
    "conflicts",  # two different rows for one criterion
    "reason_conflicts",  # two rows that differ in their reason only
    "unknown_rows",  # rows of tasks and criteria that the suite does not have
    "partial_rules",  # complete_when with some keys absent
    "ended_by_rules",  # complete_when.ended_by
    "all_missing",  # a task without any row
)
BUILT_IN = ("correctness", "authority", "process")
CUSTOM = {"tone": "outcome", "thrift": "efficiency", "care": "risk"}
DEFINITIONS = {
    "grounding": "Factual statements are supported by records the agent obtained.",
    "tone": "The answer is polite.",
    "thrift": "The agent takes no needless step.",
    "care": "The agent warns before a step that cannot be undone.",
}
WEIGHTS = (0.1, 0.5, 0.7, 1, 1, 1.0, 2, 3, 2.5)
PASS_MARKS = (0, 0.5, 0.7, 1)
SCORES = (0, 0, 1, 1, 1.0, 0.0, 0.5, 0.7, 0.8, 0.25, 0.3333333333333333, 0.69999, 0.1, 0.9999999999999999)
WILD = (
    math.nan,
    math.inf,
    -math.inf,
    -0.1,
    1.0000001,
    2,
    -1,
    "1",
    "4/5",
    "NaN",
    "",
    True,
    False,
    None,
    [1],
    {"score": 1},
)
ENDINGS = ("agent_stop", "user_stop", "max_turns", "agent_error", None)
FAULT_ENDINGS = ("infrastructure_fault", "simulator_fault")


class Case:
    """One draw: the random source, the switched-off features, and how noisy this case is."""

    def __init__(self, rng: random.Random, without: frozenset[str]) -> None:
        unknown = without - set(FEATURES)
        if unknown:
            raise ValueError(f"no such feature: {sorted(unknown)}")
        self.rng = rng
        self.without = without
        self.noise = rng.choice((0.0, 0.1, 0.3, 0.6))
        self.quality = rng.choice((0.2, 0.6, 0.9, 1.0))

    def chance(self, probability: float, feature: str | None = None) -> bool:
        """True with this probability, never where the feature is off."""
        return self.rng.random() < probability and feature not in self.without


def random_case(
    rng: random.Random, without: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A valid suite and its rows, as decoded JSON. Same state of `rng`, same case."""
    case = Case(rng, without)
    suite = random_suite(case)
    rows = [row for task in suite["tasks"] for row in task_rows(case, task)]
    if not any(row.get("status") == "graded" for row in rows):
        first = suite["tasks"][0]
        rows = [row for row in rows if row["task"] != first["id"]]
        for number in range(1, first.get("trials", 1) + 1):
            rows += [verdict_row(case, first["id"], number, c["id"], 1) for c in first["criteria"]]
    rng.shuffle(rows)
    return suite, rows


# --- suites -------------------------------------------------------------------------------------------------


def random_suite(case: Case) -> dict[str, Any]:
    rng = case.rng
    suite: dict[str, Any] = {
        "schema": "suite/1",
        "name": f"random-{rng.randrange(10**6)}",
        "owner": "jo@example.com",
    }
    if case.chance(0.3):
        suite["version"] = "1.0"
    names = rng.sample(
        ["checkout", "lookup", "csv", "refund", "42", "état", "a b", "reset"], rng.randint(1, 6)
    )
    suite["tasks"] = [random_task(case, name) for name in names]
    used = sorted({c["dimension"] for task in suite["tasks"] for c in task["criteria"]})
    declared = {name: {"definition": DEFINITIONS[name]} for name in used if name in DEFINITIONS}
    if declared:
        suite["dimensions"] = declared
    scheme = rng.choice(("none", "task", "tag"))
    if scheme == "task":
        add_task_weights(case, suite["tasks"])
    if scheme == "tag":
        suite["weights"] = add_tag_weights(case, suite["tasks"])
    if case.chance(0.2):
        suite["clusters"] = "customer"
        for task in suite["tasks"]:
            task.setdefault("tags", {})["customer"] = rng.choice(("acme", "bolt"))
    if case.chance(0.6):
        suite["primary"] = rng.choice(["completion", *(f"dimension:{name}" for name in used)])
    if case.chance(0.6):
        suite["at_least"] = rng.choice((0.1, 0.5, 0.7, 0.95, 1))
    return suite


def add_task_weights(case: Case, tasks: list[dict[str, Any]]) -> None:
    for task in tasks:
        if case.chance(0.8):
            task["weight"] = 0 if case.chance(0.25, "zero_task_weight") else case.rng.choice(WEIGHTS)
    if all(task.get("weight", 1) == 0 for task in tasks):
        tasks[0]["weight"] = 2


def add_tag_weights(case: Case, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    groups = ["diagnosis", "lookup", "repair"][: case.rng.randint(1, 3)]
    for task in tasks:
        task.setdefault("tags", {})["kind"] = case.rng.choice(groups)
    present = sorted({task["tags"]["kind"] for task in tasks})
    cuts = sorted(case.rng.sample(range(1, 100), len(present) - 1))
    edges = [0, *cuts, 100]
    shares = {group: (edges[place + 1] - edges[place]) / 100 for place, group in enumerate(present)}
    return {"by": "kind", "shares": shares, "basis": "traffic", "source": "May logs"}


def random_task(case: Case, name: str) -> dict[str, Any]:
    rng = case.rng
    task: dict[str, Any] = {"id": name, "prompt": f"Do the {name} task."}
    if case.chance(0.5):
        task["trials"] = rng.randint(1, 3)
    if case.chance(0.3):
        task["tags"] = {"colour": rng.choice(("red", "blue"))}
    auxiliary = rng.sample(["grounding", "authority", "process", *CUSTOM], rng.randint(0, 2))
    dimensions = ["correctness", *auxiliary] if case.chance(0.85) or not auxiliary else auxiliary
    criteria: list[dict[str, Any]] = []
    for place in range(rng.randint(1, 5)):
        criteria.append(random_criterion(case, f"C{place + 1}", rng.choice(dimensions), criteria))
    fix_weights(criteria)
    task["criteria"] = criteria
    add_rule(case, task)
    return task


def random_criterion(case: Case, name: str, dimension: str, before: list[dict[str, Any]]) -> dict[str, Any]:
    rng = case.rng
    criterion: dict[str, Any] = {
        "id": name,
        "dimension": dimension,
        "rule": f"The result MUST satisfy {name}.",
        "check": {"kind": "recorded"},
    }
    if dimension in CUSTOM:
        criterion["layer"] = CUSTOM[dimension]
    elif case.chance(0.2):
        criterion["layer"] = rng.choice(("outcome", "process", "efficiency", "risk"))
    if case.chance(0.5):
        zero = case.chance(0.3, "zero_criterion_weight")
        criterion["weight"] = 0 if zero else rng.choice(WEIGHTS)
    if case.chance(0.5):
        criterion["pass_mark"] = rng.choice(PASS_MARKS)
    if criterion.get("pass_mark", 1) > 0 and case.chance(0.6 if dimension == "authority" else 0.1):
        criterion["gate"] = True
    possible = [
        c["id"] for c in before if c.get("pass_mark", 1) > 0 or "report_only_needs" not in case.without
    ]
    feature = None if dimension == "correctness" else "auxiliary_needs"
    if possible and case.chance(0.4, feature):
        criterion["needs"] = rng.sample(possible, rng.randint(1, min(2, len(possible))))
    return criterion


def fix_weights(criteria: list[dict[str, Any]]) -> None:
    """No dimension of a task may have weight 0 only."""
    for dimension in {c["dimension"] for c in criteria}:
        inside = [c for c in criteria if c["dimension"] == dimension]
        if all(c.get("weight", 1) == 0 for c in inside):
            inside[0]["weight"] = 1


def add_rule(case: Case, task: dict[str, Any]) -> None:
    """A complete_when that names something; absent only where the default rule does."""
    rng, criteria = case.rng, task["criteria"]
    if all(c.get("pass_mark", 1) == 0 for c in criteria):
        criteria[0]["pass_mark"] = 0.5
    by_default = any(voting(c) and (c["dimension"] == "correctness" or c.get("gate")) for c in criteria)
    if by_default and case.chance(0.6):
        return
    named = [c["id"] for c in criteria if voting(c)]
    dimensions = sorted({c["dimension"] for c in criteria if voting(c)})
    rule: dict[str, Any] = {
        "dimensions": rng.sample(dimensions, rng.randint(1, len(dimensions))),
        "gates": rng.choice((True, False)),
    }
    if case.chance(0.4):
        rule["criteria"] = rng.sample(named, rng.randint(1, len(named)))
    if case.chance(0.3, "ended_by_rules"):
        rule["ended_by"] = rng.sample(
            ["agent_stop", "user_stop", "max_turns", "agent_error"], rng.randint(1, 3)
        )
    if case.chance(0.3, "partial_rules"):
        rule.pop(rng.choice(("dimensions", "gates")))
        if "dimensions" not in rule and not any(
            voting(c) and c["dimension"] == "correctness" for c in criteria
        ):
            rule["criteria"] = [rng.choice(named)]
    task["complete_when"] = rule


def voting(criterion: dict[str, Any]) -> bool:
    return bool(criterion.get("pass_mark", 1) > 0)


# --- rows ---------------------------------------------------------------------------------------------------


def task_rows(case: Case, task: dict[str, Any]) -> list[dict[str, Any]]:
    rng = case.rng
    if case.chance(0.1 * case.noise, "all_missing"):
        return []
    planned = task.get("trials", rng.randint(1, 3))
    numbers = list(range(1, planned + 1))
    if "trials" in task and case.chance(0.1, "extra_trials"):
        numbers.append(planned + rng.randint(1, 2))
    if "trials" in task and case.chance(0.5 * case.noise, "missing_trials"):
        numbers.remove(rng.choice(numbers))
    only_faulted = case.chance(0.3 * case.noise, "only_faulted")
    rows: list[dict[str, Any]] = []
    healthy = rng.choice(numbers) if numbers else None
    for number in numbers:
        fault = only_faulted or (number != healthy and case.chance(0.4 * case.noise))
        rows += trial_rows(case, task, number, fault)
    if numbers and case.chance(0.1, "unknown_rows"):
        rows.append(verdict_row(case, "no-such-task", 1, "C1", 1))
        rows.append(verdict_row(case, task["id"], healthy or 1, "C99", 0))
    return rows


def trial_rows(case: Case, task: dict[str, Any], number: int, fault: bool) -> list[dict[str, Any]]:
    rng = case.rng
    rows: list[dict[str, Any]] = []
    says = fault or case.chance(0.6)
    if says:
        well = rng.choice(("agent_stop", "user_stop"))
        ended_by: str | None = rng.choice(FAULT_ENDINGS) if fault else well
        if not fault and case.chance(0.3):
            ended_by = rng.choice(ENDINGS)
        row: dict[str, Any] = {"task": task["id"], "trial": number}
        if ended_by is not None or case.chance(0.5):
            row["ended_by"] = ended_by
        if case.chance(0.4):
            row["measurements"] = {"seconds": rng.choice((1.5, 41.2)), "tool_calls": rng.randint(0, 9)}
        rows.append(row)
        if case.chance(0.1):
            rows.append(dict(row))
    if fault and ("faulted_rows" in case.without or case.chance(0.5)):
        return rows
    verdicts: list[dict[str, Any]] = []
    for criterion in task["criteria"]:
        verdicts += criterion_rows(case, task["id"], number, criterion)
    if not rows and not verdicts:
        rows.append({"task": task["id"], "trial": number})
    return rows + verdicts


def criterion_rows(case: Case, task: str, number: int, criterion: dict[str, Any]) -> list[dict[str, Any]]:
    """None, one or several rows of one criterion in one trial."""
    rng, name = case.rng, criterion["id"]
    value = rng.choice((1, 1, 1.0, 1, 0.8)) if case.chance(case.quality) else rng.choice(SCORES)
    row = verdict_row(case, task, number, name, value)
    if case.chance(case.noise):
        spoiled = spoil(case, row)
        if spoiled is None:
            return []
        row = spoiled
    rows = [row]
    if case.chance(0.3 * case.noise):
        rows.append(dict(row))
    if case.chance(0.15 * case.noise, "conflicts"):
        other = dict(row)
        other.update({"status": "graded", "score": rng.choice((0.123, 0.45))})
        rows.append(other)
    if case.chance(0.05 * case.noise, "reason_conflicts"):
        rows.append({**row, "reason": "on second thoughts"})
    return rows


def spoil(case: Case, row: dict[str, Any]) -> dict[str, Any] | None:
    """The row in a state other than a clean grade; None is a missing row."""
    rng = case.rng
    kind = rng.choice(("missing", "unknown", "error", "skipped", "wild", "stray", "status", "judge"))
    plain = {key: value for key, value in row.items() if key != "score"}
    if kind == "missing":
        return None
    if kind == "skipped" and case.chance(1, "bare_skips"):
        return {**plain, "status": "skipped"}
    if kind == "wild" and case.chance(1, "wild_scores"):
        return {**row, "score": rng.choice(WILD)}
    if kind == "stray" and case.chance(1, "stray_scores"):
        return {**row, "status": rng.choice(("unknown", "error", "skipped"))}
    if kind == "status" and case.chance(1, "malformed_status"):
        return {**row, "status": rng.choice(("pass", "GRADED", "", None))}
    if kind == "judge" and case.chance(1, "judge_fractions"):
        grader = {"kind": "judge", "setup": "default", "version": "1", "hash": "0" * 64}
        return {**row, "graders": [grader], "score": rng.choice((0, 1, 0.5))}
    return {**plain, "status": "error" if kind == "error" else "unknown"}


def verdict_row(case: Case, task: str, number: int, criterion: str, value: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"task": task, "criterion": criterion, "status": "graded", "score": value}
    row["reason"] = "drawn at random"
    if number != 1 or case.chance(0.7):
        row["trial"] = number
    if case.chance(0.1):
        row["rubric_id"] = row.pop("criterion")
    return row


# --- files --------------------------------------------------------------------------------------------------


def row_line(row: dict[str, Any], nan_token: bool = False) -> str:
    """One line of strict JSON: infinity is written as 1e999, NaN as text (a bare token with `nan_token`)."""
    value = row.get("score")
    if isinstance(value, float) and not math.isfinite(value):
        written = {math.inf: "1e999", -math.inf: "-1e999"}.get(value, "NaN" if nan_token else '"NaN"')
        rest = json.dumps({key: entry for key, entry in row.items() if key != "score"}, allow_nan=False)
        return f'{rest[:-1]}, "score": {written}}}'
    return json.dumps(row, allow_nan=False)


def write_case(
    folder: Path, suite: dict[str, Any], rows: list[dict[str, Any]], nan_token: bool = False
) -> None:
    """suite.json, rows.jsonl and expected.json in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.json").write_text(json.dumps(suite, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    lines = [row_line(row, nan_token) + "\n" for row in rows]
    (folder / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
    expected = json.dumps(score(suite, rows), indent=1, allow_nan=False)
    (folder / "expected.json").write_text(expected + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write N random cases.")
    parser.add_argument("outdir", type=Path)
    parser.add_argument("n", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--without", default="", help="features to switch off, with commas")
    parser.add_argument("--plain", action="store_true", help="switch every feature off")
    parser.add_argument(
        "--nan-token", action="store_true", help="write NaN as a bare token (not strict JSON)"
    )
    options = parser.parse_args(arguments)
    without = frozenset(FEATURES) if options.plain else frozenset(filter(None, options.without.split(",")))
    for place in range(options.n):
        suite, rows = random_case(random.Random(f"{options.seed}/{place}"), without)
        write_case(options.outdir / f"{place:04d}", suite, rows, options.nan_token)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
