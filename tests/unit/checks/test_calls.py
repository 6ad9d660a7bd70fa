"""`calls`: the table of modes, equality of arguments, and what an incomplete record leaves open."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.errors import GraderError
from steelyard.model.checks import CallsCheck, ExpectedCall
from steelyard.model.verdict import Undecided
from unit.checks.trials import INCOMPLETE, NO_CALLS, call, grade, said, trace_of, verdict

MODES = ("exact", "in_order", "any_order", "at_least", "only_from", "each")


def sequence(names: str) -> Any:
    return trace_of(*(call(name) for name in names), said("done"))


def expecting(names: str, mode: str) -> CallsCheck:
    return CallsCheck(expected=tuple(ExpectedCall(name=name) for name in names), mode=mode)


# Reference a, b. Actual: ab, ba, abc, a, nothing.
TABLE = {
    "exact": "PFFFF",
    "in_order": "PFPFF",
    "any_order": "PPFFF",
    "at_least": "PPPFF",
    "only_from": "PPFPP",
    "each": "PPPFF",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("column", "actual"), list(enumerate(["ab", "ba", "abc", "a", ""])))
def test_table_of_modes(mode: str, column: int, actual: str) -> None:
    finding = grade(expecting("ab", mode), sequence(actual))
    assert finding.value == (TABLE[mode][column] == "P")
    if not actual:
        assert "0 calls" in finding.reason or "0 made" in finding.reason


def test_no_calls_in_a_complete_record_pass_only_from_and_say_so() -> None:
    finding = grade(expecting("ab", "only_from"), sequence(""))
    assert finding.value == 1
    assert "0 calls" in finding.reason


def test_matching_is_best_and_not_greedy() -> None:
    # The loose expectation could take the only call that the strict one can have.
    loose = ExpectedCall(name="pay")
    strict = ExpectedCall(name="pay", args={"id": 1})
    trace = trace_of(call("pay", {"id": 1}), call("pay", {"id": 2}))
    for expected in ((loose, strict), (strict, loose)):
        assert verdict(CallsCheck(expected=expected, mode="any_order"), trace) == 1
        assert verdict(CallsCheck(expected=expected, mode="at_least"), trace) == 1
    assert verdict(CallsCheck(expected=(strict, strict), mode="at_least"), trace) == 0
    assert verdict(CallsCheck(expected=(strict, strict), mode="each"), trace) == 1


def arguments(actual: Any, wanted: Any, **more: Any) -> Any:
    spec = CallsCheck(expected=(ExpectedCall(name="f", args=wanted, **more),), mode="exact")
    return grade(spec, trace_of(call("f", actual)))


@pytest.mark.parametrize(
    ("actual", "wanted", "same"),
    [
        ({"n": 1}, {"n": 1}, True),
        ({"n": 1.0}, {"n": 1}, True),
        ({"n": "1"}, {"n": 1}, False),
        ({"n": True}, {"n": 1}, False),
        ({"n": [1]}, {"n": 1}, False),
        ({}, {"n": 1}, False),
        ({"n": None}, {"n": 1}, False),
        ({}, {"n": None}, False),
        ({"n": None}, {}, False),
        ({"n": False}, {"n": 0}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"n": 1, "m": 2}, {"n": 1}, False),
        ({"n": [1, 2]}, {"n": [2, 1]}, False),
        ({"n": {"x": [1, True]}}, {"n": {"x": [1, 1]}}, False),
        ({"n": "caf\u00e9"}, {"n": "cafe\u0301"}, True),
        ({"n": "Cafe"}, {"n": "cafe"}, False),
        ([1, 2], [1, 2], True),
        ([1, 2], {}, False),
        ({}, {}, True),
        ({"n": 0.1}, {"n": 0.1}, True),
        ({"n": 10**400}, {"n": 10**400 + 1}, False),
    ],
)
def test_arguments_are_equal_by_value_and_type(actual: Any, wanted: Any, same: bool) -> None:
    finding = arguments(actual, wanted)
    assert finding.value == same
    if not same:
        assert "s0001" in finding.reason
        assert "argument" in finding.reason


@pytest.mark.parametrize("wanted", [{}, {"id": 7}, [1, 2], None])
def test_malformed_arguments_equal_nothing(wanted: Any) -> None:
    trace = trace_of(call("f", error="Expecting value"))
    finding = grade(CallsCheck(expected=(ExpectedCall(name="f", args=wanted),)), trace)
    assert finding.value == 0
    assert "s0001 f: arguments are not JSON" in finding.reason


def test_malformed_arguments_still_are_a_call_of_that_name() -> None:
    trace = trace_of(call("f", error="Expecting value"))
    assert verdict(CallsCheck(expected=(ExpectedCall(name="f"),), mode="exact"), trace) == 1
    assert verdict(CallsCheck(expected=(ExpectedCall(name="f", args={}, only=()),), mode="exact"), trace) == 1
    assert verdict(CallsCheck(expected=(ExpectedCall(name="f", args={}, only="present"),)), trace) == 0


INSTANT = "2030-03-01T10:00:00Z"


@pytest.mark.parametrize(
    ("comparator", "actual", "wanted", "same"),
    [
        ("datetime", "2030-03-01T11:00:00+01:00", INSTANT, True),
        ("datetime", "1 March 2030", INSTANT, False),
        ("datetime", "2030-03-01T10:00:00", INSTANT, False),
        ("datetime", "2030-03-01T10:00:00", "2030-03-01 10:00", True),
        ("datetime", "2030-03-01", "2030-03-01T00:00:00", False),
        ("datetime", "2030-03-01", "2030-03-01", True),
        ("datetime", "1 March 2030", "1 March 2030", False),
        ("datetime", 1, INSTANT, False),
        (None, "2030-03-01T11:00:00+01:00", INSTANT, False),
        ({"abs_tol": 0.01}, 10.01, 10, True),
        ({"abs_tol": 0.01}, 10.0101, 10, False),
        ({"rel_tol": 0.5}, 15, 10, True),
        ({"abs_tol": 1}, True, 1, False),
        ({"abs_tol": 1}, float("nan"), 1, False),
        ({"abs_tol": 1}, "1", 1, False),
        ("any", "whatever", "x", True),
        ("any", None, "x", True),
        ("nocase", "ACME", "acme", True),
        ("nocase", "ACME Ltd", "acme", False),
        ("number", "1.0", 1, True),
        ("number", "1 apple", 1, False),
        ("number", True, 1, False),
    ],
)
def test_comparators(comparator: Any, actual: Any, wanted: Any, same: bool) -> None:
    compare = {} if comparator is None else {"x": comparator}
    assert arguments({"x": actual}, {"x": wanted}, compare=compare).value == same


def test_a_coercion_is_named() -> None:
    assert "number" in arguments({"x": "1"}, {"x": 1}, compare={"x": "number"}).reason
    assert "compare" not in arguments({"x": 1}, {"x": 1}, compare={"x": "number"}).reason


def test_any_wants_the_argument_but_not_its_value() -> None:
    assert arguments({}, {"x": 1}, compare={"x": "any"}).value == 0
    assert arguments({"y": 2}, {}, compare={"y": "any"}).value == 1


@pytest.mark.parametrize(
    ("only", "actual", "same"),
    [
        ("present", {"a": 1}, True),
        ("present", {}, True),
        ("present", {"a": 1, "b": 2}, True),
        ("present", {"a": 1, "c": 3}, False),
        ("present", {"a": 9}, False),
        (("a",), {"a": 1, "c": 3}, True),
        (("a",), {"b": 2}, False),
        (("z",), {"b": 2}, True),
        ((), {"c": 3}, True),
    ],
)
def test_only_narrows_what_is_compared(only: Any, actual: Any, same: bool) -> None:
    assert arguments(actual, {"a": 1, "b": 2}, only=only).value == same


@pytest.mark.parametrize("comparator", ["fuzzy", {"tol": 1}, {}, {"abs_tol": -1}, {"abs_tol": "x"}, 5, None])
def test_unknown_comparators_are_errors(comparator: Any) -> None:
    with pytest.raises(GraderError) as raised:
        arguments({"x": 1}, {"x": 1}, compare={"x": comparator})
    assert raised.value.code == "bad_comparator"


def test_callers_are_told_apart() -> None:
    trace = trace_of(call("f", role="user"), call("f"))
    assert verdict(CallsCheck(expected=(ExpectedCall(name="f"),), mode="exact"), trace) == 1
    assert verdict(CallsCheck(expected=(ExpectedCall(name="f"),), mode="exact", by="any"), trace) == 0
    both = (ExpectedCall(name="f", by="assistant"), ExpectedCall(name="f", by="user"))
    assert verdict(CallsCheck(expected=both, mode="any_order", by="any"), trace) == 1
    assert verdict(CallsCheck(expected=both, mode="exact", by="any"), trace) == 0


def test_denied_and_draft_calls_are_attempts() -> None:
    trace = trace_of(
        call("f", executed="denied"), call("f", visible="draft_rejected"), call("f", visible="demo")
    )
    assert verdict(CallsCheck(expected=(ExpectedCall(name="f"),) * 2, mode="exact"), trace) == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_format_without_calls_decides_nothing(mode: str) -> None:
    assert isinstance(grade(expecting("ab", mode), trace_of(said("hi"), fidelity=NO_CALLS)), Undecided)


@pytest.mark.parametrize(
    ("mode", "actual", "value"),
    [
        ("exact", "ab", None),
        ("exact", "b", None),
        ("exact", "ba", 0),
        ("exact", "abc", 0),
        ("in_order", "ab", 1),
        ("in_order", "b", None),
        ("any_order", "ba", None),
        ("any_order", "bac", 0),
        ("at_least", "ba", 1),
        ("at_least", "b", None),
        ("only_from", "a", None),
        ("only_from", "c", 0),
        ("each", "a", None),
        ("each", "ab", 1),
    ],
)
def test_an_incomplete_record_decides_only_what_no_lost_step_could_change(
    mode: str, actual: str, value: Any
) -> None:
    trace = trace_of(*(call(name) for name in actual), fidelity=INCOMPLETE)
    assert verdict(expecting("ab", mode), trace) == value


@pytest.mark.parametrize("mode", ["in_order", "at_least", "each"])
def test_modes_that_ask_for_calls_need_some(mode: str) -> None:
    with pytest.raises(GraderError) as raised:
        grade(CallsCheck(expected=(), mode=mode), trace_of(call("f")))
    assert raised.value.code == "empty_check"


def test_expecting_no_call_at_all() -> None:
    for mode in ("exact", "any_order", "only_from"):
        assert verdict(CallsCheck(expected=(), mode=mode), trace_of(said("hi"))) == 1
        assert verdict(CallsCheck(expected=(), mode=mode), trace_of(call("f"))) == 0


def test_reasons_name_step_tool_and_argument() -> None:
    spec = CallsCheck(expected=(ExpectedCall(name="refund", args={"id": 6}),), mode="at_least")
    finding = grade(spec, trace_of(call("look"), call("refund", {"id": 5})))
    assert "s0002 refund: argument id is 5, expected 6" in finding.reason
    finding = grade(CallsCheck(expected=spec.expected, mode="only_from"), trace_of(call("refund", {"id": 5})))
    assert finding.evidence == ("s0001",)
    assert "s0001 refund" in finding.reason
    assert "argument id is 5" in finding.reason


def test_too_many_pairs_are_refused() -> None:
    trace = trace_of(*(call("f") for _ in range(1_001)))
    with pytest.raises(GraderError) as raised:
        grade(CallsCheck(expected=(ExpectedCall(name="f"),) * 1_001, mode="any_order"), trace)
    assert raised.value.code == "too_large"
