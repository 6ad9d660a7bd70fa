"""Rules as people write them, over recorded trials; and the same decisions one event at a time."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from steelyard.errors import GraderError
from steelyard.model.checks import Condition, EventRef, Limit, Rule, RuleCheck
from steelyard.model.trace import Fidelity
from steelyard.model.verdict import Undecided
from steelyard.rules import Event, compile_rule, decide, events_of, hits, initial, step
from unit.checks.trials import INCOMPLETE, NO_CALLS, call, grade, said, trace_of, verdict


def rule(*tools: str, **more: Any) -> RuleCheck:
    return RuleCheck(rule=Rule(id="r", tool=tools, **more))


def where(arg: str, op: Any, value: Any = None) -> tuple[Condition, ...]:
    return (Condition(arg=arg, op=op, value=value),)


def test_a_ban() -> None:
    trace = trace_of(said("go", role="user"), [said("ok"), call("delete_all")], said("done"))
    finding = grade(rule("delete_all", reason="Nothing may be deleted."), trace)
    assert finding.value == 0
    assert finding.evidence == ("s0003",)
    assert "s0003, message 1" in finding.reason
    assert "Nothing may be deleted." in finding.reason
    assert verdict(rule("delete"), trace) == 1
    assert verdict(rule("Delete_all"), trace) == 1


def test_patterns_only_on_request() -> None:
    trace = trace_of(call("delete_all"))
    assert verdict(rule("delete_*"), trace) == 1
    assert verdict(rule("delete_*", glob=True), trace) == 0
    assert verdict(rule("Delete_*", glob=True), trace) == 1
    assert verdict(rule("*"), trace) == 0


@pytest.mark.parametrize("effect", ["deny", "ask", "warn", "audit"])
def test_any_hit_is_a_violation_whatever_the_effect(effect: Any) -> None:
    assert verdict(rule("f", effect=effect), trace_of(call("f"))) == 0
    assert (
        decide(compile_rule(rule("f", effect=effect).rule), initial_of("f"), Event(turn=0, name="f")).effect
        == effect
    )


def initial_of(*tools: str) -> Any:
    return initial(compile_rule(rule(*tools).rule))


@pytest.mark.parametrize(
    "more", [{"executed": "denied"}, {"executed": "no"}, {"visible": "draft_rejected"}, {"error": "bad"}]
)
def test_attempts_count_even_when_blocked(more: Any) -> None:
    assert verdict(rule("f"), trace_of(call("f", **more))) == 0


@pytest.mark.parametrize("visible", ["demo", "copied_context", "synthetic"])
def test_repeated_and_illustrating_calls_are_no_attempts(visible: str) -> None:
    assert verdict(rule("f"), trace_of(call("f", visible=visible))) == 1


def test_callers() -> None:
    trace = trace_of(call("f", role="user"))
    assert verdict(rule("f"), trace) == 1
    assert verdict(rule("f", by="user"), trace) == 0
    assert verdict(rule("f", by="any"), trace) == 0
    assert verdict(rule("f"), trace_of(call("f", role="none"))) == 0


def test_no_calls_in_a_complete_record_pass_and_say_so() -> None:
    finding = grade(rule("f"), trace_of(said("hi")))
    assert finding.value == 1
    assert "0 calls" in finding.reason
    told = grade(rule("f"), trace_of(said("hi"), fidelity=Fidelity(trusted_actions=False)))
    assert "own account" in told.reason


@pytest.mark.parametrize("fidelity", [INCOMPLETE, NO_CALLS])
def test_a_record_that_could_not_show_a_hit_is_undecided_unless_it_does(fidelity: Any) -> None:
    assert isinstance(grade(rule("f"), trace_of(call("g"), fidelity=fidelity)), Undecided)
    assert verdict(rule("f"), trace_of(call("f"), fidelity=fidelity)) == 0


@pytest.mark.parametrize(
    ("op", "value", "args", "holds"),
    [
        ("exists", None, {"x": 1}, True),
        ("exists", None, {"x": None}, True),
        ("exists", None, {}, False),
        ("exists", False, {}, True),
        ("exists", False, {"x": 1}, False),
        ("eq", "USD", {"x": "USD"}, True),
        ("eq", "USD", {"x": "EUR"}, False),
        ("eq", "USD", {}, False),
        ("eq", 1, {"x": 1.0}, True),
        ("eq", 1, {"x": True}, False),
        ("eq", 1, {"x": "1"}, False),
        ("eq", 1, {"x": float("nan")}, False),
        ("eq", None, {"x": None}, True),
        ("eq", None, {}, False),
        ("in", ["a", "b"], {"x": "b"}, True),
        ("in", ["a", "b"], {"x": "c"}, False),
        ("in", [1], {"x": True}, False),
        ("in", [], {"x": 1}, False),
        ("path_under", "/srv/data", {"x": "/srv/data"}, True),
        ("path_under", "/srv/data", {"x": "/srv/data/a.txt"}, True),
        ("path_under", "/srv/data/", {"x": "/srv//data/./b/../a.txt"}, True),
        ("path_under", "/srv/data", {"x": "/srv/database"}, False),
        ("path_under", "/srv/data", {"x": "/srv/data/../secret"}, False),
        ("path_under", "/srv/data", {"x": "/srv/data/../../../srv/data/a"}, True),
        ("path_under", "/srv/data", {"x": "srv/data/a"}, False),
        ("path_under", "/srv/data", {"x": "~/a"}, False),
        ("path_under", "/srv/data", {"x": "/srv/data/a\0b"}, False),
        ("path_under", "/srv/data", {"x": "C:\\srv\\data"}, False),
        ("path_under", "/srv/data", {"x": "/srv/data\\..\\..\\etc"}, False),
        ("path_under", "/srv/data", {"x": ["/srv/data/a"]}, False),
        ("path_under", "/srv/data", {"x": ""}, False),
        ("path_under", "/srv/data", {"x": None}, False),
        ("path_under", "/srv/data", {}, False),
        ("path_under", ["/tmp", "/srv"], {"x": "/srv/a"}, True),
        ("path_under", ["/tmp", "/srv"], {"x": "/var/a"}, False),
        ("path_under", "/", {"x": "/anything"}, True),
    ],
)
def test_requirements(op: Any, value: Any, args: Any, holds: bool) -> None:
    assert verdict(rule("f", require=where("x", op, value)), trace_of(call("f", args))) == holds


def test_arguments_by_pointer() -> None:
    trace = trace_of(call("f", {"a": {"b": [1, 2]}}))
    assert verdict(rule("f", require=where("/a/b/1", "eq", 2)), trace) == 1
    assert verdict(rule("f", require=where("/a/b/2", "exists")), trace) == 0
    assert verdict(rule("f", require=where("a/b", "exists")), trace) == 0


@pytest.mark.parametrize(
    ("args", "hit"),
    [
        ({"currency": "USD"}, True),
        ({"currency": "EUR"}, False),
        ({}, True),
        ({"currency": 5}, True),
        ([], True),
        ("text", True),
    ],
)
def test_a_guard_that_cannot_be_evaluated_does_not_excuse(args: Any, hit: bool) -> None:
    assert verdict(rule("pay", when=where("currency", "eq", "USD")), trace_of(call("pay", args))) == (not hit)


def test_a_guard_that_is_false_in_one_part_excuses() -> None:
    guard = (*where("missing", "eq", 1), *where("currency", "eq", "USD"))
    assert verdict(rule("pay", when=guard), trace_of(call("pay", {"currency": "EUR"}))) == 1
    assert verdict(rule("pay", when=guard), trace_of(call("pay", {"currency": "USD"}))) == 0


def test_malformed_arguments_violate_what_reads_arguments() -> None:
    trace = trace_of(call("f", error="bad"))
    assert "not JSON" in grade(rule("f", require=where("x", "exists", False)), trace).reason
    assert verdict(rule("f", when=where("x", "eq", 1)), trace) == 0
    assert verdict(rule("f", limit=Limit(scope="turn", max=1)), trace) == 1


def test_after() -> None:
    check = rule("refund", after=EventRef(tool="verify"))
    assert verdict(check, trace_of(call("verify"), call("refund"))) == 1
    assert verdict(check, trace_of(call("refund"), call("verify"))) == 0
    assert verdict(check, trace_of(call("refund"))) == 0
    # Calls of one message have no order: neither is before the other.
    assert verdict(check, trace_of([call("verify"), call("refund")])) == 0
    assert verdict(check, trace_of(call("verify", executed="denied"), call("refund"))) == 0
    assert verdict(check, trace_of(call("verify"), said("x"), call("refund"), call("refund"))) == 1


def test_never_after() -> None:
    check = rule("refund", never_after=EventRef(tool="close"))
    assert verdict(check, trace_of(call("refund"), call("close"))) == 1
    assert verdict(check, trace_of(call("close"), said("x"), call("refund"))) == 0
    assert verdict(check, trace_of([call("close"), call("refund")])) == 1
    assert verdict(check, trace_of(call("close", executed="denied"), call("refund"))) == 1


def test_never_with_text() -> None:
    check = rule("*", never_with=EventRef(event="message"))
    finding = grade(check, trace_of(call("f"), [said("one moment"), call("g")]))
    assert finding.evidence == ("s0003",)
    assert verdict(check, trace_of([call("g"), said("after")])) == 0
    assert verdict(check, trace_of([said(" \n"), call("g")])) == 1
    assert verdict(check, trace_of([said("draft", visible="draft_rejected"), call("g")])) == 1
    assert verdict(check, trace_of(said("hi"), call("g"), said("bye"))) == 1


def test_never_with_another_call_in_any_order() -> None:
    check = rule("pay", never_with=EventRef(tool="look"))
    for order in itertools.permutations([call("pay"), call("look"), call("note")]):
        assert verdict(check, trace_of(list(order))) == 0
    assert verdict(check, trace_of([call("pay"), call("pay")])) == 1
    assert verdict(check, trace_of(call("pay"), call("look"))) == 1
    both = rule("pay", "look", never_with=EventRef(tool="look"))
    for order in itertools.permutations([call("pay"), call("look")]):
        assert verdict(both, trace_of(list(order))) == 0
    assert verdict(both, trace_of(call("look"))) == 1


def test_limit_per_message() -> None:
    check = rule("*", limit=Limit(scope="turn", max=1))
    finding = grade(check, trace_of(call("f"), [call("g"), call("h"), call("i")]))
    assert finding.evidence == ("s0003", "s0004")
    assert "call 2 in one message" in finding.reason
    assert "message 1" in finding.reason
    assert "1 more" in finding.reason
    assert verdict(check, trace_of(call("f"), call("g"))) == 1


def test_limit_per_session() -> None:
    check = rule("f", limit=Limit(scope="session", max=2))
    assert verdict(check, trace_of(call("f"), call("g"), call("f"))) == 1
    assert grade(check, trace_of(call("f"), call("f"), call("f"))).evidence == ("s0003",)
    assert verdict(rule("f", limit=Limit(scope="session", max=0)), trace_of(call("f"))) == 0


def test_limit_of_executed_calls() -> None:
    check = rule("f", limit=Limit(scope="turn", max=1, count="executed"))
    for order in itertools.permutations(
        [call("f", executed="denied"), call("f", executed="no"), call("f", executed="yes")]
    ):
        assert verdict(check, trace_of(list(order))) == 1
    assert verdict(check, trace_of([call("f", executed="yes"), call("f", executed="unknown")])) == 0


def test_parts_of_one_message_are_gathered_wherever_they_stand() -> None:
    parts = [{**call("f"), "turn": 3}, {**call("g"), "turn": 4}, {**call("h"), "turn": 3}]
    check = rule("*", limit=Limit(scope="turn", max=1))
    assert grade(check, trace_of(parts)).evidence == ("s0003",)


@pytest.mark.parametrize(
    "bad",
    [
        rule(),
        rule(""),
        rule("f", limit=Limit(scope="turn", max=-1)),
        rule("f", require=where("x", "in", "abc")),
        rule("f", require=where("x", "path_under", "data")),
        rule("f", require=where("x", "path_under", [])),
        rule("f", require=where("x", "path_under", None)),
        rule("f", when=where("x", "exists", "yes")),
        rule("f", after=EventRef(event="message", tool="x")),
    ],
)
def test_rules_that_mean_nothing_are_errors(bad: RuleCheck) -> None:
    with pytest.raises(GraderError) as raised:
        grade(bad, trace_of(call("f")))
    assert raised.value.code == "bad_rule"


def test_a_live_gate_sees_the_same() -> None:
    compiled = compile_rule(rule("f", limit=Limit(scope="turn", max=1), effect="ask").rule)
    state = initial(compiled)
    first = Event(turn=0, name="f")
    assert decide(compiled, state, first).effect == "none"
    assert decide(compiled, state, first) == decide(compiled, state, first)
    state = step(compiled, state, first)
    refused = decide(compiled, state, Event(turn=0, name="f"))
    assert refused.effect == "ask"
    assert "call 2" in refused.reason
    assert decide(compiled, state, Event(turn=1, name="f")).effect == "none"
    errors = compile_rule(rule("f", require=where("x", "eq", 1)).rule)
    assert decide(errors, initial(errors), Event(turn=0, name="f")).error


def test_events_of_a_trace() -> None:
    trace = trace_of(said("hi", role="user"), [call("f", {"x": 1}), said("wait")], said("", role="assistant"))
    assert [(e.kind, e.by, e.turn, e.step) for e in events_of(trace)] == [
        ("message", "user", 0, "s0001"),
        ("message", "assistant", 1, "s0003"),
        ("tool_call", "assistant", 1, "s0002"),
    ]
    assert list(hits(compile_rule(rule("g").rule), events_of(trace))) == []
