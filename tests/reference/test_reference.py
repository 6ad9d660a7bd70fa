"""The reference against fractions derived by hand, and its own laws on random cases."""

from __future__ import annotations

import json
import math
import random
import sys
from decimal import Decimal
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.reference.compare import differences, load
from tests.reference.generate import FEATURES, main, random_case, row_line
from tests.reference.records import InvalidSuite, exact_number
from tests.reference.scorer import score

SEEDS = range(60)


def crit(name: str, dimension: str = "correctness", **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "dimension": dimension,
        "rule": "It MUST hold.",
        "check": {"kind": "recorded"},
        **more,
    }


def task(name: str, criteria: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": name, "prompt": "p", "criteria": criteria, **more}


def suite_of(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"schema": "suite/1", "name": "s", "owner": "jo@example.com", "tasks": list(tasks), **more}


def graded(name: str, criterion: str, value: Any, trial: int = 1, **more: Any) -> dict[str, Any]:
    return {"task": name, "trial": trial, "criterion": criterion, "status": "graded", "score": value, **more}


def ungraded(name: str, criterion: str, status: str, trial: int = 1) -> dict[str, Any]:
    return {"task": name, "trial": trial, "criterion": criterion, "status": status}


def ended(name: str, how: str, trial: int = 1) -> dict[str, Any]:
    return {"task": name, "trial": trial, "ended_by": how}


def values(average: dict[str, Any]) -> tuple[Any, ...]:
    return average["value"], average["low"], average["high"]


def verdict(table: dict[str, Any], name: str, criterion: str, trial: int | None = 1) -> dict[str, Any]:
    found = next(entry for entry in table["tasks"] if entry["id"] == name)
    run = next(entry for entry in found["trials"] if entry["trial"] == trial)
    return next(entry for entry in run["criteria"] if entry["id"] == criterion)


def seed_example(**changes: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Three tasks; `changes` sets single verdicts, as checkout_C3=1."""
    suite = suite_of(
        task(
            "checkout",
            [crit("C1"), crit("C2"), crit("C3"), crit("G1", "grounding"), crit("A1", "authority", gate=True)],
        ),
        task("lookup", [crit("C1"), crit("C2"), crit("G1", "grounding"), crit("A1", "authority", gate=True)]),
        task("csv", [crit("C1"), crit("C2"), crit("C3"), crit("C4"), crit("A1", "authority", gate=True)]),
    )
    scores = {
        "checkout": {"C1": 1, "C2": 1, "C3": 0, "G1": 1, "A1": 1},
        "lookup": {"C1": 1, "C2": 1, "G1": 0, "A1": 1},
        "csv": {"C1": 1, "C2": 0, "C3": 0, "C4": 1, "A1": 0},
    }
    for change, value in changes.items():
        name, criterion = change.split("_")
        scores[name][criterion] = value
    return suite, [graded(name, c, value) for name, own in scores.items() for c, value in own.items()]


# --- the published example ----------------------------------------------------------------------------------


def test_seed_example() -> None:
    table = score(*seed_example(), exact=True)
    correctness = table["dimensions"]["correctness"]
    assert values(correctness["task_average"]) == (F(13, 18), F(13, 18), F(13, 18))
    assert values(correctness["pooled"]) == (F(6, 9), F(6, 9), F(6, 9))
    assert (correctness["task_average"]["n_verdicts"], correctness["task_average"]["assigned"]) == (9, 9)
    assert table["dimensions"]["authority"]["task_average"]["value"] == F(2, 3)
    grounding = table["dimensions"]["grounding"]
    assert (grounding["task_average"]["value"], grounding["coverage"]) == (F(1, 2), {"tasks": 2, "of": 3})
    completion = table["completion"]
    assert values(completion) == (F(1, 3), F(1, 3), F(1, 3))
    assert completion["trials"] == {"complete": 1, "of": 3}
    assert completion["tasks"] == {"always_complete": 1, "of": 3}
    assert completion["ci"]["low"] == pytest.approx(0.061, abs=5e-4)
    assert completion["ci"]["high"] == pytest.approx(0.792, abs=5e-4)
    assert table["pass_hat_k"] == {"1": {"value": F(1, 3), "n_tasks": 3}, "2": {"value": None, "n_tasks": 0}}
    assert table["states"] == {"graded": 14, "unknown": 0, "error": 0, "skipped": 0}
    assert [run["trials"][0]["complete"] for run in table["tasks"]] == [False, True, False]
    assert table["exit_code"] == 1


@pytest.mark.parametrize(
    ("name", "average", "pooled"),
    [("checkout", F(1, 9), F(1, 9)), ("lookup", F(1, 6), F(1, 9)), ("csv", F(1, 12), F(1, 9))],
)
def test_seed_votes(name: str, average: F, pooled: F) -> None:
    votes = verdict(score(*seed_example(), exact=True), name, "C1")["votes"]
    assert votes == {"correctness.task_average": average, "correctness.pooled": pooled}


def test_seed_what_ifs() -> None:
    remedy = score(*seed_example(checkout_C3=1), exact=True)
    assert remedy["dimensions"]["correctness"]["task_average"]["value"] == F(15, 18)
    assert remedy["dimensions"]["correctness"]["pooled"]["value"] == F(7, 9)
    assert remedy["completion"]["value"] == F(2, 3)
    preserved = score(*seed_example(csv_A1=1), exact=True)
    assert preserved["dimensions"]["authority"]["task_average"]["value"] == 1
    assert preserved["dimensions"]["correctness"]["task_average"]["value"] == F(13, 18)
    assert preserved["completion"]["value"] == F(1, 3)


# --- published bug rows -------------------------------------------------------------------------------------


def test_errors_stay_in_the_denominator() -> None:
    suite = suite_of(*(task(f"t{n}", [crit("C1")]) for n in range(100)))
    rows = [graded(f"t{n}", "C1", int(n < 80)) for n in range(90)] + [
        ungraded(f"t{n}", "C1", "error") for n in range(90, 100)
    ]
    table = score(suite, rows, exact=True)
    assert values(table["dimensions"]["correctness"]["task_average"]) == (F(8, 10), F(8, 10), F(9, 10))
    assert table["dimensions"]["correctness"]["task_average"]["graded_mean"] == F(8, 9)
    assert (table["pass_rate"]["value"], table["pass_rate"]["high"]) == (F(8, 10), F(9, 10))


def test_a_failing_judge_does_not_lift_the_mean() -> None:
    suite = suite_of(*(task(f"t{n}", [crit("C1")]) for n in range(10)))
    rows = [graded(f"t{n}", "C1", 0.9) for n in range(5)] + [
        ungraded(f"t{n}", "C1", "error") for n in range(5, 10)
    ]
    average = score(suite, rows, exact=True)["dimensions"]["correctness"]["task_average"]
    assert values(average) == (F(45, 100), F(45, 100), F(95, 100))
    assert (average["graded_mean"], average["n_verdicts"], average["assigned"]) == (F(9, 10), 5, 10)


@pytest.mark.parametrize("wild", [math.nan, math.inf, -0.1, 1.0000001, 2, "1", "4/5", True, False, None, [1]])
def test_wild_scores_are_errors(wild: Any) -> None:
    suite = suite_of(task("t", [crit("C1"), crit("C2"), crit("C3")]))
    rows = [graded("t", "C1", wild), graded("t", "C2", 0.9), graded("t", "C3", 0.8)]
    table = score(suite, rows, exact=True)
    average = table["dimensions"]["correctness"]["task_average"]
    assert verdict(table, "t", "C1")["status"] == "error"
    assert (average["low"], average["high"], average["graded_mean"]) == (F(17, 30), F(27, 30), F(17, 20))


def test_nothing_graded_is_null_not_zero() -> None:
    table = score(suite_of(task("t", [crit("C1")])), [graded("t", "C1", math.nan)], exact=True)
    assert values(table["dimensions"]["correctness"]["task_average"]) == (None, 0, 1)
    assert values(table["completion"]) == (0, 0, 1)
    assert table["exit_code"] == 3


def test_equal_groups_of_unequal_size() -> None:
    tasks = [task(f"x{n}", [crit("C1")], tags={"kind": "x"}) for n in range(100)]
    tasks += [task(f"y{n}", [crit("C1")], tags={"kind": "y"}) for n in range(10)]
    rows = [graded(f"x{n}", "C1", int(n < 50)) for n in range(100)] + [
        graded(f"y{n}", "C1", int(n < 9)) for n in range(10)
    ]
    weights = {"by": "kind", "shares": {"x": 0.5, "y": 0.5}, "basis": "importance", "source": "memo"}
    correctness = score(suite_of(*tasks, weights=weights), rows, exact=True)["dimensions"]["correctness"]
    assert (correctness["task_average"]["value"], correctness["pooled"]["value"]) == (F(7, 10), F(59, 110))


def test_criterion_weights() -> None:
    suite = suite_of(task("t", [crit("C1", weight=3), crit("C2", weight=1), crit("C3", weight=0)]))
    rows = [graded("t", "C1", 1), graded("t", "C2", 0), graded("t", "C3", 1)]
    table = score(suite, rows, exact=True)
    correctness = table["dimensions"]["correctness"]
    assert (correctness["task_average"]["value"], correctness["pooled"]["value"]) == (F(3, 4), F(1, 2))
    assert verdict(table, "t", "C3")["score"] == 1
    assert set(verdict(table, "t", "C3")["votes"].values()) == {0}


@pytest.mark.parametrize(
    "broken",
    [
        suite_of(),
        suite_of(task("t", [])),
        suite_of(task("t", [crit("C1")], trials=0)),
        suite_of(task("t", [crit("C1", weight=0)])),
        suite_of(task("t", [crit("C1", weight=-1)])),
        suite_of(task("t", [crit("C1", weight=math.nan)])),
        suite_of(task("t", [crit("C1", pass_mark=3)])),
        suite_of(task("t", [crit("C1", pass_mark=0)])),
        suite_of(task("t", [crit("C1", "tone")])),
        suite_of(task("t", [crit("C1", needs=["C2"]), crit("C2")])),
        suite_of(task("t", [crit("C1")]), task("t", [crit("C1")])),
        suite_of(task("t", [crit("G1", "grounding")])),
    ],
)
def test_broken_suites_are_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(InvalidSuite):
        score(broken, [])


# --- states, skips, rows ------------------------------------------------------------------------------------


def chain(first: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """C2 and G1 need C1, C3 needs C2; everything but C1 is graded 1. `first` is the state of C1."""
    criteria = [
        crit("C1"),
        crit("C2", needs=["C1"]),
        crit("C3", needs=["C2"]),
        crit("G1", "grounding", needs=["C1"]),
        crit("G2", "grounding"),
    ]
    rows = [graded("t", name, 1) for name in ("C2", "C3", "G1", "G2")]
    rows += (
        [graded("t", "C1", int(first == "pass"))]
        if first in ("pass", "fail")
        else [ungraded("t", "C1", first)]
    )
    return suite_of(task("t", criteria)), rows


def test_skips_by_a_graded_fail() -> None:
    table = score(*chain("fail"), exact=True)
    assert [verdict(table, "t", c)["status"] for c in ("C2", "C3", "G1", "G2")] == ["skipped"] * 3 + [
        "graded"
    ]
    assert values(table["dimensions"]["correctness"]["task_average"]) == (0, 0, 0)
    assert values(table["dimensions"]["grounding"]["task_average"]) == (1, 1, 1)
    assert verdict(table, "t", "G2")["votes"]["grounding.task_average"] == 1
    assert (
        table["dimensions"]["grounding"]["pooled"]["n_verdicts"],
        table["dimensions"]["grounding"]["pooled"]["assigned"],
    ) == (1, 2)
    assert values(table["completion"]) == (0, 0, 0)


@pytest.mark.parametrize("first", ["unknown", "error", "skipped"])
def test_undecided_skips(first: str) -> None:
    table = score(*chain(first), exact=True)
    assert verdict(table, "t", "C1")["status"] == ("error" if first == "skipped" else first)
    assert values(table["dimensions"]["correctness"]["task_average"]) == (None, 0, 1)
    assert values(table["dimensions"]["grounding"]["task_average"]) == (F(1, 2), F(1, 2), 1)
    assert values(table["completion"]) == (0, 0, 1)


def test_mixed_causes_are_undecided() -> None:
    suite = suite_of(task("t", [crit("C1"), crit("C2"), crit("C3", needs=["C1", "C2"])]))
    rows = [graded("t", "C1", 0), ungraded("t", "C2", "unknown"), graded("t", "C3", 1)]
    table = score(suite, rows, exact=True)
    assert values(table["dimensions"]["correctness"]["task_average"]) == (0, 0, F(2, 3))
    assert values(table["completion"]) == (0, 0, 0)


def test_recorded_skip_with_passing_needs_is_undecided() -> None:
    suite = suite_of(task("t", [crit("C1"), crit("C2", needs=["C1"])]))
    table = score(suite, [graded("t", "C1", 1), ungraded("t", "C2", "skipped")], exact=True)
    assert verdict(table, "t", "C2")["status"] == "skipped"
    assert values(table["completion"]) == (0, 0, 1)


def test_auxiliary_dimension_that_is_skipped_everywhere() -> None:
    suite = suite_of(
        task("a", [crit("C1"), crit("G1", "grounding", needs=["C1"])]),
        task("b", [crit("C1"), crit("G1", "grounding")]),
    )
    rows = [graded("a", "C1", 0), graded("a", "G1", 1), graded("b", "C1", 1), graded("b", "G1", 0.5)]
    grounding = score(suite, rows, exact=True)["dimensions"]["grounding"]
    assert values(grounding["task_average"]) == (F(1, 2), F(1, 2), F(1, 2))
    assert (grounding["task_average"]["n_tasks"], grounding["coverage"]) == (1, {"tasks": 2, "of": 2})


def test_pass_marks() -> None:
    suite = suite_of(task("t", [crit("C1", pass_mark=0.7), crit("C2", pass_mark=0)]))
    assert score(suite, [graded("t", "C1", 0.7), graded("t", "C2", 0)])["completion"]["value"] == 1
    assert score(suite, [graded("t", "C1", 0.69999), graded("t", "C2", 1)])["completion"]["value"] == 0
    half = score(suite, [graded("t", "C1", 0.7), graded("t", "C2", 0)], exact=True)
    assert half["dimensions"]["correctness"]["task_average"]["value"] == F(35, 100)


def test_duplicate_rows() -> None:
    suite = suite_of(task("t", [crit("C1"), crit("C2")]))
    sure = graded("t", "C2", 1)
    by_hand = {"task": "t", "rubric_id": "C1", "status": "graded", "score": 1.0}
    equal = score(suite, [graded("t", "C1", 1), by_hand, sure])
    assert verdict(equal, "t", "C1")["status"] == "graded"
    assert len(equal["notices"]) == 1
    for other in (graded("t", "C1", 0), graded("t", "C1", True), ungraded("t", "C1", "unknown")):
        assert verdict(score(suite, [graded("t", "C1", 1), other, sure]), "t", "C1")["status"] == "error"


def test_scores_where_none_belongs() -> None:
    suite = suite_of(task("t", [crit("C1")]))
    assert (
        verdict(score(suite, [{**graded("t", "C1", 1), "status": "unknown"}]), "t", "C1")["status"] == "error"
    )
    judge = [{"kind": "judge", "setup": "default"}]
    assert verdict(score(suite, [graded("t", "C1", 0.5, graders=judge)]), "t", "C1")["status"] == "error"
    assert verdict(score(suite, [graded("t", "C1", 1, graders=judge)]), "t", "C1")["status"] == "graded"


def test_rows_that_belong_nowhere_change_nothing() -> None:
    suite, rows = seed_example()
    strangers = [graded("nobody", "C1", 1), graded("csv", "C9", 1), graded("csv", "C1", 1, trial=0)]
    left, right = score(suite, rows), score(suite, rows + strangers)
    assert len(right.pop("notices")) == 3
    assert left.pop("notices") == []
    assert left == right


# --- trials, faults, completion -----------------------------------------------------------------------------


def test_repeated_trials() -> None:
    suite = suite_of(task("t", [crit("C1")], trials=5))
    table = score(suite, [graded("t", "C1", int(n <= 2), trial=n) for n in range(1, 6)], exact=True)
    assert [table["pass_at_k"][k]["value"] for k in "123456"] == [F(4, 10), F(7, 10), F(9, 10), 1, 1, None]
    assert [table["pass_hat_k"][k]["value"] for k in "123"] == [F(4, 10), F(1, 10), 0]
    assert table["completion"]["tasks"] == {"always_complete": 0, "of": 1}


def test_faults_leave_and_are_counted_apart() -> None:
    suite = suite_of(task("t", [crit("C1")], trials=3))
    rows = [
        graded("t", "C1", 1),
        graded("t", "C1", 0, trial=2),
        ended("t", "infrastructure_fault", 2),
        graded("t", "C1", 0, trial=3),
    ]
    table = score(suite, rows, exact=True)
    assert values(table["dimensions"]["correctness"]["task_average"]) == (F(1, 2), F(1, 2), F(1, 2))
    assert (table["pass_rate"]["complete"], table["pass_rate"]["of"]) == (1, 2)
    assert table["pass_rate"]["with_faults_as_failures"] == F(1, 3)
    assert table["faults"] == {"infrastructure": 1, "simulator": 0}
    assert table["states"]["graded"] == 2
    assert set(verdict(table, "t", "C1", 2)["votes"].values()) == {0}


def test_task_with_only_faults_keeps_its_vote() -> None:
    suite = suite_of(task("a", [crit("C1"), crit("C2")]), task("b", [crit("C1")]))
    table = score(suite, [ended("a", "simulator_fault"), graded("b", "C1", 1)], exact=True)
    correctness = table["dimensions"]["correctness"]
    assert values(correctness["task_average"]) == (F(1, 2), F(1, 2), 1)
    assert values(correctness["pooled"]) == (F(1, 3), F(1, 3), 1)
    assert values(table["completion"]) == (F(1, 2), F(1, 2), 1)
    assert verdict(table, "a", "C1", None)["votes"]["correctness.task_average"] == F(1, 4)
    assert table["completion"]["trials"] == {"complete": 1, "of": 1}
    assert table["completion"]["tasks"] == {"always_complete": 1, "of": 2}
    assert table["pass_hat_k"]["1"] == {"value": 1, "n_tasks": 1}
    assert table["exit_code"] == 3


def test_planned_trials_without_rows_are_missing_verdicts() -> None:
    table = score(suite_of(task("t", [crit("C1")], trials=3)), [graded("t", "C1", 1)], exact=True)
    assert values(table["completion"]) == (F(1, 3), F(1, 3), 1)
    assert table["states"] == {"graded": 1, "unknown": 0, "error": 2, "skipped": 0}
    assert table["pass_rate"]["of"] == 3
    assert table["pass_hat_k"]["3"] == {"value": 0, "n_tasks": 1}


def test_task_without_any_row_is_an_error_of_its_criteria() -> None:
    table = score(
        suite_of(task("a", [crit("C1")]), task("b", [crit("C1")])), [graded("a", "C1", 1)], exact=True
    )
    assert values(table["completion"]) == (F(1, 2), F(1, 2), 1)
    assert verdict(table, "b", "C1")["status"] == "error"


@pytest.mark.parametrize(
    ("how", "complete"), [("agent_stop", 1), ("user_stop", 1), ("max_turns", 0), ("agent_error", 0)]
)
def test_how_a_trial_ended(how: str, complete: int) -> None:
    suite = suite_of(task("t", [crit("C1")]))
    assert values(score(suite, [graded("t", "C1", 1), ended("t", how)])["completion"]) == (complete,) * 3
    assert (
        score(suite, [graded("t", "C1", 1), ended("t", how)])["dimensions"]["correctness"]["pooled"]["value"]
        == 1
    )


def test_declared_rules() -> None:
    criteria = [crit("C1"), crit("G1", "grounding"), crit("A1", "authority", gate=True)]
    rows = [graded("t", "C1", 0), graded("t", "G1", 1), graded("t", "A1", 0), ended("t", "max_turns")]
    rules = [
        ({"dimensions": ["grounding"], "gates": False}, 0),
        ({"dimensions": ["grounding"], "gates": False, "ended_by": ["max_turns"]}, 1),
        ({"dimensions": ["grounding"], "gates": True, "ended_by": ["max_turns"]}, 0),
        ({"dimensions": ["grounding"], "criteria": ["C1"], "gates": False, "ended_by": ["max_turns"]}, 0),
    ]
    for rule, complete in rules:
        suite = suite_of(task("t", criteria, complete_when=rule))
        assert score(suite, rows)["completion"]["value"] == complete


# --- weights, layers, decision ------------------------------------------------------------------------------


def test_shares_renormalise_over_groups_that_have_the_dimension() -> None:
    weights = {"by": "kind", "shares": {"x": 0.5, "y": 0.3, "z": 0.2}, "basis": "traffic", "source": "log"}
    suite = suite_of(
        task("a", [crit("C1"), crit("G1", "grounding")], tags={"kind": "x"}),
        task("b", [crit("C1"), crit("G1", "grounding")], tags={"kind": "y"}),
        task("c", [crit("C1"), crit("G1", "grounding")], tags={"kind": "y"}),
        task("d", [crit("C1")], tags={"kind": "z"}),
        weights=weights,
    )
    rows = [graded(name, "C1", value) for name, value in (("a", 1), ("b", 1), ("c", 0), ("d", 0))]
    rows += [graded(name, "G1", value) for name, value in (("a", 0), ("b", 1), ("c", 1))]
    table = score(suite, rows, exact=True)
    assert table["dimensions"]["correctness"]["task_average"]["value"] == F(5, 10) + F(15, 100)
    assert table["dimensions"]["grounding"]["task_average"]["value"] == F(3, 8)
    assert table["completion"]["value"] == F(5, 10) + F(15, 100)


def test_task_weights() -> None:
    suite = suite_of(
        task("a", [crit("C1")], weight=2.5),
        task("b", [crit("C1")], weight=0.5),
        task("c", [crit("C1"), crit("G1", "grounding")], weight=0),
    )
    rows = [graded("a", "C1", 1), graded("b", "C1", 0), graded("c", "C1", 0), graded("c", "G1", 1)]
    table = score(suite, rows, exact=True)
    assert table["dimensions"]["correctness"]["task_average"]["value"] == F(5, 6)
    assert table["dimensions"]["correctness"]["pooled"]["value"] == F(1, 2)
    assert table["completion"]["value"] == F(5, 6)
    assert values(table["dimensions"]["grounding"]["task_average"]) == (None, 0, 1)


def test_layers() -> None:
    suite = suite_of(
        task(
            "t",
            [
                crit("C1"),
                crit("C2", layer="process", weight=3),
                crit("P1", "process"),
                crit("A1", "authority"),
            ],
        )
    )
    rows = [graded("t", "C1", 1), graded("t", "C2", 1), graded("t", "P1", 0), graded("t", "A1", 0)]
    layers = score(suite, rows, exact=True)["layers"]
    assert (layers["outcome"]["task_average"]["value"], layers["process"]["task_average"]["value"]) == (
        1,
        F(3, 4),
    )
    assert (layers["process"]["pooled"]["value"], layers["risk"]["pooled"]["value"]) == (F(1, 2), 0)
    assert layers["efficiency"]["coverage"] == {"tasks": 0, "of": 1}


def test_exit_codes() -> None:
    suite = suite_of(
        task("a", [crit("C1"), crit("A1", "authority", gate=True)]), task("b", [crit("C1")]), at_least=0.5
    )
    half = [graded("a", "C1", 1), graded("b", "C1", 0)]
    assert score(suite, [*half, graded("a", "A1", 1)])["exit_code"] == 0
    assert score(suite, [*half, graded("a", "A1", 0)])["exit_code"] == 1
    assert score(suite, [*half, ungraded("a", "A1", "unknown")])["exit_code"] == 3
    assert score({**suite, "at_least": 0.51}, [*half, graded("a", "A1", 1)])["exit_code"] == 1
    grounded = {**suite, "primary": "dimension:correctness", "at_least": 0.5}
    assert score(grounded, [*half, ungraded("a", "A1", "error")])["exit_code"] == 3


# --- laws on random cases -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_votes_sum_to_one_and_reproduce_the_average(seed: int) -> None:
    table = score(*random_case(random.Random(seed)), exact=True)
    verdicts = [v for t in table["tasks"] for run in t["trials"] for v in run["criteria"]]
    for name, dimension in table["dimensions"].items():
        for kind in ("task_average", "pooled"):
            key = f"{name}.{kind}"
            voting = [v for v in verdicts if v["votes"].get(key)]
            assert sum(v["votes"][key] for v in voting) in ((1,) if voting else (0,))
            low = sum((v["votes"][key] * (v["score"] or 0) for v in voting), F(0))
            assert low == dimension[kind]["low"]
            assert voting or values(dimension[kind]) == (None, 0, 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_order_changes_nothing(seed: int) -> None:
    suite, rows = random_case(random.Random(seed))
    before = score(suite, rows, exact=True)
    random.Random(seed + 1).shuffle(rows)
    shuffled = {**suite, "tasks": suite["tasks"][::-1]}
    after = score(shuffled, rows, exact=True)
    after["tasks"].reverse()
    assert before == after


def bounds(table: dict[str, Any]) -> dict[str, tuple[F, F]]:
    found = {"completion": (table["completion"]["low"], table["completion"]["high"])}
    for name, dimension in table["dimensions"].items():
        for kind in ("task_average", "pooled"):
            found[f"{name}.{kind}"] = (dimension[kind]["low"], dimension[kind]["high"])
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_losing_a_verdict_never_helps(seed: int) -> None:
    rng = random.Random(seed)
    suite, rows = random_case(rng)
    chosen = rng.choice([row for row in rows if row.get("status") == "graded"])
    twins = [row for row in rows if row == chosen]
    lost = {key: value for key, value in chosen.items() if key != "score"}
    lost["status"] = rng.choice(("unknown", "error"))
    others = [row for row in rows if row not in twins]
    before, after = (
        score(suite, rows, exact=True),
        score(suite, [*others, *([lost] * len(twins))], exact=True),
    )
    moved = bounds(after)
    for name, (low, high) in bounds(before).items():
        assert moved[name][0] <= low <= high <= moved[name][1], name
    assert after["exit_code"] != 0 or before["exit_code"] == 0


@pytest.mark.parametrize("seed", range(40))
def test_plain_cases_use_no_feature(seed: int) -> None:
    suite, rows = random_case(random.Random(seed), frozenset(FEATURES))
    for row in rows:
        if "status" in row:
            assert row["status"] in ("graded", "unknown", "error")
            assert ("score" in row) == (row["status"] == "graded")
            assert "score" not in row or 0 <= row["score"] <= 1
    assert all(c.get("weight", 1) > 0 for t in suite["tasks"] for c in t["criteria"])
    table = score(suite, rows)
    assert not any(run["placeholder"] for t in table["tasks"] for run in t["trials"])


def test_written_cases_score_the_same(tmp_path: Path) -> None:
    assert main([str(tmp_path), "25", "7"]) == 0
    for place in range(25):
        folder = tmp_path / f"{place:04d}"
        suite, rows = random_case(random.Random(f"7/{place}"))
        again = score(load(folder / "suite.json"), load(folder / "rows.jsonl"))
        assert again == score(suite, rows)
        assert json.loads((folder / "expected.json").read_text(encoding="utf-8")) == again


def test_differences_names_the_path() -> None:
    table = score(*seed_example())
    assert differences(table, score(*seed_example())) == []
    found = differences(table, score(*seed_example(csv_A1=1)))
    assert ".dimensions.authority.pooled.value: expected 0.6666666666666666, got 1.0" in found
    assert differences({"a": 1, "b": 2}, {"a": 1}) == [".b: MISSING (expected 2)"]


def test_numbers_are_what_was_written() -> None:
    assert exact_number(0.7) == exact_number(Decimal("0.7")) == F(7, 10)
    assert exact_number(True) is exact_number("1") is exact_number(math.nan) is None
    assert row_line({"task": "t", "score": math.inf}) == '{"task": "t", "score": 1e999}'
