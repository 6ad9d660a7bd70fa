from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steelyard.model.evidence import agent_calls, answer, follow, quote_stands, resolve, results_of
from steelyard.model.standard import Fact, Task
from steelyard.model.trace import Call, EndState, Part, Result, Source, Step, Trace, Visibility


def step(number: int, kind: str, *, turn: int | None = None, text: str | None = None, **fields: Any) -> Step:
    role = fields.pop("role", {"user": "user", "tool_result": "tool"}.get(kind, "assistant"))
    parts = () if text is None else (Part(kind="text", text=text),)
    return Step(
        id=f"s{number:04d}",
        uid=f"{number:016x}",
        seq=number - 1,
        turn=number - 1 if turn is None else turn,
        kind=kind,  # type: ignore[arg-type]
        role=role,
        parts=parts,
        **fields,
    )


def trace(*steps: Step, **fields: Any) -> Trace:
    return Trace(id="t", source=Source(format="test", importer="test"), steps=steps, **fields)


CALL = Call(name="set_pool", args={"pool_size": 64, "a/b": {"~": [10, 20]}}, args_raw='{"pool_size": 64}')
WHOLE = trace(
    step(1, "user", text="How large is the pool?"),
    step(2, "tool_call", turn=1, call=CALL),
    step(
        3,
        "tool_result",
        text='{"rows": [{"n": 1}]}',
        alias="e1",
        result=Result(call_step_id="s0002", value={"rows": [{"n": 1}]}),
    ),
    step(4, "assistant", text="Größe: 64 \U0001f600 connections"),
    state_after=EndState(json={"orders": {"7": {"paid": True}}}),
)
TASK = Task(
    id="t",
    prompt="",
    criteria=(),
    facts={"capacity": Fact(text="at most 100", data={"max": 100}), "a/b": Fact(text="slashed")},
)


@pytest.mark.parametrize(
    ("ref", "value"),
    [
        ("s0001", "How large is the pool?"),
        ("s0002/args/pool_size", 64),
        ("s0002/args", CALL.args),
        ("s0002/args/a~1b/~0/1", 20),
        ("s0002/result/rows/0/n", 1),
        ("s0003/result/rows/0/n", 1),
        ("e1", {"rows": [{"n": 1}]}),
        ("e1/result/rows/0", {"n": 1}),
        ("0000000000000004", "Größe: 64 \U0001f600 connections"),
        ("s0004@0-5", "Größe"),
        ("s0004@10-11", "\U0001f600"),
        ("fact:capacity", {"max": 100}),
        ("fact:capacity/max", 100),
        ("fact:a/b", "slashed"),
        ("fact:a~1b", "slashed"),
        ("state:orders/7/paid", True),
        ("state:/orders/7", {"paid": True}),
    ],
)
def test_a_reference_resolves_to_its_value(ref: str, value: Any) -> None:
    resolved = resolve(ref, WHOLE, TASK)
    assert resolved is not None
    assert resolved.value == value
    assert resolved.ref == ref


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "s0000",
        "s0005",
        "s00001",
        "s1",
        "S0001",
        "e2",
        "e",
        "s0001/args/x",
        "s0002/args/absent",
        "s0002/argspool",
        "s0002/name",
        "s0002/args/a~1b/~0/01",
        "s0002/args/a~1b/~0/-1",
        "s0002/args/a~1b/~0/2",
        "s0004@0-99",
        "s0004@5-5",
        "s0004@9-2",
        "s0004@-1-2",
        "s0004@١-٢",
        "s0002@0-1",
        "s0001 ",
        "s0001\n",
        "fact:",
        "fact:unknown",
        "fact:capacity/min",
        "state:orders/8",
        "state:orders/7/paid/x",
        "s\u0661",
        "s" + "9" * 5000,
        "https://example.com",
    ],
)
def test_a_reference_to_nothing_does_not_resolve(ref: str) -> None:
    assert resolve(ref, WHOLE, TASK) is None


def test_facts_need_a_task_and_states_an_end_state() -> None:
    assert resolve("fact:capacity", WHOLE, None) is None
    assert resolve("state:orders", trace(step(1, "user", text="x")), TASK) is None


def test_files_and_the_start_state_are_referred_to_where_there_are_some() -> None:
    bare = trace(step(1, "user", text="x"))
    state = EndState(files="folder", json={"orders": {"7": 1}})
    start, end = (
        msgspec.structs.replace(bare, state_before=state),
        msgspec.structs.replace(bare, state_after=state),
    )
    for scheme, one in (("file", end), ("file_before", start)):
        other = start if one is end else end
        for path in ("out/a.csv", "a b.txt", "ü", "a..b"):
            resolved = resolve(f"{scheme}:{path}", one)
            assert resolved is not None
            assert (resolved.value, resolved.text) == (None, "")
            assert resolve(f"{scheme}:{path}", other) is None
        for path in ("", " ", "/etc/passwd", "../a", "a/../../b", "..\\a", "C:\\a"):
            assert resolve(f"{scheme}:{path}", one) is None
    found = resolve("state_before:orders/7", start)
    assert found is not None
    assert found.value == 1
    assert resolve("state_before:orders/7", end) is None
    assert resolve("file:a", msgspec.structs.replace(bare, state_after=EndState(json=1))) is None


