"""JSON states, and the comparison that every state check shares: verdict and printed differences cannot disagree."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from steelyard.checks.comparison import MAX_DIFFERENCES, differences, said
from steelyard.errors import GraderError
from steelyard.model.state_checks import StateCheck
from steelyard.model.verdict import Undecided
from unit.checks.trials import grade, trace_of, verdict
from unit.checks.worlds import left

PAYMENTS = [{"id": 1, "amount": 20}, {"id": 2, "amount": 5}]
ORDER = {"payments": PAYMENTS, "vouchers": [["v1", "v2"], ["v3"]]}
AUDIT = [{"at": 1, "what": "open"}, {"at": 2, "what": "pay"}]


def test_two_payments_in_another_order_are_the_same() -> None:
    swapped = {**ORDER, "payments": PAYMENTS[::-1]}
    assert verdict(StateCheck(value={"orders": {"7": ORDER}}), left({"orders": {"7": swapped}})) == 1
    assert (
        verdict(StateCheck(pointer="/orders/7/payments", value=PAYMENTS), left({"orders": {"7": swapped}}))
        == 1
    )


def test_nested_lists_are_multisets_by_default() -> None:
    swapped = {**ORDER, "vouchers": [["v3"], ["v2", "v1"]]}
    assert verdict(StateCheck(value=ORDER), left(swapped)) == 1
    assert verdict(StateCheck(value=ORDER, ordered_at=("/payments",)), left(swapped)) == 1
    assert verdict(StateCheck(value=ORDER, ordered_at=("/vouchers/*",)), left(swapped)) == 0
    only_inside = {**ORDER, "vouchers": [["v3"], ["v1", "v2"]]}
    assert verdict(StateCheck(value=ORDER, ordered_at=("/vouchers/*",)), left(only_inside)) == 1


def test_an_audit_log_that_is_ordered_says_that_only_the_order_differs() -> None:
    for spec in (
        StateCheck(pointer="/audit", value=AUDIT, ordered=True),
        StateCheck(pointer="/audit", value=AUDIT, ordered_at=("",)),
    ):
        assert grade(spec, left({"audit": AUDIT[::-1]})).reason == "state#/audit: same rows, other order"
        assert verdict(spec, left({"audit": AUDIT[::-1]})) == 0
        assert verdict(spec, left({"audit": AUDIT})) == 1
    deep = StateCheck(value={"audit": AUDIT, "payments": PAYMENTS}, ordered_at=("/audit",))
    assert verdict(deep, left({"audit": AUDIT, "payments": PAYMENTS[::-1]})) == 1
    assert grade(deep, left({"audit": AUDIT[::-1], "payments": PAYMENTS})).reason == (
        "state# at /audit: same rows, other order"
    )
    other = [AUDIT[1], {"at": 1, "what": "close"}]
    assert (
        "other order"
        not in grade(StateCheck(pointer="/audit", value=AUDIT, ordered=True), left({"audit": other})).reason
    )


@pytest.mark.parametrize(
    ("found", "expected", "text"),
    [
        ({"a": 1}, {"a": 2}, "it at /a is 1, expected 2"),
        ({"a": 1}, {"a": "1"}, 'it at /a is 1, expected "1"'),
        ({"a": True}, {"a": 1}, "it at /a is true, expected 1"),
        ({"a": None}, {}, "it at /a is null, and nothing is expected there"),
        ({}, {"a": None}, "it at /a is missing, expected null"),
        ({"a/b~": 1}, {"a/b~": 2}, "it at /a~1b~0 is 1, expected 2"),
        ([1, 1, 2], [1, 2, 2], "it lacks 2; it has 1, which is not expected"),
        ([[1, 2], [3]], [[2, 1, 1], [3]], "it at /0 lacks 1"),
        (
            [[1, 2], [3]],
            [[2, 1, 1], [4]],
            "it lacks [2, 1, 1]; it lacks [4]; it has [1, 2], which is not expected; "
            "it has [3], which is not expected",
        ),
        ([{"id": 1, "s": "a", "t": 5}], [{"id": 1, "s": "b", "t": 5}], 'it at /0/s is "a", expected "b"'),
        ([], {}, "it is [], expected {}"),
        ({"a": [1]}, {"a": []}, "it at /a has 1, which is not expected"),
    ],
)
def test_differences_say_where(found: Any, expected: Any, text: str) -> None:
    assert said(differences(found, expected), "it") == text


def test_equal_values_have_no_differences() -> None:
    assert differences({"a": [1, 1.0, "é"]}, {"a": ["e\u0301", 1, Decimal("1.0")]}) == []
    assert differences([], []) == []
    assert differences(float("nan"), float("nan"))


def test_near_numbers_find_the_best_pairs() -> None:
    # Taking equal ones out first would leave 0 against 2.
    assert differences([1, 2], [0, 1], abs_tol=Fraction(1)) == []
    assert differences([1, 2], [0, 1], abs_tol=Fraction(1), ordered=True) == []
    assert differences([2, 2], [0, 1], abs_tol=Fraction(1))
    assert differences([{"a": [1.05, {"b": 2}]}], [{"a": [{"b": 2.05}, 1]}], abs_tol=Fraction(1, 10)) == []
    assert differences(["1"], [1], abs_tol=Fraction(1))
    assert differences([True], [1], abs_tol=Fraction(1))


def test_order_declared_for_one_place_only() -> None:
    expected = {"a": [1, 2], "b": [{"c": [1, 2]}]}
    assert differences({"a": [2, 1], "b": [{"c": [1, 2]}]}, expected, ordered_at=[["b", "*", "c"]]) == []
    (swapped,) = differences({"a": [1, 2], "b": [{"c": [2, 1]}]}, expected, ordered_at=[["b", "*", "c"]])
    assert (swapped.kind, swapped.path) == ("order", ("b", 0, "c"))


def test_a_key_pairs_the_rows_that_differ() -> None:
    found = [{"id": 2, "x": 0, "y": 0}, {"id": 1, "x": 1, "y": 1}, {"id": 3, "x": 1, "y": 1}]
    expected = [{"id": 1, "x": 9, "y": 9}, {"id": 2, "x": 0, "y": 0}, {"id": 4, "x": 1, "y": 2}]
    assert said(differences(found, expected, key=["id"]), "it", rows=True) == (
        'row 2, x, is 1, expected 9; row 2, y, is 1, expected 9; it lacks the row {"id": 4, "x": 1, "y": 2}; '
        'it has the row {"id": 3, "x": 1, "y": 1}, which is not expected'
    )
    assert "lacks the row" in said(differences(found, expected), "it", rows=True)


def test_differences_are_bounded_and_deep_values_cheap() -> None:
    assert (
        len(differences([f"a{i}" for i in range(5_000)], [f"b{i}" for i in range(5_000)])) == MAX_DIFFERENCES
    )
    assert said(differences(list("abcdefgh"), []), "it").endswith("and 3 more")
    one: Any = 1
    two: Any = 2
    for _ in range(60):
        one, two = [one], [two]
    for ordered in (True, False):
        assert differences(one, two, ordered=ordered)
        assert differences(one, two, ordered=ordered, abs_tol=Fraction(1, 2))
    with pytest.raises(GraderError) as raised:
        differences([0.0] * 2_000, [0.1] * 2_000, abs_tol=Fraction(1))
    assert raised.value.code == "too_large"


def test_schemas_values_and_both() -> None:
    trace = left({"n": 5})
    assert verdict(StateCheck(pointer="/n", schema={"type": "integer"}), trace) == 1
    assert "does not fit the schema" in grade(StateCheck(pointer="/n", schema={"maximum": 4}), trace).reason
    assert verdict(StateCheck(pointer="/n", schema={"maximum": 4}, value=5), trace) == 0
    assert verdict(StateCheck(pointer="/n", value=5.04, abs_tol=Decimal("0.1")), trace) == 1
    assert verdict(StateCheck(pointer="/m", value=5), trace) == 0
    assert verdict(StateCheck(pointer="/m", value=None), trace) == 0
    for spec, code in ((StateCheck(), "empty_check"), (StateCheck(schema={"type": "x"}), "bad_schema")):
        with pytest.raises(GraderError) as raised:
            grade(spec, trace)
        assert raised.value.code == code


def test_the_state_at_the_start_and_none_at_all() -> None:
    trace = left({"n": 5}, {"n": 4})
    assert verdict(StateCheck(pointer="/n", value=4, at="start"), trace) == 1
    assert grade(StateCheck(pointer="/n", value=4, at="start"), trace).evidence == ("state_before:n",)
    assert isinstance(grade(StateCheck(value=1), trace_of()), Undecided)
    assert isinstance(grade(StateCheck(value=1, at="start"), left({"n": 5})), Undecided)


def test_a_value_nested_without_measure_is_an_error() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(GraderError) as raised:
        grade(StateCheck(value=deep), left(deep))
    assert raised.value.code == "too_deep"
