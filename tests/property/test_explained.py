"""What an expression came to is said in the same words, whether the text around the values is at hand or made anew."""

from __future__ import annotations

import ast
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.checks import explain
from steelyard.checks.evaluator import Evaluator, parse
from steelyard.errors import GraderError

NUMBERS = st.sampled_from(["1", "2.50", "a", "b.c", "d[0]", "d[-1]", "len(d)", "abs(a - 3)", "max(a, 2)"])
TEXTS = st.sampled_from(['"x"', "t", "t.strip()", '"a b".upper()', "t.lower().strip()"])
UNREACHED = st.sampled_from(
    [
        "missing.part == 1",
        "d[9] == 1",
        'f"{a}" == t',
        'f"{t!r}{a:>3}" == "x"',
        "[x for x in d] == 1",
        "(lambda x: x)(a)",
    ]
)


@st.composite
def numbers(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(NUMBERS)
    left, right = draw(numbers(depth - 1)), draw(numbers(depth - 1))
    sign = draw(st.sampled_from(["+", "-", "*"]))
    return draw(
        st.sampled_from([f"({left}) {sign} ({right})", f"-({left})", f"({left} if a > 0 else {right})"])
    )


@st.composite
def conditions(draw: st.DrawFn) -> str:
    compared = f"{draw(numbers())} {draw(st.sampled_from(['==', '<', '>=', '!=']))} {draw(numbers())}"
    said = f"{draw(TEXTS)} {draw(st.sampled_from(['in', 'not in', '==']))} {draw(TEXTS)}"
    return draw(
        st.sampled_from(
            [compared, said, f"({compared}) and ({said})", f"not ({compared})", f"a == 1 or {draw(UNREACHED)}",
             f"({compared}) == ({said})", f"a in [1, {draw(numbers())}]"]
        )
    )  # fmt: skip


@given(
    conditions(),
    st.fixed_dictionaries(
        {
            "a": st.integers(-3, 3) | st.floats(-2, 2),
            "b": st.fixed_dictionaries({"c": st.integers(0, 2**70)}),
            "d": st.lists(st.integers(0, 3), min_size=1, max_size=2),
            "t": st.text(max_size=4) | st.sampled_from(["\0", "0\0", "x'\"", "\\", "{", "\ud800"]),
        }
    ),
)
def test_the_same_is_said_either_way(text: str, names: dict[str, Any]) -> None:
    expression = parse(text)
    evaluator = Evaluator(names, frozenset())
    try:
        value = evaluator.value(expression.tree)
    except GraderError:
        return
    said: list[str] = []
    for way in (explain._template, lambda node: None):
        with patch.object(explain, "_template", way):
            try:
                said.append(explain.explained(expression, evaluator, value))
            except ValueError as error:  # Python cannot write some f-strings back
                said.append(str(error))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "text", ["a + 1 == 2", 't in "x"', "a == 1 and b.c > d[0]", "len(d) * 2 <= max(a, 3)"]
)
def test_the_text_around_usual_values_is_at_hand(text: str) -> None:
    template = explain._template(parse(text).tree)
    assert template is not None
    assert any(isinstance(part, ast.expr) for part in template)
