"""The key of a verdict: what it is made of, and what values it tells apart."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from steelyard.grading import address
from steelyard.grading.address import Addressing, spelt
from steelyard.grading.findings import narrow
from steelyard.model.checks import EqualsCheck, NumberCheck, Rule, RuleCheck
from steelyard.model.standard import Criterion, Task, View
from steelyard.model.trace import EndState, Fidelity, Trace
from steelyard.ports.grader import GraderInput
from unit.checks.trials import call, said, trace_of

TRACE = trace_of(call("look", {"id": 7}, result={"total": 40}), said("Paris"))


class Reader:
    """A grader that says what it reads."""

    def __init__(self, *aspects: str, kind: str = "stub", version: str = "1") -> None:
        self.aspects = frozenset(aspects)
        self.kind, self.version = kind, version

    def reads(self, spec: Any) -> frozenset[str]:
        return self.aspects

    def grade(self, spec: Any, given: GraderInput) -> Any:
        raise NotImplementedError


def criterion(**settings: Any) -> Criterion:
    given_ = {
        "id": "C1", "dimension": "correctness", "layer": "outcome", "rule": "It MUST be Paris.",
        "check": EqualsCheck(value="Paris"),
    }  # fmt: skip
    return Criterion(**{**given_, **settings})


def key(
    grader: Reader | None = None,
    *,
    trace: Trace = TRACE,
    asked: Criterion | None = None,
    extracted: Any = None,
    state_hash: Any = lambda state: "hash",
    **task: Any,
) -> bytes:
    asked = asked or criterion()
    owner = Task(**{"id": "france", "prompt": "Capital?", "criteria": (asked,), **task})
    given_ = GraderInput(task=owner, criterion=asked, trace=trace, extracted=extracted or {})
    return Addressing(owner, trace, state_hash).key(grader or Reader("answer"), asked, given_)


def test_a_key_is_a_digest_and_always_the_same() -> None:
    assert len(key()) == 32
    assert key() == key()


@pytest.mark.parametrize(
    "changed",
    [
        {"grader": Reader("answer", version="2")},
        {"grader": Reader("answer", kind="other")},
        {"grader": Reader("said")},
        {"asked": criterion(rule="It MUST be exactly Paris.")},
        {"asked": criterion(check=EqualsCheck(value="paris"))},
        {"asked": criterion(check=EqualsCheck(value="Paris", case=False))},
        {"asked": criterion(check=NumberCheck(value=Decimal(1)))},
        {"asked": criterion(view=View(last=1))},
        {"trace": msgspec.structs.replace(TRACE, fidelity=Fidelity(trusted_actions=False))},
        {"trace": trace_of(said("Paris"))},
    ],
)
def test_what_decides_is_in_the_key(changed: dict[str, Any]) -> None:
    assert key(**changed) != key()


@pytest.mark.parametrize(
    "changed",
    [
        {"asked": criterion(id="C9")},
        {"asked": criterion(weight=Decimal(7), pass_mark=Decimal("0.5"), gate=True, failure_tag="X")},
        {"asked": criterion(dimension="grounding", layer="process", needs=("C0",), rubric="shared")},
        {"id": "another task", "prompt": "Where?", "weight": Decimal(3), "tags": {"kind": "x"}},
        {"trace": msgspec.structs.replace(TRACE, id="u", trial=4, measurements={"seconds": 9.0})},
        {"extracted": {"size": 1}},
    ],
)
def test_what_only_weighs_or_is_not_read_is_not(changed: dict[str, Any]) -> None:
    assert key(**changed) == key()


def test_a_state_is_looked_at_only_where_it_is_read() -> None:
    seen: list[EndState] = []

    def hashed(state: EndState) -> str:
        seen.append(state)
        return repr(state)

    one = msgspec.structs.replace(TRACE, state_after=EndState(json={"a": 1}))
    other = msgspec.structs.replace(TRACE, state_after=EndState(json={"a": 2}))
    assert key(trace=one, state_hash=hashed) == key(trace=other, state_hash=hashed)
    assert seen == []
    reader = Reader("state_after")
    assert key(reader, trace=one, state_hash=hashed) != key(reader, trace=other, state_hash=hashed)
    assert key(reader, state_hash=hashed) not in {
        key(reader, trace=each, state_hash=hashed) for each in (one, other)
    }


def test_aspects_are_hashed_once_and_views_apart() -> None:
    asked = criterion()
    task = Task(id="t", prompt="", criteria=(asked,))
    addressing = Addressing(task, TRACE, lambda state: "")
    whole = GraderInput(task=task, criterion=asked, trace=TRACE)
    part = GraderInput(
        task=task, criterion=asked, trace=msgspec.structs.replace(TRACE, steps=TRACE.steps[2:])
    )
    reader = Reader("calls", "results")
    first = addressing.key(reader, asked, whole)
    assert addressing.key(reader, asked, part) != first
    assert addressing.key(reader, asked, whole) == first


def test_a_view_that_hides_a_call_is_told_apart_from_one_that_hides_none() -> None:
    """The hidden call is in nothing that the check reads, and yet leaves its record incomplete."""
    rule = RuleCheck(rule=Rule(id="r", tool=("drop",)))
    asked = criterion(check=rule, view=View(last=1))
    keys = set()
    for trace in (trace_of(call("look"), said("Paris")), trace_of(call("drop"), said("Paris"))):
        task = Task(id="t", prompt="", criteria=(asked,))
        shown = GraderInput(task=task, criterion=asked, trace=narrow(trace, asked))
        keys.add(Addressing(task, trace, lambda state: "").key(Reader("calls"), asked, shown))
    assert len(keys) == 2


def test_the_ids_of_the_steps_that_are_read_are_in_the_key() -> None:
    """Else a verdict that is used again would cite steps of another trial."""
    moved = trace_of(
        said("Which one?", role="user"), call("look", {"id": 7}, result={"total": 40}), said("Paris")
    )
    for aspect in ("answer", "said", "calls", "call:look", "results", "result:look", "messages", "steps"):
        assert key(Reader(aspect), trace=moved) != key(Reader(aspect)), aspect


def test_one_tool_or_fact_alone() -> None:
    other = trace_of(
        call("look", {"id": 7}, result={"total": 40}), call("list", {"x": 1}, result=[1]), said("Paris")
    )
    third = trace_of(
        call("look", {"id": 7}, result={"total": 40}), call("list", {"x": 2}, result=[2]), said("Paris")
    )
    for alone, all_of_them in (("call:look", "calls"), ("result:look", "results")):
        assert key(Reader(alone), trace=other) == key(Reader(alone), trace=third) == key(Reader(alone))
        assert key(Reader(all_of_them), trace=other) != key(Reader(all_of_them), trace=third)


DIFFERENT = [
    1, 1.0, "1", True, Decimal(1), Decimal("1.0"), b"1", "MQ==", None, float("nan"), float("inf"), float("-inf"), "nan",
    0, False, "", [], {}, [None], [1], ["1"], {"1": 1}, {"1": "1"}, [[1]], "[1]", Fraction(1, 2), "1/2", 0.5,
    "\ud800", "\\ud800", "\ufffd", 2**64, 2**64 + 1, float(2**64), -0.0, "é", "e\u0301",
]  # fmt: skip


def test_values_that_differ_are_spelt_differently() -> None:
    texts = [spelt(value) for value in DIFFERENT]
    for (one, text), (other, text_2) in itertools.combinations(zip(DIFFERENT, texts, strict=True), 2):
        assert text != text_2, (one, other)
    assert spelt({"a": 1, "b": 2}) == spelt({"b": 2, "a": 1})
    assert spelt({"b": {2, 1, 3}}) == spelt({"b": {3, 2, 1}})


def test_what_cannot_be_spelt_raises() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, 10**5_000, {1: 1, "1": 2, None: 3}):
        with pytest.raises((RecursionError, ValueError, TypeError)):
            spelt(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_equal_spelling_is_equal_content(one: Any, other: Any) -> None:
    assert spelt(one) == spelt(msgspec.to_builtins(one))
    if spelt(one) == spelt(other):
        assert repr(one) == repr(other) or one == other


@given(st.sampled_from(DIFFERENT), st.sampled_from(DIFFERENT))
def test_values_that_differ_give_different_keys(one: Any, other: Any) -> None:
    """Also a decimal and the text of it, which MessagePack writes alike."""
    keys = [key(Reader("extracted"), extracted={"x": [value]}) for value in (one, other)]
    assert (keys[0] == keys[1]) is (one is other)


def test_a_long_text_of_the_criterion_or_of_the_trial_is_told_apart_to_its_end() -> None:
    long = "x" * 3_000_000
    traces = [trace_of(said(long + end)) for end in "ab"]
    assert len({key(Reader(aspect), trace=one) for one in traces for aspect in ("answer", "said")}) == 4
    assert key(asked=criterion(rule=long + "a")) != key(asked=criterion(rule=long + "b"))


@given(st.lists(st.text(st.characters(), max_size=5), max_size=3))
def test_what_cannot_hold_a_decimal_has_the_same_hash_when_decimals_are_looked_for(texts: list[str]) -> None:
    trace = trace_of(said("Let me look"), call("look", {}, result="1"), *map(said, texts))
    for aspect in sorted(address._SAID):
        value = address._READERS[aspect](trace, None)
        assert address._digest(value, decimals=False) == address._digest(value)