def test_arguments_that_could_not_be_read_resolve_to_nothing() -> None:
    broken = trace(step(1, "tool_call", call=Call(name="f", args_raw='{"id": 7,', args_error="cut")))
    assert resolve("s0001/args", broken) is None
    whole = resolve("s0001", broken)
    assert whole is not None
    assert quote_stands('{"id": 7,', whole.text)


@pytest.mark.parametrize(
    ("quote", "text", "stands"),
    [
        ("64 connections", "up to 64\n   connections, then", True),
        ("64  connections", "up to 64 connections", True),
        ("64 Connections", "up to 64 connections", False),
        ("64connections", "up to 64 connections", False),
        ("", "anything", False),
        (" \n", "anything", False),
        ("a", "", False),
    ],
)
def test_a_quote_stands_literally_with_white_space_folded(quote: str, text: str, stands: bool) -> None:
    assert quote_stands(quote, text) is stands


def test_the_answer_is_the_last_released_text_of_the_agent() -> None:
    assert answer(WHOLE) == WHOLE.steps[3]
    followed = trace(*WHOLE.steps, step(5, "user", text="thanks"))
    assert answer(followed) == WHOLE.steps[3]


def test_text_beside_a_call_in_the_last_message_is_the_answer() -> None:
    said = step(2, "assistant", turn=1, text="Done.")
    both = trace(
        step(1, "user", text="x"), said, step(3, "tool_call", turn=1, call=Call(name="end", args={}))
    )
    assert answer(both) == said


@pytest.mark.parametrize(
    "last",
    [
        step(3, "assistant", text=""),
        step(3, "assistant", text="  \n\t"),
        step(3, "assistant"),
        step(3, "tool_call", call=Call(name="lookup", args={})),
    ],
    ids=["empty", "blank", "null", "only a call"],
)
def test_an_empty_last_message_is_no_answer_even_after_an_earlier_remark(last: Step) -> None:
    assert answer(trace(step(1, "user", text="x"), step(2, "assistant", text="Let me look."), last)) is None


def test_no_message_of_the_agent_is_no_answer() -> None:
    assert answer(trace()) is None
    assert answer(trace(step(1, "user", text="x"))) is None


def test_what_did_not_reach_the_user_is_no_answer() -> None:
    draft = step(2, "assistant", text="no", visibility=Visibility(kind="draft_rejected"))
    given = step(1, "assistant", text="yes")
    assert answer(trace(given, draft)) == given


def test_calls_by_caller_and_agent_with_drafts_and_denied_ones() -> None:
    call = Call(name="f", args={})
    steps = (
        step(1, "tool_call", call=call, agent_id="a"),
        step(2, "tool_call", call=call, role="user", agent_id="user"),
        step(3, "tool_call", call=msgspec.structs.replace(call, executed="denied"), agent_id="b"),
        step(4, "tool_call", call=call, agent_id="a", visibility=Visibility(kind="draft_rejected")),
        step(5, "tool_call", call=call, agent_id="a", visibility=Visibility(kind="copied_context")),
        step(6, "tool_call", call=call, agent_id="a", visibility=Visibility(kind="demo")),
    )
    given = trace(*steps)
    assert [s.id for s in agent_calls(given)] == ["s0001", "s0003", "s0004"]
    assert [s.id for s in agent_calls(given, by="user")] == ["s0002"]
    assert [s.id for s in agent_calls(given, by="any")] == ["s0001", "s0002", "s0003", "s0004"]
    assert [s.id for s in agent_calls(given, by="any", agent="b")] == ["s0003"]


def test_results_by_call_and_the_first_one_stands() -> None:
    again = step(5, "tool_result", result=Result(call_step_id="s0002", value=2))
    orphan = step(6, "tool_result", result=Result(value=3))
    assert results_of(trace(*WHOLE.steps, again, orphan)) == {"s0002": WHOLE.steps[2]}


def test_a_pointer_follows_escapes_in_the_right_order() -> None:
    assert follow({"~1": 1, "/": 2}, "/~01") == 1
    assert follow({"~1": 1, "/": 2}, "/~1") == 2
    assert follow({"": {"": 3}}, "//") == 3
    with pytest.raises(LookupError):
        follow({"a": 1}, "a")
    with pytest.raises(LookupError):
        follow("text", "/0")
