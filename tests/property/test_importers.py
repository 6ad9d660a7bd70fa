"""Laws of importing: what goes in comes out, and whatever is damaged is told."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from steelyard.importers import read_traces
from steelyard.importers.formats.canonical import encode_trace
from steelyard.importers.formats.openai_chat import OpenAIChat
from steelyard.importers.formats.tau2 import Tau2
from steelyard.importers.formats.taubench import TauBench
from steelyard.model.evidence import answer, find_step, quote_stands, resolve, results_of, step_text
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.importer import Record

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
IDS = st.sampled_from(["0", "1", "call_a", ""])
NAMES = st.sampled_from(["look", "book", "cancel"])
ARGUMENTS = JSON.map(json.dumps) | JSON.filter(lambda value: not isinstance(value, str))

USER = st.fixed_dictionaries({"role": st.just("user"), "content": TEXT})
CALL = st.fixed_dictionaries(
    {"id": IDS, "function": st.fixed_dictionaries({"name": NAMES, "arguments": ARGUMENTS})}
)
AGENT = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | TEXT},
    optional={"tool_calls": st.lists(CALL, max_size=3), "reasoning_content": TEXT},
)
RESULT = st.fixed_dictionaries(
    {"role": st.just("tool"), "content": TEXT | JSON.map(json.dumps), "tool_call_id": IDS}
)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Conversations in which every call is answered after its message, in order; ids may repeat."""
    messages: list[dict[str, Any]] = []
    for message in draw(st.lists(USER | AGENT, max_size=6)):
        messages.append(message)
        for call in message.get("tool_calls", ()):
            messages.append({**draw(RESULT), "tool_call_id": call["id"]})
    return messages


ANY_MESSAGES = st.lists(USER | AGENT | RESULT, max_size=8)


def imported(messages: list[Any]) -> Trace:
    record = Record(value={"messages": messages}, where="a.json", file="a.json")
    (trace,) = OpenAIChat().read(record)
    assert isinstance(trace, Trace)
    return trace


def read(raw: bytes) -> list[Trace | Quarantined]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.jsonl")
        file.write_bytes(raw)
        return list(read_traces(file))


