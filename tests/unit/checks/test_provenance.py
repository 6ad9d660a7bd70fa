"""Where the values of arguments come from, and what is made up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steelyard.model.standard import Fact
from steelyard.model.state_checks import ProvenanceCheck
from steelyard.model.trace import Agent, Fidelity, Part
from steelyard.model.verdict import Undecided
from unit.checks.trials import call, grade, said, trace_of, verdict

ASKED = said(
    "Cancel order #ORD-0041 of March 3rd, 2025 and refund 1,200.50 (15% off) to  Jane Doe. Zone ab-12.",
    role="user",
)
FOUND = call(
    "get", {"id": "ORD-0041"}, result={"lines": [{"p": 3}, {"p": 4.5}], "when": "2025-03-03T10:00:00+02:00"}
)


@pytest.mark.parametrize(
    "value",
    [
        "ORD-0041", "#ORD-0041", "ord0041", "Ord_0041", "2025-03-03", "3 March 2025", "03/03/2025", 1200.5,
        "1200.5",
        15, 0.15, "Jane Doe", "Jane  Doe", 3, 4.5, "4.5", "2025-03-03T08:00:00Z", "AB12", None, "", [3, 4.5],
        {"a": {"b": 3}},
    ],
)  # fmt: skip
def test_what_can_be_traced(value: Any) -> None:
    trace = trace_of(ASKED, FOUND, call("refund", {"x": value}))
    assert verdict(ProvenanceCheck(tools=("refund",)), trace) == 1


@pytest.mark.parametrize(
    "value",
    [
        "ORD-0042", "ORD-004", "0041x", "2025-03-04", 1200.51, 7.5, "jane doe", "Jane Do", "an", True, False, 99, "99",
        "2025-03-03T10:00:00Z", [3, 5], {"a": {"b": 6}}, "made up text", 10**400, float("nan"),
    ],
)  # fmt: skip
def test_what_is_made_up(value: Any) -> None:
    trace = trace_of(ASKED, FOUND, call("refund", {"x": value}))
    finding = grade(ProvenanceCheck(tools=("refund",)), trace)
    assert verdict(ProvenanceCheck(tools=("refund",)), trace) == 0
    assert finding.reason.startswith("s0004 refund, x")
    assert finding.evidence == ("s0004",)


def test_only_what_came_before_counts() -> None:
    later = trace_of(ASKED, call("refund", {"x": 4.5}), FOUND)
    assert verdict(ProvenanceCheck(tools=("refund",)), later) == 0
    own = trace_of(said("Shall I take 77?"), call("other", {"y": 78}), call("refund", {"x": 77, "y": 78}))
    assert "x 77" in grade(ProvenanceCheck(tools=("refund",)), own).reason
    assert "y 78" in grade(ProvenanceCheck(tools=("refund",)), own).reason
    example = trace_of(said("Refund 77", role="user", visible="demo"), call("refund", {"x": 77}))
    assert verdict(ProvenanceCheck(), example) == 0
    parallel = trace_of([call("get", {}, result=77), call("refund", {"x": 77})])
    assert verdict(ProvenanceCheck(), parallel) == 0


def test_instructions_facts_and_documents_are_sources() -> None:
    trace = trace_of(
        call("f", {"a": "alpha", "b": "beta", "c": "gamma"}),
        agents=(Agent(id="a", instructions="use alpha"),),
    )
    facts = {"b": Fact(text="it is beta"), "c": Fact(data={"name": "gamma"})}
    assert verdict(ProvenanceCheck(), trace, facts=facts) == 1
    assert verdict(ProvenanceCheck(), trace) == 0
    shown = trace_of(said("x", role="user"), call("f", {"a": "delta 5"}))
    document = Part(kind="document", doc_id="d1", text="about delta 5")
    steps = list(shown.steps)
    steps[0] = msgspec.structs.replace(steps[0], kind="retrieval", role="tool", parts=(document,))
    assert verdict(ProvenanceCheck(), msgspec.structs.replace(shown, steps=tuple(steps))) == 1


@pytest.mark.parametrize(
    ("derive", "value", "holds"),
    [
        ("sum", 7.5, True), ("sum", 8, False), ("sum", 1203.5, True), ("difference", 1.5, True),
        ("difference", 2, False),
        ("lower", "jane doe", True), ("upper", "JANE DOE", True), ("lower", "JANE DOE", False), ("upper",
        "jane doe", False),
        ("today", "2025-04-01", True), ("today", "2025-04-02", False), ("sum", "7.5", True),
    ],
)  # fmt: skip
def test_derivations(derive: Any, value: Any, holds: bool) -> None:
    made = call("refund", {"x": value}, started_at="2025-04-01T08:00:00Z", clock="utc")
    trace = trace_of(ASKED, FOUND, made)
    assert verdict(ProvenanceCheck(tools=("refund",), derive=(derive,)), trace) == holds
    assert verdict(ProvenanceCheck(tools=("refund",)), trace) == 0


def test_what_needs_no_source() -> None:
    trace = trace_of(
        ASKED, call("refund", {"flag": True, "mode": "fast", "note": {"a": ["free text"]}, "n": 1})
    )
    assert verdict(ProvenanceCheck(ignore=(True, "fast", 1), ignore_args=("note",)), trace) == 1
    assert "flag true" in grade(ProvenanceCheck(ignore=(1, "fast"), ignore_args=("note",)), trace).reason
    assert "n 1" in grade(ProvenanceCheck(ignore=(True, "fast"), ignore_args=("note",)), trace).reason


def test_what_the_record_cannot_show_is_unknown() -> None:
    made_up = call("f", {"x": 99})
    for fidelity in (
        Fidelity(has_tool_calls=False),
        Fidelity(has_tool_results=False),
        Fidelity(complete=False),
    ):
        assert isinstance(grade(ProvenanceCheck(), trace_of(made_up, fidelity=fidelity)), Undecided)
    assert isinstance(grade(ProvenanceCheck(), trace_of(fidelity=Fidelity(complete=False))), Undecided)
    traced = trace_of(said("99", role="user"), made_up, fidelity=Fidelity(complete=False))
    assert verdict(ProvenanceCheck(), traced) == 1
    assert verdict(ProvenanceCheck(tools=("g",)), trace_of(made_up)) == 1
    assert "0 calls" in grade(ProvenanceCheck(tools=("g",)), trace_of(made_up)).reason


def test_a_result_that_was_cut_may_have_held_it() -> None:
    trace = trace_of(call("get", {}, result=[1, 2]), call("f", {"x": 99}))
    steps = list(trace.steps)
    cut = msgspec.structs.replace(steps[1].result, truncated=True)
    steps[1] = msgspec.structs.replace(steps[1], result=cut)
    finding = grade(ProvenanceCheck(), msgspec.structs.replace(trace, steps=tuple(steps)))
    assert isinstance(finding, Undecided)
    assert "the result e1 is cut" in finding.reason
    assert finding.evidence == ("s0003",)


def test_arguments_that_are_no_json_cannot_be_traced() -> None:
    assert "not JSON" in grade(ProvenanceCheck(), trace_of(call("f", error="bad"))).reason
    assert verdict(ProvenanceCheck(), trace_of(call("f", error="bad"))) == 0
