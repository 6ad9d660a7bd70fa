"""Laws of the comparison that verdicts and printed differences share."""

from __future__ import annotations

import itertools
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steelyard.checks.comparison import differences, said
from steelyard.model.state_checks import CsvCheck, StateCheck
from steelyard.rules.values import json_equal
from unit.checks.trials import grade, trace_of, verdict
from unit.checks.trials import said as reply
from unit.checks.worlds import left

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, 0.5, -2.0]),
    st.text("ab", max_size=2),
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
rows = st.lists(st.dictionaries(st.sampled_from("ab"), leaves, min_size=1), max_size=4)


def shuffled(value: Any, draw: Any) -> Any:
    """The same value with every list in another order."""
    if isinstance(value, list):
        return draw(st.permutations([shuffled(child, draw) for child in value]))
    return {key: shuffled(child, draw) for key, child in value.items()} if isinstance(value, dict) else value


def slow_equal(left_one: Any, right: Any) -> bool:
    """Equality of multisets at every depth, by trying every order."""
    if isinstance(left_one, list) and isinstance(right, list):
        return len(left_one) == len(right) and any(
            all(slow_equal(a, b) for a, b in zip(left_one, order, strict=True))
            for order in itertools.permutations(right)
        )
    if isinstance(left_one, dict) and isinstance(right, dict):
        return left_one.keys() == right.keys() and all(
            slow_equal(left_one[key], right[key]) for key in left_one
        )
    return json_equal(left_one, right)


@given(value=values, data=st.data())
def test_the_order_of_lists_never_changes_the_verdict(value: Any, data: st.DataObject) -> None:
    other = shuffled(value, data.draw)
    assert differences(other, value) == []
    assert differences(other, value, abs_tol=Fraction(1, 10)) == []
    assert verdict(StateCheck(value=value), left({"x": other})) == 0
    assert verdict(StateCheck(pointer="/x", value=value), left({"x": other})) == 1


@given(one=values, other=values)
def test_no_differences_means_equal_and_nothing_else_does(one: Any, other: Any) -> None:
    assert (differences(one, other) == []) == slow_equal(one, other)
    assert (differences(one, other, ordered=True) == []) == json_equal(one, other)
    assert bool(differences(one, other)) == bool(differences(other, one))


@given(one=values, other=values)
def test_the_verdict_is_what_is_printed(one: Any, other: Any) -> None:
    for ordered in (True, False):
        spec = StateCheck(pointer="/x", value=other, ordered=ordered)
        unlike = differences(one, other, ordered=ordered)
        finding = grade(spec, left({"x": one}))
        assert verdict(spec, left({"x": one})) == (0 if unlike else 1)
        assert not unlike or finding.reason == said(unlike, "state#/x")
        order_only = [each for each in unlike if each.kind == "order"]
        assert all(not differences(each.found, each.expected) for each in order_only)


@given(
    found=st.lists(st.integers(0, 6), max_size=5),
    expected=st.lists(st.integers(0, 6), max_size=5),
    tol=st.integers(1, 2),
)
def test_near_numbers_are_matched_as_well_as_can_be(found: list[int], expected: list[int], tol: int) -> None:
    fits = len(found) == len(expected) and any(
        all(abs(a - b) <= tol for a, b in zip(found, order, strict=True))
        for order in itertools.permutations(expected)
    )
    assert (differences(found, expected, abs_tol=Fraction(tol)) == []) == fits


@given(one=rows, other=rows)
def test_missing_and_unexpected_rows_count_up(one: list[Any], other: list[Any]) -> None:
    unlike = differences(one, other)
    lacking = sum(each.element and each.kind == "missing" for each in unlike)
    extra = sum(each.element and each.kind == "unexpected" for each in unlike)
    assert len(one) - len(other) == extra - lacking


cells = st.sampled_from(["1", "01", "a", "", "x y", "é", 'q"', "l\nf", "a,b"])


@given(table=st.lists(st.tuples(cells, cells), max_size=5), data=st.data())
def test_the_order_of_rows_of_a_table_changes_nothing(
    table: list[tuple[str, str]], data: st.DataObject
) -> None:
    def text(some: list[tuple[str, str]]) -> str:
        quoted = ([f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row] for row in some)
        return "\n".join(["a,b", *(",".join(row) for row in quoted)])

    order = data.draw(st.permutations(table))
    trace = trace_of(reply(text(order)))
    spec = CsvCheck(columns=("a", "b"), rows=tuple([*row] for row in table))
    assert verdict(spec, trace) == 1
    assert verdict(CsvCheck(rows=spec.rows, ordered=True), trace) == (1 if order == table else 0)
    other = data.draw(st.lists(st.tuples(cells, cells), max_size=5))
    assert (verdict(CsvCheck(rows=tuple([*row] for row in other)), trace) == 1) == (
        Counter(other) == Counter(table)
    )


@given(
    number=st.decimals(-100, 100, places=2), off=st.decimals(0, 2, places=2), tol=st.decimals(0, 1, places=2)
)
def test_tolerances_are_exact_and_inclusive(number: Decimal, off: Decimal, tol: Decimal) -> None:
    spec = StateCheck(pointer="/n", value=number, abs_tol=tol)
    assert (verdict(spec, left({"n": number + off})) == 1) == (off <= tol)