def calls_of(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        yield from message.get("tool_calls", ())


def codes(trace: Trace) -> set[str]:
    return {notice.code for notice in trace.notices}


@given(ANY_MESSAGES)
def test_every_call_result_and_user_message_comes_out_once(messages: list[dict[str, Any]]) -> None:
    trace = imported(messages)
    assert [step.text for step in trace.steps if step.kind == "user"] == [
        message["content"] for message in messages if message["role"] == "user"
    ]
    assert [(s.call.name, s.call.provider_id) for s in trace.steps if s.call] == [
        (call["function"]["name"], call["id"]) for call in calls_of(messages)
    ]
    assert [step.text for step in trace.steps if step.result] == [
        message["content"] for message in messages if message["role"] == "tool"
    ]
    said = [m["content"] for m in messages if m["role"] == "assistant" and (m["content"] or "").strip()]
    assert [step.text for step in trace.steps if step.kind == "assistant" and step.text.strip()] == said


@given(ANY_MESSAGES)
def test_arguments_come_out_as_they_went_in(messages: list[dict[str, Any]]) -> None:
    trace = imported(messages)
    for step, source in zip((s for s in trace.steps if s.call), calls_of(messages), strict=True):
        arguments = source["function"]["arguments"]
        expected = json.loads(arguments) if isinstance(arguments, str) else arguments
        assert step.call is not None
        assert step.call.args_error is None
        assert repr(step.call.args) == repr(expected)


@given(conversations())
def test_answered_calls_are_all_paired_and_nothing_is_missed(messages: list[dict[str, Any]]) -> None:
    trace = imported(messages)
    calls = [step.id for step in trace.steps if step.call]
    assert sorted(results_of(trace)) == calls
    assert codes(trace) <= {"repeated_call_id", "odd_result"}  # any text may look like odd JSON
    assert all(step.call.executed == "yes" for step in trace.steps if step.call)


@given(ANY_MESSAGES)
def test_a_result_answers_an_earlier_call_of_its_id_or_is_told(messages: list[dict[str, Any]]) -> None:
    trace = imported(messages)
    orphans = 0
    for step in trace.steps:
        if step.result is None:
            continue
        if step.result.call_step_id is None:
            orphans += 1
            continue
        call = find_step(trace, step.result.call_step_id)
        assert call is not None
        assert call.call is not None
        assert call.seq < step.seq
        assert call.call.provider_id == messages[step.turn]["tool_call_id"]
    assert ("orphan_result" in codes(trace)) == (orphans > 0)


@given(ANY_MESSAGES)
def test_an_export_comes_back_equal_and_with_the_same_uids(messages: list[dict[str, Any]]) -> None:
    trace = imported(messages)
    assert read(encode_trace(trace)) == [trace]
    assert imported(messages) == trace


@given(ANY_MESSAGES)
def test_every_id_alias_and_uid_resolves_to_its_step(messages: list[dict[str, Any]]) -> None:
    trace = imported(messages)
    for step in trace.steps:
        for name in (step.id, step.uid, step.alias):
            found = resolve(name, trace) if name else None
            assert name is None or (found is not None and found.step == step)
        text = step_text(step)
        assert quote_stands(text, text) == bool(text.strip())


@given(ANY_MESSAGES)
def test_the_answer_is_never_older_than_the_last_message_of_the_agent(messages: list[dict[str, Any]]) -> None:
    trace = imported(messages)
    last = max(
        (turn for turn, message in enumerate(messages) if message["role"] == "assistant"), default=None
    )
    found = answer(trace)
    if last is None or not (messages[last]["content"] or "").strip():
        assert found is None
    else:
        assert found is not None
        assert (found.turn, found.text) == (last, messages[last]["content"])


@given(conversations(), st.data())
def test_a_dropped_result_is_told(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    results = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    assume(results)
    del messages[data.draw(st.sampled_from(results))]
    assert "missing_result" in codes(imported(messages))


@given(conversations(), st.data())
def test_a_result_moved_before_its_call_is_told(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    results = [index for index, message in enumerate(messages) if message["role"] == "tool"]
    assume(results)
    messages.insert(0, messages.pop(data.draw(st.sampled_from(results))))
    assert codes(imported(messages)) >= {"orphan_result", "missing_result"}


@given(conversations(), st.data())
def test_a_duplicated_call_id_is_told(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    calls = list(calls_of(messages))
    assume(calls)
    copy = dict(data.draw(st.sampled_from(calls)))
    messages.append({"role": "assistant", "content": None, "tool_calls": [copy]})
    assert codes(imported(messages)) >= {"repeated_call_id", "missing_result"}


BROKEN = st.sampled_from(
    ['{"a": ', "{'a': 1}", "nope", '{"a": NaN}', '{"a": 1, "a": 2}', "[1,]", "{}{}", " ", '{"a": 1e999}']
)


@given(conversations(), BROKEN, st.data())
def test_malformed_arguments_are_kept_and_told(
    messages: list[dict[str, Any]], broken: str, data: st.DataObject
) -> None:
    calls = list(calls_of(messages))
    assume(calls)
    index = data.draw(st.integers(0, len(calls) - 1))
    calls[index]["function"] = {"name": "look", "arguments": broken}
    trace = imported(messages)
    found = [step.call for step in trace.steps if step.call][index]
    assert found is not None
    assert (found.args, found.args_raw) == (None, broken)
    assert found.args_error
    assert "malformed_arguments" in codes(trace)


@given(
    conversations(), st.sampled_from([b"NaN", b"-Infinity", b'"\\ud800"', b"1" * 4999, b'{"a": 1, "a": 1}'])
)
def test_odd_values_anywhere_leave_a_trace_with_a_notice(messages: list[dict[str, Any]], odd: bytes) -> None:
    clean = json.dumps({"messages": messages, "metadata": "PLACE"}).encode()
    (trace,) = read(clean.replace(b'"PLACE"', odd))
    assert isinstance(trace, Trace)
    assert codes(trace) & {"non_finite", "lone_surrogate", "huge_number", "duplicate_key"}
    assert json.loads(encode_trace(trace))["schema"] == "trace/1"


@given(st.lists(conversations(), min_size=1, max_size=3), st.data())
@settings(max_examples=60)
def test_a_cut_last_line_costs_that_line_alone(
    talks: list[list[dict[str, Any]]], data: st.DataObject
) -> None:
    lines = [
        json.dumps({"task_id": f"t{n}", "messages": messages}).encode() for n, messages in enumerate(talks)
    ]
    cut = data.draw(st.integers(1, len(lines[-1]) - 1))
    whole = read(b"\n".join(lines))
    found = read(b"\n".join([*lines[:-1], lines[-1][:cut]]))
    told = [(one.task_id, one.steps) for one in whole[:-1] if isinstance(one, Trace)]
    assert [(one.task_id, one.steps) for one in found if isinstance(one, Trace)] == told
    assert len(told) == len(talks) - 1
    (lost,) = [one for one in found if isinstance(one, Quarantined)]
    assert lost.where.endswith(f":{len(lines)}") or len(lines) == 1


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_in_words(raw: bytes) -> None:
    file_line = b'{"task_id": "a", "output": "x"}\n' + raw.replace(b"\n", b" ")
    found = read(file_line)
    assert isinstance(found[0], Trace)
    assert len(found) == (1 if not raw.replace(b"\n", b" ").strip() else 2)
    assert all(one.reason.endswith(".") for one in found[1:] if isinstance(one, Quarantined))


CALL_TYPES = st.sampled_from(
    [
        "tool_use",
        "server_tool_use",
        "mcp_tool_use",
        "tool-call",
        "functionCall",
        "function_call",
        "function",
        "tool",
    ]
)
CALL_KEYS = st.sampled_from(
    ["functionCall", "function_call", "tool_calls", "toolUse", "tool_call", "toolInvocation"]
)
NAME_KEYS = st.sampled_from(["name", "tool", "tool_name", "toolName", "function", "action", "recipient_name"])
ARGUMENT_KEYS = st.sampled_from(
    ["arguments", "args", "input", "parameters", "kwargs", "toolInput", "action_input"]
)
HIDDEN = st.sampled_from(["refund", "wipe"])
"""Names that no other message calls, since a copy of a call that was read is no other call."""
HIDDEN_CALL = CALL.map(lambda call: {**call, "function": {**call["function"], "name": "refund"}})
CALL_LIKE = st.one_of(
    st.builds(lambda kind, rest: {**rest, "type": kind}, CALL_TYPES, st.dictionaries(TEXT, JSON, max_size=2)),
    st.builds(lambda key, name: {key: {"name": name}}, CALL_KEYS, HIDDEN),
    st.builds(lambda key, call: {key: [call]}, CALL_KEYS, HIDDEN_CALL),
    st.builds(lambda a, name, b, args: {a: name, b: args}, NAME_KEYS, HIDDEN, ARGUMENT_KEYS, JSON),
    HIDDEN_CALL,
)
HOLDING_A_CALL = st.recursive(
    CALL_LIKE,
    lambda inner: (
        st.builds(lambda value, before: [*before, value], inner, st.lists(JSON, max_size=2))
        | st.builds(
            lambda value, key, rest: {**rest, key: value},
            inner,
            TEXT,
            st.dictionaries(TEXT, JSON, max_size=2),
        )
    ),
    max_leaves=4,
)
ROLE = st.sampled_from(["system", "developer", "user", "assistant", "tool", "function"])
FIELDS = st.sampled_from(
    ["content", "refusal", "reasoning", "reasoning_content", "tool_calls", "function_call", "name", "model", "usage",
     "tool_call_id", "timestamp", "is_error", "status", "id", "requestor", "tool_messages", "raw_data", "error",
     "audio", "metadata", "tools", "functions"]
)  # fmt: skip
MESSAGE = st.builds(
    lambda role, rest: {**rest, "role": role}, ROLE, st.dictionaries(FIELDS, JSON, max_size=2)
)


@given(st.lists(USER | AGENT, max_size=2), MESSAGE, FIELDS | TEXT, HOLDING_A_CALL)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_no_field_of_a_message_hides_a_call(
    before: list[Any], message: dict[str, Any], field: str, held: Any
) -> None:
    """Whatever looks like a call becomes a call step of its message, or the record does not count as complete."""
    messages = [*before, {**message, field: held}]
    entry = {"task_id": "a", "traj": messages}
    file = {"tasks": [], "simulations": [{"task_id": "a", "messages": messages}]}
    (walked,) = TauBench().read(Record(value=entry, where="a.json", file="a.json"))
    (played,) = Tau2().read(Record(value=file, where="a.json", file="a.json"))
    for trace in (imported(messages), walked, played):
        assert isinstance(trace, Trace)
        called = any(step.call is not None and step.turn == len(before) for step in trace.steps)
        assert called or not trace.fidelity.complete
        assert called or codes(trace), "and says why"
        assert read(encode_trace(trace)) == [trace]


@given(st.lists(JSON | USER | AGENT | RESULT, max_size=5))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_list_of_values_as_messages_keeps_every_one(messages: list[Any]) -> None:
    trace = imported(messages)
    assert {step.turn for step in trace.steps} == set(range(len(messages)))
