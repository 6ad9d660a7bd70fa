"""Standards come back as equal records, whatever their untyped places hold."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from steelyard.model.checks import (
    BudgetCheck,
    CallsCheck,
    Condition,
    EqualsCheck,
    EventRef,
    ExpectedCall,
    ExprCheck,
    JsonCheck,
    LaterCheck,
    Limit,
    NumberCheck,
    RecordsCheck,
    Rule,
    RuleCheck,
)
from steelyard.model.standard import Examples, Excluded, JudgeUse, View, Weights
from steelyard.store.suites import decode_suite, encode_suite, mark, unmark
from stores import a_suite


def same(left: Any, right: Any) -> bool:
    """Equal in value and in every type (1 is not 1.0, a list is no tuple, NaN is NaN)."""
    if type(left) is not type(right):
        return False
    if isinstance(left, msgspec.Struct):
        return all(same(getattr(left, name), getattr(right, name)) for name in left.__struct_fields__)
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right)


@pytest.mark.parametrize(
    "check",
    [
        EqualsCheck(value=Decimal("0.10")),
        EqualsCheck(value=(1, [2.0, (Decimal("1E+2"),)], {"$tuple": [1]})),
        EqualsCheck(value={"$decimal": "1", "other": float("inf")}),
        EqualsCheck(value={1: "a", "b": {None: -0.0, (1, 2): True}}),
        EqualsCheck(value=10**40),
        NumberCheck(min=Decimal("1.50"), abs_tol=Decimal("1E-9")),
        JsonCheck(),
        JsonCheck(schema=None, value=None),
        JsonCheck(schema={"type": "object"}, pointer="/a"),
        RecordsCheck(expected=((1, 2), [1, 2], {"a": Decimal(1)}), key=("a",)),
        CallsCheck(
            expected=(
                ExpectedCall(name="f"),
                ExpectedCall(name="g", args={}, compare={"x": {"abs_tol": Decimal("0.01")}}, only="present"),
                ExpectedCall(name="h", args=(1,), only=("x",)),
            )
        ),
        BudgetCheck(seconds=Decimal("1.0")),
        ExprCheck(expr="1", let={"a": "answer"}, cite=("s1",)),
        RuleCheck(
            rule=Rule(
                id="r",
                tool=("t",),
                when=(Condition(arg="a", op="in", value=[1, (2,)]),),
                after=EventRef(tool="x"),
                limit=Limit(scope="turn", max=1),
            )
        ),
        LaterCheck(kind="sql", settings={"rows": ((1, "x"), [Decimal("2.50")]), "$tuple": [1]}),
        LaterCheck(kind="of the future", settings={}),
        None,
    ],
)
def test_every_kind_of_check_and_value_comes_back(check: Any) -> None:
    suite = a_suite(check=check)
    if check is None:
        task = suite.tasks[0]
        bare = msgspec.structs.replace(task.criteria[0], check=None)
        suite = msgspec.structs.replace(suite, tasks=(msgspec.structs.replace(task, criteria=(bare,)),))
    assert same(decode_suite(encode_suite(suite)), suite)


def test_the_rest_of_a_standard_comes_back() -> None:
    suite = a_suite(
        at_least=Decimal("0.90"),
        weights=Weights(by="kind", shares={"x": Decimal("0.7")}, basis="traffic"),
        judges={"default": {"temperature": Decimal("0.0"), "k": (1,)}},
        composite=("a", Decimal(1)),
        excluded=(Excluded(task="t", criterion=None, when="x"),),
        notices=("careful",),
        branches=("p", "q"),
    )
    judge = JudgeUse(
        examples=Examples(passing=("p",), failing=("f",)), extract={"n": "integer"}, evidence="required"
    )
    criterion = msgspec.structs.replace(
        suite.tasks[0].criteria[0], judge=judge, view=View(kinds=("user",), last=3)
    )
    task = msgspec.structs.replace(
        suite.tasks[0],
        criteria=(criterion,),
        weight=Decimal("2.0"),
        trials=3,
        reference={"a": (1, float("nan"))},
        no_op=[Decimal(1)],
        tags={"$decimal": "x"},
    )
    suite = msgspec.structs.replace(suite, tasks=(task, *suite.tasks))
    assert same(decode_suite(encode_suite(suite)), suite)


def test_equal_standards_have_equal_text() -> None:
    assert encode_suite(a_suite()) == encode_suite(a_suite())


def test_a_plain_standard_is_plain_json() -> None:
    text = msgspec.json.decode(encode_suite(a_suite()))
    assert text["suite"]["tasks"][0]["criteria"][0]["check"]["value"] == "Paris"


def test_a_value_without_a_form_is_refused() -> None:
    for value in ({1, 2}, object(), b"x"):
        with pytest.raises(TypeError, match="has no form in JSON"):
            encode_suite(a_suite(check=EqualsCheck(value=value)))
    with pytest.raises(ValueError, match="surrogates"):
        encode_suite(a_suite(owner="\ud800"))


@pytest.mark.parametrize(
    "value",
    [[], {}, (), [[]], {"$map": []}, {"$float": "x"}, {"$tuple": {"$tuple": ()}}, {"$": 1, "$map": 2}],
)
def test_values_that_look_like_marks_stay_what_they_are(value: Any) -> None:
    assert same(unmark(msgspec.json.decode(msgspec.json.encode(mark(value)))), value)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"format": 2, "suite": {}}', b"\xff", b"[" * 100_000])
def test_what_is_no_standard_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_suite(body)
