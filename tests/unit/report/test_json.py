"""The score table as strict JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model.table import ScoreTable
from steelyard.report.json import score_json
from steelyard.report.plain import clean, dumps, plain
from unit.report.tables import criterion, golden, task, trial
from unit.report.test_terminal import spoiled
from unit.report.test_text import ANY

replace = msgspec.structs.replace


def refuse(word: str) -> float:
    raise AssertionError(f"{word} is not JSON")


def strict(data: bytes) -> Any:
    return json.loads(data.decode("utf-8"), parse_constant=refuse)


def test_the_golden_example_has_the_published_shape():
    shown = strict(score_json(golden()))
    assert list(shown) == list(ScoreTable.__struct_fields__)
    assert shown["suite"]["name"] == "operations"
    correctness = shown["dimensions"]["correctness"]
    assert correctness["task_average"]["value"] == 13 / 18
    assert correctness["task_average"]["n_verdicts"] == 9
    assert correctness["pooled"]["value"] == 6 / 9
    assert shown["dimensions"]["grounding"]["coverage"] == {"tasks": 2, "of": 3}
    assert shown["completion"]["trials"] == {"complete": 1, "of": 3}
    assert shown["completion"]["tasks"] == {"always_complete": 1, "of": 3}
    nothing = {"value": None, "low": None, "high": None}
    assert shown["pass_hat_k"]["2"] == {**nothing, "n_tasks": 0, "status": "too_few_trials"}
    assert shown["states"] == {"graded": 14, "unknown": 0, "error": 0, "skipped": 0}
    first = shown["tasks"][0]["trials"][0]
    assert first["gates"] == {"A1": "pass"}
    assert first["criteria"][0]["votes"] == {"correctness.pooled": 1 / 9}
    assert (shown["decision"], shown["exit_code"]) == ("FAIL", 1)


def test_the_same_table_gives_the_same_bytes():
    assert score_json(golden()) == score_json(golden())


def test_detail_is_left_out_beyond_ten_thousand_verdicts_and_said():
    many = (task("a", *(trial((criterion("C1", "pass"),), number) for number in range(10_001))),)
    counted = golden().completion
    one = replace(counted, tasks=replace(counted.tasks, of=1, always_complete=1))
    table = golden(tasks=many, completion=one)
    shown = strict(score_json(table))
    assert "tasks" not in shown
    assert shown["notices"][-1]["code"] == "tasks_left_out"
    assert len(strict(score_json(table, full=True))["tasks"][0]["trials"]) == 10_001
    fewer = golden(tasks=(task("a", *many[0].trials[:10_000]),), completion=one)
    assert "tasks" in strict(score_json(fewer))


def test_a_table_that_holds_only_some_tasks_never_shows_them_as_all():
    table = golden(tasks=golden().tasks[:2])
    assert "tasks" not in strict(score_json(table, full=True))


def test_numbers_without_a_json_form_are_null():
    odd = replace(
        golden().tasks[0], weight=float("nan"), completion={"x": Decimal("NaN"), "y": Fraction(1, 4)}
    )
    table = golden(
        composite={"value": float("inf"), "part": Decimal("0.25")}, tasks=(odd, *golden().tasks[1:])
    )
    shown = strict(score_json(table))
    assert shown["composite"] == {"value": None, "part": 0.25}
    assert shown["tasks"][0]["weight"] is None
    assert shown["tasks"][0]["completion"] == {"x": None, "y": 0.25}


@settings(max_examples=100)
@given(ANY)
def test_any_text_comes_back_as_it_was_but_for_lone_surrogates(text):
    table = spoiled(text)
    table = replace(table, completion=replace(table.completion, tasks=replace(table.completion.tasks, of=1)))
    shown = strict(score_json(table))
    assert shown["tasks"][0]["id"] == clean(text)
    assert shown["notices"][0]["detail"] == clean(text)
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert clean(text) == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY | st.decimals() | st.fractions(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_any_value_becomes_strict_json(value):
    made = plain(value)
    assert strict(dumps(made)) == made


def test_huge_and_deep_values_do_not_crash():
    deep: Any = "bottom"
    for _ in range(5000):
        deep = [deep]
    assert "nested deeper than 150 levels" in dumps(plain(deep)).decode()
    assert plain(10**5000) == "1" + "0" * 5000
    assert strict(dumps(plain({"n": 2**70}))) == {"n": 2**70}
    assert plain({frozenset({2, 1}): {3, 1, 2}}) == {str(frozenset({2, 1})): [1, 2, 3]}
