"""Laws of equality, matching and arithmetic, each against a second way of saying the same."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steelyard.checks.equality import equal
from steelyard.checks.jsontext import NotJsonError, parse_json_text
from steelyard.checks.matching import adjacency, best_matching, is_subsequence, longest_in_order
from steelyard.checks.numbers import exact, number_text
from steelyard.checks.show import clean, show
from steelyard.model.checks import (
    CallsCheck,
    EqualsCheck,
    ExcludesCheck,
    ExpectedCall,
    ExprCheck,
    NumberCheck,
    RecordsCheck,
)
from steelyard.rules.values import json_equal, packed
from unit.checks.trials import call, said, trace_of, verdict

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)
anything = st.one_of(values, st.floats(), st.decimals(), st.binary(max_size=2))


def tagged(value: Any) -> Any:
    """A value with its JSON type spelt out, so that Python's own equality is JSON's."""
    if isinstance(value, bool) or value is None:
        return ("constant", str(value))
    if isinstance(value, (int, float)):
        return ("number", Fraction(Decimal(repr(value))))
    if isinstance(value, list):
        return ("list", [tagged(element) for element in value])
    if isinstance(value, dict):
        return ("object", {key: tagged(element) for key, element in value.items()})
    return ("text", value)


@given(left=values, right=values)
def test_equality_is_of_value_and_type(left: Any, right: Any) -> None:
    assert json_equal(left, left)
    assert json_equal(left, right, text=lambda text: text) == (tagged(left) == tagged(right))
    assert json_equal(left, right) == json_equal(right, left)
    if packed(left) is not None and packed(left) == packed(right):
        assert json_equal(left, right)


@given(value=values)
def test_a_value_equals_itself_after_a_trip_through_text(value: Any) -> None:
    text = json.dumps(value)
    assert json_equal(parse_json_text(text), value)
    assert json_equal(parse_json_text(f"```json\n{text}\n```"), value)
    assert verdict(EqualsCheck(of="answer#", value=value), trace_of(said(text))) == 1


@given(value=anything, text=st.text(max_size=30))
def test_whatever_is_shown_can_be_written(value: Any, text: str) -> None:
    assert show(value).encode("utf-8")
    assert len(show(value)) < 700
    assert len(clean(text).encode("utf-8")) >= len(text)
    assert clean(clean(text)) == clean(text)
    assert text == clean(text) or not text.isprintable()


@given(text=st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \\`\n\ud800', max_size=40))
def test_odd_text_is_json_or_refused(text: str) -> None:
    try:
        parse_json_text(text)
    except NotJsonError:
        return
    body = text.strip()
    assert "NaN" not in body
    if "`" not in body:
        json.loads(body)


graphs = st.lists(st.sets(st.integers(0, 4)), max_size=5)


def largest(fitting: list[set[int]]) -> int:
    """The size of the largest matching, by trying every choice."""
    best = 0
    for choice in itertools.product(*[[None, *sorted(rights)] for rights in fitting]):
        taken = [right for right in choice if right is not None]
        if len(taken) == len(set(taken)):
            best = max(best, len(taken))
    return best


@given(graph=graphs)
def test_the_matching_is_a_largest_one(graph: list[set[int]]) -> None:
    matching = best_matching([sorted(rights) for rights in graph])
    assert len(matching) == largest(graph)
    assert all(right in graph[left] for left, right in matching.items())
    assert len(set(matching.values())) == len(matching)


def longest(left: list[int], right: list[int]) -> int:
    if not left or not right:
        return 0
    if left[-1] == right[-1]:
        return longest(left[:-1], right[:-1]) + 1
    return max(longest(left[:-1], right), longest(left, right[:-1]))


letters = st.lists(st.integers(0, 2), max_size=6)


@given(left=letters, right=letters)
def test_the_order_kept_is_the_longest(left: list[int], right: list[int]) -> None:
    fitting = adjacency(len(left), len(right), lambda a, b: left[a] == right[b])
    assert longest_in_order(fitting, len(right)) == longest(left, right)
    whole = is_subsequence(len(left), len(right), lambda a, b: left[a] == right[b])
    assert (whole is not None) == (longest(left, right) == len(left))


names = st.lists(st.sampled_from("abc"), max_size=5)


@given(expected=names, actual=names)
def test_modes_relate_as_sequences_and_multisets_do(expected: list[str], actual: list[str]) -> None:
    trace = trace_of(*(call(name) for name in actual))

    def holds(mode: Any) -> bool:
        calls = tuple(ExpectedCall(name=name) for name in expected)
        return bool(verdict(CallsCheck(expected=calls, mode=mode), trace))

    assert holds("exact") == (expected == actual)
    assert holds("any_order") == (sorted(expected) == sorted(actual))
    assert holds("only_from") == (set(actual) <= set(expected))
    if expected:
        assert holds("in_order") == (
            longest([ord(n) for n in expected], [ord(n) for n in actual]) == len(expected)
        )
        assert holds("at_least") == all(actual.count(name) >= expected.count(name) for name in expected)
        assert holds("each") == (set(expected) <= set(actual))


@given(
    expected=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    actual=st.lists(st.integers(0, 3), max_size=6),
)
def test_records_are_counted_as_a_multiset(expected: list[int], actual: list[int]) -> None:
    k = sum(min(expected.count(value), actual.count(value)) for value in set(expected))
    found = verdict(RecordsCheck(expected=tuple(expected)), trace_of(said(json.dumps(actual))))
    assert found == Fraction(k, len(expected))
    assert found == verdict(RecordsCheck(expected=tuple(expected)), trace_of(said(json.dumps(actual[::-1]))))


decimals = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**6), max_value=10**6)


@given(number=decimals)
def test_numbers_are_read_exactly(number: Decimal) -> None:
    written = format(number, "f")
    assert number_text(written) == Fraction(written)
    assert exact(number) == Fraction(number)
    assert verdict(NumberCheck(value=number), trace_of(said(written))) == 1
    assert verdict(NumberCheck(value=number), trace_of(said(f"It is {written}."))) == 0


operands = st.integers(-50, 50) | decimals


@given(
    a=operands,
    b=operands,
    sign=st.sampled_from(["+", "-", "*"]),
    order=st.sampled_from(["<", "<=", "==", "!="]),
)
def test_expressions_compute_in_fractions(a: Any, b: Any, sign: str, order: str) -> None:
    left = {"+": Fraction(a) + Fraction(b), "-": Fraction(a) - Fraction(b), "*": Fraction(a) * Fraction(b)}[
        sign
    ]
    right = Fraction(a)
    holds = {"<": left < right, "<=": left <= right, "==": left == right, "!=": left != right}[order]
    spec = ExprCheck(expr=f"a {sign} b {order} a", let={"a": "call:f/args/a", "b": "call:f/args/b"})
    assert verdict(spec, trace_of(call("f", {"a": a, "b": b}))) == holds


@given(reply=st.text(min_size=1, max_size=20), word=st.text(min_size=1, max_size=3))
def test_excludes_never_passes_what_contains_would_find(reply: str, word: str) -> None:
    trace = trace_of(said(reply))
    found = verdict(ExcludesCheck(any=(word,), case=True), trace)
    if word in reply:
        assert found in (0, None)
    if found is None:
        assert not reply.strip()


@given(
    st.text(max_size=4) | st.sampled_from(["K", "\u212a", "k", " a", "a", "é", "e\u0301", "ß", "SS"]),
    st.text(max_size=4) | st.sampled_from(["K", "\u212a", "k", " a", "a", "é", "e\u0301", "ß", "ss"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_texts_are_equal_as_json_is(left: str, right: str, strip: bool, case: bool, composed: bool) -> None:
    options = {"strip": strip, "case": case, "composed": composed}
    assert equal(left, right, **options) == equal([left], [right], **options)
    assert equal(left, left, **options)
