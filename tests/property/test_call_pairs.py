"""Which calls fit which is the same, whether it is looked up or every pair is compared."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.checks.arguments import fit
from steelyard.checks.call_pairs import Comparison, shape_of
from steelyard.model.checks import ExpectedCall
from steelyard.model.trace import Call, Step

VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [0, 1, -1, 1.0, True, False, None, "1", "a", "A", "é", "é", "\u212a", "K", [1], [1.0], {"a": 1}, Decimal("1.0"),
     10**400, float("nan"), ""]
)  # fmt: skip
ALIKE = st.sampled_from([1, 1.0, "K", "\u212a"])
ARGS = st.dictionaries(st.sampled_from(["a", "b"]), ALIKE | VALUES, max_size=2)
NAMES = st.sampled_from(["look", "look", "book"])
EXPECTED = st.builds(
    ExpectedCall,
    name=NAMES,
    args=ARGS | st.just(msgspec.UNSET),
    compare=st.just({}) | st.sampled_from([{"a": "nocase"}, {"a": "any"}, {"b": "number"}]),
    only=st.none() | st.sampled_from([(), ("a",), "present"]),
    by=st.sampled_from([None, None, "any", "assistant", "user"]),
)
ONE = st.fixed_dictionaries({"a": ALIKE})
PLAIN = st.builds(ExpectedCall, name=st.just("look"), args=ONE)
PLAIN_CALL = st.builds(Call, name=st.just("look"), args=ONE)
CALL = st.none() | st.builds(
    Call,
    name=NAMES,
    args=ARGS | st.none() | st.just([1]),
    args_error=st.none() | st.none() | st.just("broken"),
)


def steps(calls: list[Call | None], roles: list[Any]) -> list[Step]:
    return [
        Step(
            id=f"s{n + 1:04d}",
            uid="u",
            seq=n,
            turn=n,
            kind="tool_call",
            role=roles[n % len(roles)],
            call=call,
        )
        for n, call in enumerate(calls)
    ]


@given(
    st.lists(EXPECTED | PLAIN, max_size=5),
    st.lists(CALL | PLAIN_CALL, max_size=5),
    st.lists(st.sampled_from(["assistant", "user"]), min_size=1, max_size=2),
)
def test_what_fits_is_looked_up_as_it_is_compared(
    expected: list[ExpectedCall], calls: list[Call | None], roles: list[Any]
) -> None:
    actual = steps(calls, roles)
    compared = Comparison(tuple(expected), actual)
    assert compared.fitting() == [
        [a for a, step in enumerate(actual) if fit(wanted, step).fits] for wanted in expected
    ]
    for e, wanted in enumerate(expected):
        for a, step in enumerate(actual):
            assert compared.fit(e, a).note == fit(wanted, step).note
            assert compared.fit(e, a).fits == fit(wanted, step).fits


@pytest.mark.parametrize(
    ("wanted", "made"), [(1, 1.0), (1.0, 1), ("K", "\u212a"), ("\u212a", "K"), ([1], [1.0])]
)
def test_equal_values_of_other_spelling_fit(wanted: Any, made: Any) -> None:
    expected = (ExpectedCall(name="look", args={"a": wanted, "b": 2}),)
    actual = steps(
        [Call(name="look", args={"a": 3, "b": 2}), Call(name="look", args={"b": 2, "a": made})], ["assistant"]
    )
    assert Comparison(expected, actual).fitting() == [[1]]


def test_numbers_and_ascii_texts_alone_are_plain() -> None:
    assert shape_of({"a": 1, "b": "x"}) == (
        (frozenset("ab"), frozenset("ab")),
        frozenset({("a", 1), ("b", "x")}),
    )
    for value in (1.0, True, None, "é", [1], Decimal(1)):
        assert shape_of({"a": value, "b": 2}) == ((frozenset("ab"), frozenset("b")), frozenset({("b", 2)}))
    assert shape_of([1]) is None
