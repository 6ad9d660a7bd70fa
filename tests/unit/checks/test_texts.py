"""equals, contains, excludes, regex."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.checks import selectors, texts
from steelyard.errors import GraderError
from steelyard.model.checks import ContainsCheck, EqualsCheck, ExcludesCheck, RegexCheck
from steelyard.model.verdict import Undecided
from unit.checks.trials import INCOMPLETE, call, grade, said, trace_of, verdict


@pytest.mark.parametrize(
    ("reply", "value", "settings", "same"),
    [
        ("Paris", "Paris", {}, True),
        (" Paris\n", "Paris", {}, True),
        (" Paris", "Paris", {"strip": False}, False),
        ("paris", "Paris", {}, False),
        ("paris", "PARIS", {"case": False}, True),
        ("Paris.", "Paris", {}, False),
        ("caf\u00e9", "cafe\u0301", {}, True),
        ("caf\u00e9", "cafe\u0301", {"nfc": False}, False),
        ("4", 4, {}, True),
        ("4.0", 4, {}, True),
        ("4", "4", {}, True),
        ("4.0", "4", {}, False),
        ("true", True, {}, True),
        ("1", True, {}, False),
        ("True", True, {}, False),
        ('"4"', 4, {}, False),
        ("four", 4, {}, False),
        ("It is 4", 4, {}, False),
        ("0.1", Decimal("0.1"), {}, True),
        ("0.1", 0.1, {}, True),
        ("null", None, {}, True),
        ('```json\n{"a": [1, 2.0]}\n```', {"a": [1.0, 2]}, {}, True),
        ('{"a": 1, "a": 1}', {"a": 1}, {}, False),
        ("NaN", 0, {}, False),
    ],
)
def test_equals(reply: str, value: Any, settings: dict[str, bool], same: bool) -> None:
    assert verdict(EqualsCheck(value=value, **settings), trace_of(said(reply))) == same


@pytest.mark.parametrize(
    ("args", "value", "same"),
    [
        ({"n": 1}, 1, True),
        ({"n": 1.0}, 1, True),
        ({"n": "1"}, 1, False),
        ({"n": 1}, "1", False),
        ({}, 1, False),
    ],
)
def test_equals_of_a_field_never_changes_its_type(args: Any, value: Any, same: bool) -> None:
    assert verdict(EqualsCheck(of="call:f/args/n", value=value), trace_of(call("f", args))) == same


@pytest.mark.parametrize(
    "spec",
    [
        EqualsCheck(value=""),
        EqualsCheck(value=None),
        ContainsCheck(any=("x",)),
        RegexCheck(pattern=".*"),
        RegexCheck(pattern=".*", full=True),
    ],
)
@pytest.mark.parametrize(
    "trace", [trace_of(), trace_of(call("f")), trace_of(said("hm"), call("f")), trace_of(said(" "))]
)
def test_no_reply_fails(spec: Any, trace: Any) -> None:
    finding = grade(spec, trace)
    assert finding.value == 0
    assert "no reply" in finding.reason


def test_no_reply_in_an_incomplete_record_is_undecided() -> None:
    assert isinstance(grade(EqualsCheck(value="x"), trace_of(fidelity=INCOMPLETE)), Undecided)


def test_contains() -> None:
    trace = trace_of(said("first"), said("Total: 1,234 EUR"))
    assert verdict(ContainsCheck(all=("total", "eur")), trace) == 1
    assert verdict(ContainsCheck(all=("total", "usd")), trace) == 0
    assert verdict(ContainsCheck(any=("usd", "eur")), trace) == 1
    assert verdict(ContainsCheck(any=("usd", "gbp")), trace) == 0
    assert verdict(ContainsCheck(all=("total",), case=True), trace) == 0
    assert verdict(ContainsCheck(all=("1234",)), trace) == 0
    assert verdict(ContainsCheck(all=("1234",), drop=","), trace) == 1
    assert verdict(ContainsCheck(all=("first",)), trace) == 0
    assert verdict(ContainsCheck(of="said", all=("first",)), trace) == 1
    assert verdict(ContainsCheck(all=("total",), any=("usd",)), trace) == 0


def test_excludes() -> None:
    trace = trace_of(said("The queries run slower"))
    assert verdict(ExcludesCheck(any=("faster",)), trace) == 1
    assert verdict(ExcludesCheck(any=("faster", "SLOWER")), trace) == 0
    assert verdict(ExcludesCheck(any=("SLOWER",), case=True), trace) == 1
    assert verdict(ExcludesCheck(all=("queries", "slower")), trace) == 0
    assert verdict(ExcludesCheck(all=("queries", "faster")), trace) == 1


@pytest.mark.parametrize(
    "trace", [trace_of(), trace_of(said("")), trace_of(said(" \n")), trace_of(call("f"))]
)
def test_silence_does_not_show_what_was_not_said(trace: Any) -> None:
    assert isinstance(grade(ExcludesCheck(any=("x",)), trace), Undecided)


def test_an_incomplete_record_shows_what_was_said_but_not_what_was_not() -> None:
    trace = trace_of(said("slower"), fidelity=INCOMPLETE)
    assert verdict(ExcludesCheck(any=("slower",)), trace) == 0
    assert isinstance(grade(ExcludesCheck(any=("faster",)), trace), Undecided)


def test_structures_are_read_leaf_by_leaf() -> None:
    trace = trace_of(call("send", {"body": {"lines": ['say "secret"', 7, None]}}))
    assert verdict(ExcludesCheck(of="call:send", any=('"secret"',)), trace) == 0
    assert verdict(ContainsCheck(of="call:send", all=("lines", "7")), trace) == 1


@pytest.mark.parametrize(
    "check", [ContainsCheck(), ExcludesCheck(), ContainsCheck(any=("",)), ExcludesCheck(all=("",))]
)
def test_checks_that_state_nothing_are_errors(check: Any) -> None:
    with pytest.raises(GraderError) as raised:
        grade(check, trace_of(said("x")))
    assert raised.value.code == "empty_check"


def test_regex() -> None:
    trace = trace_of(said("order 42\nshipped"))
    assert verdict(RegexCheck(pattern=r"order \d+"), trace) == 1
    assert verdict(RegexCheck(pattern=r"order \d+", full=True), trace) == 0
    assert verdict(RegexCheck(pattern=r"(?s)order.*shipped", full=True), trace) == 1
    assert verdict(RegexCheck(pattern=r"ORDER"), trace) == 0
    assert verdict(RegexCheck(pattern=r"(?i)ORDER"), trace) == 1
    assert verdict(RegexCheck(pattern="."), trace_of(said("\ud800\u0000"))) == 1
    assert verdict(RegexCheck(pattern=r"\d"), trace_of(said("\ud800"))) == 0


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "\ud800", "((a{1000}){1000}){1000}"])
def test_patterns_that_re2_refuses_are_errors(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(GraderError) as raised:
        grade(RegexCheck(pattern=pattern), trace_of(said("aaa")))
    assert raised.value.code == "bad_pattern"
    assert capfd.readouterr().err == ""


def test_a_pattern_that_backtracks_elsewhere_is_quick_here() -> None:
    assert verdict(RegexCheck(pattern="(a+)+$"), trace_of(said("a" * 200_000 + "b"))) == 0


PIECES = st.text("aA \n\u00e9e\u0301\u1100\u1161\u00df\u0130", max_size=30)


@given(text=PIECES, wanted=st.lists(PIECES, max_size=3), case=st.booleans(), window=st.integers(1, 8))
def test_windows_find_what_the_whole_text_holds(
    text: str, wanted: list[str], case: bool, window: int
) -> None:
    whole = texts.folded(text, case=case)
    held = {each for each in wanted if texts.folded(each, case=case) in whole}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "LONG", window)
        assert texts.folded(text, case=case) == whole
        assert texts.standing(wanted, [text], case=case) == held
        assert texts.standing(wanted, texts.texts_of(text.split("\n")), case=case) == held


@pytest.mark.parametrize(
    ("output", "check", "value"),
    [
        ('[" done', ContainsCheck(of="result:f", all=("done",)), 1),
        ('[" done"]', ContainsCheck(of="result:f", all=("done",)), 1),
        (r'["\u0064one"]', ExcludesCheck(of="result:f", any=("done",)), None),
        (r'["\u0064one"]', ContainsCheck(of="result:f", all=("done",)), None),
        ('["done"]', EqualsCheck(of="result:f/0", value="done"), None),
        (r"\u0064one", ExcludesCheck(of="result:f", any=("done",)), 1),
    ],
)
def test_what_a_result_that_was_too_long_to_decode_says_is_unknown(
    output: str, check: Any, value: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "MOST_DECODED", 5)
    finding = grade(check, trace_of(call("f", result=output)))
    assert (None if isinstance(finding, Undecided) else finding.value) == value
