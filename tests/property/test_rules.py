"""Laws of rules: the fold and a second reading of the rule text agree at every prefix, whatever the order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.checks import Condition, EventRef, Limit, Rule
from steelyard.rules import Event, State, compile_rule, decide, hits, initial, step
from steelyard.rules.conditions import normal_path

TOOLS = ("a", "b", "c")
references = st.one_of(
    st.none(),
    st.just(EventRef(event="message")),
    st.builds(EventRef, tool=st.sampled_from([None, *TOOLS])),
)
conditions = st.lists(st.just(Condition(arg="x", op="eq", value=1)), max_size=1).map(tuple)
rules = st.builds(
    Rule,
    id=st.just("r"),
    tool=st.lists(st.sampled_from([*TOOLS, "*"]), min_size=1, max_size=2).map(tuple),
    when=conditions,
    require=conditions,
    after=references,
    never_after=references,
    never_with=references,
    limit=st.one_of(
        st.none(),
        st.builds(
            Limit,
            scope=st.sampled_from(["turn", "session"]),
            max=st.integers(0, 2),
            count=st.sampled_from(["attempted", "executed"]),
        ),
    ),
    by=st.sampled_from(["assistant", "user", "any"]),
)
events = st.builds(
    Event,
    turn=st.just(0),
    kind=st.sampled_from(["tool_call", "tool_call", "message"]),
    by=st.sampled_from(["assistant", "assistant", "user"]),
    name=st.sampled_from(TOOLS),
    args=st.sampled_from([{"x": 1}, {"x": 2}, {}, {"x": "1"}, None]),
    args_error=st.sampled_from([None, None, None, "bad"]),
    executed=st.sampled_from(["yes", "denied", "unknown"]),
)


@st.composite
def histories(draw: Any) -> list[Event]:
    messages = draw(st.lists(st.lists(events, min_size=1, max_size=3), max_size=5))
    return [
        msgspec.structs.replace(event, turn=turn)
        for turn, message in enumerate(messages)
        for event in message
    ]


def violates(rule: Rule, history: Sequence[Event]) -> bool:
    """The rule read from its documentation, over the whole history: does its last event violate it?"""
    event, earlier = history[-1], history[:-1]
    same = [other for other in earlier if other.turn == event.turn]
    past = [other for other in earlier if other.turn != event.turn]
    guard = concern(rule, event)
    with_now = refers(rule, rule.never_with, event) and any(
        concern(rule, other) is not False for other in same
    )
    if guard is None or (guard is False and with_now):
        return True
    if guard is False:
        return False
    stated = (rule.require, rule.after, rule.never_after, rule.never_with, rule.limit)
    if not any(stated):
        return True
    return (
        (bool(rule.require) and (event.args_error is not None or reads_one(event) is not True))
        or (rule.after is not None and not any(happened(o) and refers(rule, rule.after, o) for o in past))
        or any(happened(other) and refers(rule, rule.never_after, other) for other in past)
        or with_now
        or any(refers(rule, rule.never_with, other) for other in same)
        or over(rule, event, same, earlier)
    )


def over(rule: Rule, event: Event, same: Sequence[Event], earlier: Sequence[Event]) -> bool:
    if rule.limit is None or not counts(rule.limit, event):
        return False
    scope = same if rule.limit.scope == "turn" else earlier
    before = [other for other in scope if concern(rule, other) is not False and counts(rule.limit, other)]
    return len(before) >= rule.limit.max


def counts(limit: Limit, event: Event) -> bool:
    return limit.count == "attempted" or event.executed != "denied"


def happened(event: Event) -> bool:
    return event.kind == "message" or event.executed != "denied"


def reads_one(event: Event) -> bool | None:
    if not isinstance(event.args, dict) or not isinstance(event.args.get("x"), int):
        return None
    return bool(event.args["x"] == 1)


def concern(rule: Rule, event: Event) -> bool | None:
    named = event.kind == "tool_call" and ("*" in rule.tool or event.name in rule.tool)
    if not named or rule.by not in ("any", event.by):
        return False
    if not rule.when:
        return True
    return None if event.args_error else reads_one(event)


def refers(rule: Rule, ref: EventRef | None, event: Event) -> bool:
    if ref is None or event.kind != ref.event or rule.by not in ("any", event.by):
        return False
    return ref.tool is None or event.name == ref.tool


@given(rule=rules, history=histories())
def test_every_decision_is_the_rule_read_over_the_whole_history(rule: Rule, history: list[Event]) -> None:
    compiled = compile_rule(rule)
    state = initial(compiled)
    for end, event in enumerate(history, start=1):
        assert (decide(compiled, state, event).effect != "none") == violates(rule, history[:end])
        state = step(compiled, state, event)


@given(rule=rules, history=histories())
def test_the_fold_of_a_prefix_is_the_live_decision_at_that_prefix(rule: Rule, history: list[Event]) -> None:
    compiled = compile_rule(rule)
    state = initial(compiled)
    live = []
    for end, event in enumerate(history, start=1):
        decision = decide(compiled, state, event)
        if decision.effect != "none":
            live.append((event, decision))
        state = step(compiled, state, event)
        assert [(hit.event, hit.decision) for hit in hits(compiled, history[:end])] == live


@given(rule=rules, history=histories(), seed=st.randoms(use_true_random=False))
def test_the_order_within_messages_does_not_change_whether_a_message_violates(
    rule: Rule, history: list[Event], seed: Any
) -> None:
    shuffled: list[Event] = []
    for turn in sorted({event.turn for event in history}):
        message = [event for event in history if event.turn == turn]
        seed.shuffle(message)
        shuffled += message
    compiled = compile_rule(rule)
    violated = {hit.event.turn for hit in hits(compiled, history)}
    assert {hit.event.turn for hit in hits(compiled, shuffled)} == violated


@given(rule=rules, history=histories())
def test_a_state_is_of_fixed_size_and_a_decision_leaves_it_alone(rule: Rule, history: list[Event]) -> None:
    compiled = compile_rule(rule)
    state = initial(compiled)
    for event in history:
        before = state
        decide(compiled, state, event)
        assert state == before
        state = step(compiled, state, event)
        assert isinstance(state, State)
        assert all(
            value is None or isinstance(value, (bool, int)) for value in msgspec.structs.astuple(state)
        )


segments = st.lists(st.sampled_from(["a", "b", "..", ".", "", "srv", "a b"]), max_size=8)


@given(parts=segments)
def test_a_normal_path_is_absolute_clean_and_its_own_normal_form(parts: list[str]) -> None:
    path = normal_path("/" + "/".join(parts))
    assert path is not None
    assert path.startswith("/")
    assert not {"..", ".", ""} & set(path.split("/")[1:] if path != "/" else ())
    assert normal_path(path) == path


@given(parts=segments, other=segments)
def test_a_path_lies_under_its_folder_however_it_is_spelt(parts: list[str], other: list[str]) -> None:
    folder = "/" + "/".join(part for part in parts if part not in ("..", ".", ""))
    inside = [part for part in other if part not in ("..", ".", "")]
    rule = Rule(id="r", tool=("f",), require=(Condition(arg="x", op="path_under", value=folder),))
    compiled = compile_rule(rule)

    def allowed(path: str) -> bool:
        return decide(compiled, initial(compiled), Event(turn=0, name="f", args={"x": path})).effect == "none"

    assert allowed("/".join([folder, *inside]))
    assert allowed("/".join([folder, ".", "x", "..", *inside]))
    climbing = [".."] * (len(parts) + len(inside))
    assert not allowed("/".join([folder, *inside, *climbing, "elsewhere"])) or folder == "/"
    assert not allowed(folder.lstrip("/"))
