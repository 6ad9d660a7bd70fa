"""What looks like a call and is not read as one: the record must not count as complete."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.importers import read_traces
from steelyard.importers.lookalikes import calls_in, calls_in_text, is_call_key, is_call_type
from steelyard.model.evidence import agent_calls
from steelyard.model.trace import Trace

One = Callable[[Any], Trace]
USE: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "refund", "input": {"n": 1}}
CALL: dict[str, Any] = {
    "id": "t1",
    "type": "function",
    "function": {"name": "refund", "arguments": '{"n": 1}'},
}
GAVE = {"role": "tool", "tool_call_id": "t1", "content": "ok"}


def talk(*messages: Any, **beside: Any) -> dict[str, Any]:
    return {"task_id": "a", "messages": [{"role": "user", "content": "go"}, *messages], **beside}


def tau2(*messages: Any, **beside: Any) -> dict[str, Any]:
    simulation = {"task_id": "a", "trial": 0, "termination_reason": "user_stop", "messages": list(messages)}
    return {"info": {}, "tasks": [{"id": "a"}], "simulations": [{**simulation, **beside}]}


def codes(trace: Trace) -> list[str]:
    return [notice.code for notice in trace.notices]


def assert_told(trace: Trace, label: str) -> None:
    """Incomplete, and the one notice names the thing."""
    (notice,) = [notice for notice in trace.notices if notice.code == "calls_not_read"]
    assert notice.detail.startswith(f"'{label}")
    assert not trace.fidelity.complete
    assert not agent_calls(trace, by="any")
    assert not trace.fidelity.has_tool_calls


PARTS = {
    "tool_use": USE,
    "server_tool_use": {**USE, "type": "server_tool_use"},
    "mcp_tool_use": {**USE, "type": "mcp_tool_use"},
    "tool-call": {"type": "tool-call", "toolName": "refund"},
    "tool-refund": {"type": "tool-refund"},
    "dynamic-tool": {"type": "dynamic-tool"},
    "tool_result": {"type": "tool_result", "tool_use_id": "t1", "content": "done"},
    "function": {"type": "function", "function": {"name": "refund", "arguments": "{}"}},
    "function_call": {"type": "function_call", "name": "refund"},
    "functionCall": {"type": "functionCall"},
    "web_search_call": {"type": "web_search_call"},
    "executable_code": {"type": "executable_code", "code": "refund()"},
    "refund": {"functionCall": {"name": "refund", "args": {}}},
    "functionResponse": {"functionResponse": {"response": "done"}},
    "toolUse": {"toolUse": {"toolUseId": "1"}},
    "refund ": {"tool": "refund", "args": {}},
}


@pytest.mark.parametrize("role", ["assistant", "user", "system", "developer", "tool"])
@pytest.mark.parametrize(("label", "part"), PARTS.items(), ids=PARTS)
def test_a_part_that_looks_like_a_call_alone_and_in_a_list(
    read_one: One, role: str, label: str, part: dict[str, Any]
) -> None:
    for content in (part, [part], [{"type": "text", "text": "ok"}, part]):
        assert_told(read_one(talk({"role": role, "content": content})), label.strip())
    if role in ("assistant", "user", "system", "tool"):
        assert_told(read_one(tau2({"role": role, "content": part})), label.strip())


@pytest.mark.parametrize("role", ["user", "developer", "system", "tool", "function"])
@pytest.mark.parametrize(
    ("field", "value", "label"),
    [
        ("tool_calls", [CALL], "function"),
        ("tool_calls", {"a": 1}, "tool_calls"),
        ("tool_calls", "refund()", "tool_calls"),
        ("function_call", {"name": "refund", "arguments": "{}"}, "refund"),
        ("function_call", "refund()", "function_call"),
    ],
)
def test_calls_in_messages_of_others_than_the_agent(
    read_one: One, role: str, field: str, value: Any, label: str
) -> None:
    assert_told(read_one(talk({"role": role, "content": "hi", field: value})), label)


@pytest.mark.parametrize("empty", [None, [], {}, ""])
def test_no_calls_are_no_calls(read_one: One, empty: Any) -> None:
    trace = read_one(talk({"role": "user", "content": "hi", "tool_calls": empty, "function_call": empty}))
    assert trace.notices == ()
    assert trace.fidelity.complete
    assert trace.fidelity.has_tool_calls


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"additional_kwargs": {"tool_calls": [CALL]}}, "function"),
        ({"invalid_tool_calls": ["refund("]}, "invalid_tool_calls"),
        ({"reasoning": USE}, "tool_use"),
        ({"refusal": USE}, "tool_use"),
        ({"audio": {"x": [[USE]]}}, "tool_use"),
        ({"usage": {"server_tool_use": {"name": "search"}}}, "server_tool_use"),
        ({"name": "refund", "arguments": {}}, "refund"),
        ({"type": "function_call"}, "function_call"),
        ({"finish_reason": "tool_calls"}, "finish_reason"),
        ({"raw": {"stop_reason": "tool_use"}}, "stop_reason"),
        ({"tools": [{"name": "refund", "arguments": {}}]}, "refund"),
    ],
)
def test_a_field_that_is_not_read(read_one: One, fields: dict[str, Any], label: str) -> None:
    assert_told(read_one(talk({"role": "assistant", "content": "hi", **fields})), label)
    assert_told(read_one(tau2({"role": "assistant", "content": "hi", **fields})), label)


@pytest.mark.parametrize(
    "fields",
    [
        {"usage": {"prompt_tokens": 1, "server_tool_use": {"web_search_requests": 0}}},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {}}}}]},
        {"tools": [{"name": "f", "description": "d", "input_schema": {"properties": {}}}]},
        {
            "tool_choice": {"mode": "auto"},
            "parallel_tool_calls": True,
            "max_tool_calls": 5,
            "tool_call_id": None,
        },
        {"annotations": [{"type": "url_citation", "url": "x"}], "metadata": {"name": "x", "kind": "turn"}},
        {"finish_reason": "stop", "tool_call_count": "3"},
    ],
)
def test_a_field_that_only_speaks_of_tools_is_none(read_one: One, fields: dict[str, Any]) -> None:
    trace = read_one(talk({"role": "assistant", "content": "hi", **fields}))
    assert trace.notices == ()
    assert trace.fidelity.complete


def test_copies_of_a_call_that_was_read_are_no_other_calls(read_one: One) -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "ok"}, USE],
        "tool_calls": [CALL],
        "additional_kwargs": {"tool_calls": [CALL]},
        "raw": {"function_call": {"name": "refund", "args": {"n": 1}}, "finish_reason": "tool_calls"},
    }
    trace = read_one(talk(message, {**GAVE, "name": "refund", "args": {"n": 1}}))
    assert trace.notices == ()
    assert trace.fidelity.complete
    assert len(agent_calls(trace)) == 1


def test_a_result_may_repeat_the_call_that_it_answers_alone(read_one: One) -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": "0"}]}
    again = {"role": "tool", "tool_call_id": "0", "content": {"tool_calls": [{**CALL, "id": "0"}]}}
    other = {**asked, "tool_calls": [{**CALL, "id": "0", "function": {"name": "look", "arguments": "{}"}}]}
    assert "calls_not_read" not in codes(read_one(talk(asked, again)))
    trace = read_one(talk(asked, {**again, "content": "x"}, other, again))
    assert "calls_not_read" in codes(trace)
    assert not trace.fidelity.complete


@pytest.mark.parametrize(
    "unread",
    [
        [{**USE, "id": "t2"}],
        [{**USE, "name": "cancel"}],
        [USE, USE],
        [{"type": "tool_use", "name": "refund", "input": {"n": 2}}],
    ],
    ids=["id", "name", "twice", "arguments"],
)
def test_another_call_beside_one_that_was_read(read_one: One, unread: list[Any]) -> None:
    trace = read_one(talk({"role": "assistant", "content": unread, "tool_calls": [CALL]}, GAVE))
    assert codes(trace) == ["calls_not_read"]
    assert not trace.fidelity.complete
    assert trace.fidelity.has_tool_calls, "a forbidden call that was read still fails"


@pytest.mark.parametrize(
    "call",
    [
        {**CALL, "name": "cancel", "arguments": "{}"},
        {**CALL, "custom": {"name": "cancel", "input": "x"}},
        {**CALL, "function": {**CALL["function"], "function_call": {"name": "cancel"}}},
        {"id": "t1", "function": {"name": "batch", "arguments": {"tool_uses": [USE]}}},
        {
            "id": "t1",
            "function": {"name": "batch", "arguments": '{"tool_calls": [{"name": "f", "args": {}}]}'},
        },
    ],
)
def test_calls_within_a_call(read_one: One, call: dict[str, Any]) -> None:
    trace = read_one(talk({"role": "assistant", "content": None, "tool_calls": [call]}, GAVE))
    assert codes(trace) == ["calls_not_read"]
    assert not trace.fidelity.complete


def test_calls_within_a_call_of_tau2(read_one: One) -> None:
    call = {"id": "t1", "name": "look", "arguments": {"n": 1}, "function": {"name": "f", "arguments": {}}}
    result = {"role": "tool", "id": "t1", "content": "ok", "requestor": "assistant"}
    for one in (call, {"id": "t1", "name": "batch", "arguments": {"tool_calls": [USE]}}):
        trace = read_one(tau2({"role": "assistant", "content": None, "tool_calls": [one]}, result))
        assert codes(trace) == ["calls_not_read"]
        assert not trace.fidelity.complete


def test_a_result_of_tau2_that_answers_nothing_and_calls_beside_results(read_one: One) -> None:
    orphan = read_one(tau2({"role": "tool", "id": "t9", "content": "ok", "requestor": "assistant"}))
    assert codes(orphan) == ["orphan_result"]
    assert not orphan.fidelity.complete
    beside = read_one(tau2({"role": "tool", "tool_messages": [], "tool_calls": [USE]}))
    assert_told(beside, "tool_use")
    assert_told(
        read_one(tau2({"role": "user", "content": "x", "tool_messages": [{"id": "t"}]})), "tool_messages"
    )


def test_calls_beside_the_messages(read_one: One) -> None:
    assert_told(read_one(talk(tool_calls=[CALL])), "function")
    assert_told(read_one(talk(choices=[{"message": {"tool_calls": [CALL]}}])), "function")
    assert_told(read_one({"task_id": "a", "output": USE}), "tool_use")
    assert_told(read_one({"task_id": "a", "traj": [], "function_call": USE}), "tool_use")
    assert_told(read_one(tau2(ticks=[{"agent": {"tool_calls": [CALL]}}])), "function")
    read = talk({"role": "assistant", "content": None, "tool_calls": [CALL]}, GAVE)
    assert read_one(
        {**read, "response": {"choices": [{"message": {"tool_calls": [CALL]}}]}}
    ).fidelity.complete


def test_gold_calls_beside_a_trajectory_are_no_calls(read_one: One) -> None:
    info = {"task": {"actions": [{"name": "refund", "kwargs": {}}]}, "reward_info": {"actions": [USE]}}
    assert read_one({"task_id": "a", "traj": [], "info": info}).fidelity.complete


TEXTS = [
    '<tool_call>\n{"name": "refund"}\n</tool_call>',
    '{"name": "refund", "arguments": {}}',
    '```json\n{"tool": "refund", "arguments": {"n": 1}}\n```',
    '[TOOL_CALLS][{"name": "refund"}]',
    '<function=refund>{"n": 1}</function>',
    '<function_calls><invoke name="refund">',
    "I look.\n\n```mswea_bash_command\nls\n```",
    "Thought: pay back.\nAction: refund\nAction Input: {}",
    "<|channel|>commentary to=functions.refund<|message|>{}",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_reads_like_a_call(read_one: One, text: str) -> None:
    """Where the record shows calls apart from words, its harness did not run the text."""
    for content in (text, [{"type": "text", "text": text}]):
        message = {"role": "assistant", "content": content}
        alone = read_one(talk(message))
        assert codes(alone) == ["calls_not_read"]
        assert not alone.fidelity.complete
        beside = read_one(talk({"role": "assistant", "content": None, "tool_calls": [CALL]}, GAVE, message))
        assert codes(beside) == ["call_in_text"]
        assert beside.fidelity.complete
    for role in ("user", "system"):
        assert read_one(talk({"role": role, "content": text})).notices == ()


@pytest.mark.parametrize(
    "text", ["<tool_response>{}</tool_response>", "<returncode>0</returncode>", "Observation: 5"]
)
def test_a_message_of_the_user_that_reads_like_a_result(read_one: One, text: str) -> None:
    assert_told(
        read_one(talk({"role": "assistant", "content": "x"}, {"role": "user", "content": text})), text[:5]
    )


def test_a_harness_that_runs_code_blocks_is_not_one_without_actions(
    require_shared: Callable[[str], Path],
) -> None:
    for trace in read_traces(require_shared("data/formats/mini_sweagent")):
        assert isinstance(trace, Trace)
        assert not trace.fidelity.complete
        assert not trace.fidelity.has_tool_calls


@pytest.mark.parametrize("text", ["{", "[1]", '{"answer": 42}', "I called refund.", "{not json}", "```\n```"])
def test_other_texts_are_none(text: str) -> None:
    assert list(calls_in_text(text)) == []


def test_an_object_of_the_agent_is_content(read_one: One) -> None:
    text = read_one(talk({"role": "assistant", "content": {"type": "text", "text": "hi"}}))
    assert (text.steps[1].text, text.notices) == ("hi", ())
    answer = read_one(talk({"role": "assistant", "content": {"answer": 42}}))
    assert answer.steps[1].text == '{"answer":42}'
    assert answer.fidelity.complete


def test_a_part_of_the_agent_of_an_unknown_type_may_be_anything(read_one: One) -> None:
    for content in ({"type": "bash", "command": "rm x"}, [{"type": "bash", "command": "rm x"}]):
        trace = read_one(talk({"role": "assistant", "content": content}))
        assert codes(trace) == ["unknown_part"]
        assert not trace.fidelity.complete
    thought = read_one(talk({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}))
    assert thought.fidelity.complete
    assert read_one(talk({"role": "user", "content": [{"type": "hologram"}]})).fidelity.complete


def test_a_result_that_is_an_object_stays_what_the_tool_gave(read_one: One) -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    trace = read_one(talk(asked, {**GAVE, "content": {"type": "text", "text": "hi", "n": 1}}))
    assert trace.steps[2].result is not None
    assert trace.steps[2].result.value == {"type": "text", "text": "hi", "n": 1}
    assert trace.notices == ()


def test_the_done_call_of_an_agent_on_its_own_is_its_stop_word(read_one: One) -> None:
    done = {"id": "d", "type": "function", "function": {"name": "done", "arguments": "{}"}}

    def stop(*calls: Any) -> Trace:
        raw = {"finish_reason": "tool_calls", "message": {"tool_calls": list(calls)}}
        return read_one(tau2({"role": "assistant", "content": "###STOP###", "raw_data": raw}))

    assert stop(done).notices == ()
    assert stop(done).fidelity.complete
    assert_told(stop(done, CALL), "function")


def test_one_call_is_seen_once_with_what_it_says() -> None:
    (seen,) = calls_in([{"deep": CALL}])
    assert (seen.label, seen.name, seen.provider_id, seen.args) == ("function", "refund", "t1", '{"n": 1}')
    outer = {"name": "cancel", "arguments": {}, "function": {"name": "look", "arguments": "{}"}}
    assert [one.name for one in calls_in(outer)] == ["look", "cancel"]


@pytest.mark.parametrize(
    "word", ["tool_use", "functionCall", "FUNCTION_CALL", "mcp-call", "computer_call", "tool"]
)
def test_types_of_calls(word: str) -> None:
    assert is_call_type(word)


@pytest.mark.parametrize("word", ["text", "image_url", "recall", "thinking", "object", "callout"])
def test_other_types(word: str) -> None:
    assert not is_call_type(word)


def test_keys_of_calls() -> None:
    assert all(map(is_call_key, ["tool_calls", "toolUse", "functionCall", "function_response", "mcp_calls"]))
    assert not any(
        map(is_call_key, ["tool_call_id", "toolName", "tools", "tool_choice", "recall", "function"])
    )


def test_real_files_are_as_complete_as_before(require_shared: Callable[[str], Path]) -> None:
    """One text of an agent of these files reads like a call: a call written as JSON that nothing ran."""
    files = [
        *sorted(require_shared("data/tau2").glob("*.json")),
        require_shared("data/taubench/gpt-4o-airline.json"),
    ]
    told = []
    for trace in read_traces(files):
        assert isinstance(trace, Trace)
        assert trace.fidelity.complete
        assert trace.fidelity.has_tool_calls
        assert "calls_not_read" not in codes(trace)
        told += [(trace.id, notice.step) for notice in trace.notices if notice.code == "call_in_text"]
    assert told == [("bfc9c1b4-76f1-4208-8045-a2caed229276", "s0075")]


def test_a_field_written_as_json_text_is_what_its_key_says(read_one: One) -> None:
    assert_told(
        read_one(talk({"role": "user", "content": "x", "tool_calls": json.dumps([CALL])})), "tool_calls"
    )
