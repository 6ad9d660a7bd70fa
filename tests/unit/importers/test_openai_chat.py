from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.importers import read_traces
from steelyard.model.evidence import agent_calls, answer, results_of
from steelyard.model.trace import EndState, Quarantined, Trace, Usage
from steelyard.model.verdict import MOST_TRIAL

One = Callable[[Any], Trace]


def call(arguments: Any, *, id: str | None = "c1", name: str = "book") -> dict[str, Any]:
    found: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return found if id is None else {"id": id, **found}


def talk(*messages: dict[str, Any], **beside: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "go"}, *messages], **beside}


def said(*calls: dict[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def gave(content: Any, id: str | None = "c1") -> dict[str, Any]:
    return {"role": "tool", "content": content} | ({} if id is None else {"tool_call_id": id})


def codes(trace: Trace) -> list[str]:
    return [notice.code for notice in trace.notices]


def test_a_message_becomes_atomic_steps_of_one_turn_in_order(read_one: One) -> None:
    message = {
        **said(call("{}"), call('{"n": 1}', id="c2"), content="Booking."),
        "reasoning_content": "think",
    }
    trace = read_one(
        talk(message, gave("ok"), gave('{"seat": "2A"}', "c2"), {"role": "assistant", "content": "Done."})
    )
    assert [(s.id, s.kind, s.role, s.turn, s.alias) for s in trace.steps] == [
        ("s0001", "user", "user", 0, None),
        ("s0002", "reasoning", "assistant", 1, None),
        ("s0003", "assistant", "assistant", 1, None),
        ("s0004", "tool_call", "assistant", 1, None),
        ("s0005", "tool_call", "assistant", 1, None),
        ("s0006", "tool_result", "tool", 2, "e1"),
        ("s0007", "tool_result", "tool", 3, "e2"),
        ("s0008", "assistant", "assistant", 4, None),
    ]
    assert [s.seq for s in trace.steps] == list(range(8))
    assert [s.raw.pointer for s in trace.steps if s.raw][:4] == [
        "/messages/0",
        "/messages/1/reasoning_content",
        "/messages/1",
        "/messages/1/tool_calls/0",
    ]
    assert [step.result.value for step in trace.steps if step.result] == ["ok", {"seat": "2A"}]
    assert {key: step.id for key, step in results_of(trace).items()} == {"s0004": "s0006", "s0005": "s0007"}
    assert trace.notices == ()
    assert trace.outcome.final_step == "s0008"
    assert trace.fidelity.complete
    assert len({step.uid for step in trace.steps}) == 8


def test_the_fields_of_a_recording(read_one: One, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "a.db").touch()
    trace = read_one(
        talk(
            task_id="q7",
            trial=1,
            id="run-1",
            session_id="s",
            model="m",
            ended_by="user_stop",
            tools=[{"name": "book"}],
            measurements={"seconds": 4.5, "recoveries": 1},
            end_state={"files": "out", "sqlite": "a.db", "json": {"x": [1]}},
            start_state={"json": {}},
            usage={"prompt_tokens": 5, "completion_tokens": 2},
        )
    )
    assert (trace.id, trace.task_id, trace.trial, trace.session_id) == ("run-1", "q7", 1, "s")
    assert (trace.outcome.ended_by, trace.outcome.exit_status) == ("user_stop", "user_stop")
    assert trace.measurements == {"seconds": 4.5, "recoveries": 1}
    assert trace.state_after == EndState(
        files=str(tmp_path / "out"), sqlite=str(tmp_path / "a.db"), json={"x": [1]}
    )
    assert trace.state_before == EndState(json={})
    assert trace.agents[0].model == "m"
    assert trace.agents[0].tools == ({"name": "book"},)
    assert trace.usage == Usage(input_total=5, output=2)
    assert (trace.source.format, trace.source.locator) == ("openai_chat", "line 1")
    assert trace.notices == ()


def test_a_bare_list_of_messages_and_lists_of_recordings(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(talk()["messages"]))
    (bare,) = read_traces(file)
    assert isinstance(bare, Trace)
    assert (bare.task_id, bare.trial, bare.id) == (None, None, str(file))
    file.write_text(json.dumps([talk(task_id="a"), {"task_id": "b", "output": "x"}, talk()["messages"]]))
    found = list(read_traces(file))
    assert [one.task_id for one in found if isinstance(one, Trace)] == ["a", "b", None]
    assert [one.steps[0].raw.pointer for one in found if isinstance(one, Trace) and one.steps[0].raw] == [
        "/0/messages/0",
        "/1/output",
        "/2/0",
    ]


@pytest.mark.parametrize("key", ["output", "answer"])
def test_a_single_answer_holds_no_calls(read_one: One, key: str) -> None:
    trace = read_one({"task_id": "q7", "prompt": "Capital?", key: "Paris"})
    assert [(step.kind, step.text) for step in trace.steps] == [("user", "Capital?"), ("assistant", "Paris")]
    assert not trace.fidelity.has_tool_calls
    assert not trace.fidelity.has_tool_results
    found = answer(trace)
    assert found is not None
    assert found.text == "Paris"


@pytest.mark.parametrize(
    ("value", "text"), [(42, "42"), ({"a": 1}, '{"a":1}'), (True, "true"), ([], "[]"), (1.0, "1.0")]
)
def test_an_answer_that_is_no_text_is_its_json_with_a_notice(read_one: One, value: Any, text: str) -> None:
    trace = read_one({"task_id": "q7", "output": value})
    assert trace.steps[0].text == text
    assert trace.steps[0].parts[0].value == value
    assert codes(trace) == ["answer_not_text"]


@pytest.mark.parametrize("content", ["", "   ", None, []])
def test_an_empty_last_message_is_kept_and_is_no_answer(read_one: One, content: Any) -> None:
    trace = read_one(
        talk({"role": "assistant", "content": "Let me look."}, {"role": "assistant", "content": content})
    )
    assert [step.kind for step in trace.steps] == ["user", "assistant", "assistant"]
    assert answer(trace) is None
    assert read_one({"task_id": "q", "output": content or None}).steps[0].kind == "assistant"


def test_a_last_message_of_only_a_call_is_no_answer(read_one: One) -> None:
    for content in ("", None, "  \n"):
        trace = read_one(
            talk({"role": "assistant", "content": "Let me look."}, said(call("{}"), content=content))
        )
        assert [step.kind for step in trace.steps] == ["user", "assistant", "tool_call"]
        assert answer(trace) is None
        assert codes(trace) == ["missing_result"]


def test_values_arrive_as_they_are(read_one: One) -> None:
    texts = [
        '{"n": 1}',
        '{"n": 1.0}',
        '{"n": "1"}',
        '{"n": true}',
        '{"n": [1]}',
        "{}",
        '{"n": null}',
        '{"n": "e\\u0301"}',
    ]
    trace = read_one(talk(said(*(call(text, id=str(i)) for i, text in enumerate(texts)))))
    args = [step.call.args for step in agent_calls(trace) if step.call]
    expected = [{"n": 1}, {"n": 1.0}, {"n": "1"}, {"n": True}, {"n": [1]}, {}, {"n": None}, {"n": "e\u0301"}]
    assert list(map(repr, args)) == list(map(repr, expected))
    assert [step.call.args_raw for step in agent_calls(trace) if step.call] == texts


@pytest.mark.parametrize(
    "arguments",
    ['{"id": 7,', "plain text", '{"a": 1, "a": 1}', '{"a": NaN}', " "],
    ids=["cut", "text", "twice", "nan", "blank"],
)
def test_malformed_arguments_are_kept_whole_and_equal_to_nothing(read_one: One, arguments: str) -> None:
    trace = read_one(talk(said(call(arguments)), gave("no")))
    found = trace.steps[1].call
    assert found is not None
    assert (found.args, found.args_raw) == (None, arguments)
    assert found.args_error
    assert codes(trace) == ["malformed_arguments"]
    assert trace.notices[0].step == "s0002"
    assert results_of(trace).keys() == {"s0002"}


def test_only_the_empty_text_means_no_arguments(read_one: One) -> None:
    trace = read_one(talk(said(call("")), gave("x")))
    found = trace.steps[1].call
    assert found is not None
    assert (found.args, found.args_raw, found.args_error) == ({}, "", None)
    assert codes(trace) == ["empty_arguments"]


def test_a_call_without_an_arguments_field_is_malformed(read_one: One) -> None:
    trace = read_one(talk(said({"id": "c1", "function": {"name": "book"}}), gave("x")))
    found = trace.steps[1].call
    assert found is not None
    assert found.args is None
    assert found.args_error
    assert codes(trace) == ["malformed_arguments"]


@pytest.mark.parametrize("arguments", [{"a": 1}, [1, 2], 5, None])
def test_arguments_that_are_no_text_are_taken_as_they_are(read_one: One, arguments: Any) -> None:
    found = read_one(talk(said(call(arguments)), gave("x"))).steps[1].call
    assert found is not None
    assert (found.args, found.args_raw, found.args_error) == (arguments, None, None)


@pytest.mark.parametrize("arguments", [b'{"a": NaN}', b'{"a": {"b": 1, "b": 2}}'])
def test_odd_argument_objects_are_malformed(read_lines: Callable[..., list[Any]], arguments: bytes) -> None:
    line = (
        b'{"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": %b}}]}]}'
    )
    (trace,) = read_lines(line % arguments)
    assert trace.steps[0].call.args is None
    assert trace.steps[0].call.args_error
    assert "malformed_arguments" in codes(trace)


def test_results_answer_the_next_open_call_of_their_id(read_one: One) -> None:
    trace = read_one(
        talk(
            said(call("1", id="0")),
            gave("a", "0"),
            said(call("2", id="0"), call("3", id="0")),
            gave("b", "0"),
            gave("c", "0"),
        )
    )
    pairs = {trace.steps[int(key[1:]) - 1].call.args: step.text for key, step in results_of(trace).items()}  # type: ignore[union-attr]
    assert pairs == {1: "a", 2: "b", 3: "c"}
    (notice,) = trace.notices
    assert (notice.code, notice.step) == ("repeated_call_id", "s0004")
    assert "2 times" in notice.detail


def test_results_without_a_call_and_calls_without_a_result_are_told(read_one: One) -> None:
    trace = read_one(
        talk(gave("early"), said(call("{}"), call("{}", id="c2")), gave("x", "c2"), gave("again", "c2"))
    )
    assert codes(trace) == ["orphan_result", "missing_result"]
    assert [s.result.call_step_id for s in trace.steps if s.result] == [None, "s0004", None]
    assert [s.call.executed for s in trace.steps if s.call] == ["unknown", "yes"]
    assert not trace.fidelity.complete
    assert len(trace.steps) == 6, "no step is invented"


def test_the_older_function_call_is_paired_by_name(read_one: One) -> None:
    asked = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}
    trace = read_one(talk(asked, {"role": "function", "name": "f", "content": "7"}))
    assert trace.steps[1].call is not None
    assert trace.steps[1].call.args == {"a": 1}
    assert results_of(trace)["s0002"].result.value == 7  # type: ignore[union-attr]
    assert trace.notices == ()


def test_a_result_that_names_nothing_answers_the_oldest_open_call(read_one: One) -> None:
    trace = read_one(talk(said(call("{}", id="a"), call("{}", id="b")), gave("x", None)))
    assert results_of(trace).keys() == {"s0002"}
    assert codes(trace) == ["paired_by_order", "missing_result"]


def test_content_parts(read_one: One) -> None:
    png = base64.b64encode(b"image").decode()
    content = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png}"}},
        {"type": "input_audio", "input_audio": {"data": png, "format": "wav"}},
        {"type": "hologram", "x": 1},
        "loose",
    ]
    trace = read_one({"messages": [{"role": "user", "content": content}]})
    (step,) = trace.steps
    digest = hashlib.sha256(b"image").hexdigest()
    assert [part.kind for part in step.parts] == ["text", "image", "image", "audio", "json", "text"]
    assert step.parts[1].uri == "https://example.com/a.png"
    assert (step.parts[2].blob, step.parts[2].uri) == (digest, None)
    assert trace.blobs[digest]["size"] == 5
    assert step.parts[4].value == {"type": "hologram", "x": 1}
    assert codes(trace) == ["unknown_part"]


def test_a_refusal_is_text(read_one: One) -> None:
    trace = read_one(talk({"role": "assistant", "content": None, "refusal": "I cannot."}))
    assert trace.steps[1].text == "I cannot."


def test_a_result_of_text_parts_is_decoded_like_text(read_one: One) -> None:
    trace = read_one(talk(said(call("{}")), gave([{"type": "text", "text": '{"a": 1}'}])))
    assert trace.steps[2].result is not None
    assert trace.steps[2].result.value == {"a": 1}
    assert trace.steps[2].text == '{"a": 1}'


def test_calls_of_another_format_are_not_mistaken_for_a_run_without_calls(read_one: One) -> None:
    trace = read_one(talk({"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]}))
    assert not trace.fidelity.has_tool_calls
    assert codes(trace) == ["calls_not_read"]


@pytest.mark.parametrize(
    "message", [5, None, "x", {}, {"role": "robot"}, {"role": None}, {"role": ["user"]}, [1]]
)
def test_an_unreadable_message_is_kept_as_a_note(read_one: One, message: Any) -> None:
    trace = read_one(
        {"messages": [{"role": "user", "content": "a"}, message, {"role": "user", "content": "b"}]}
    )
    assert [step.kind for step in trace.steps] == ["user", "note", "user"]
    assert trace.steps[1].parts[0].value == message
    assert codes(trace) == ["unreadable_message"]
    assert not trace.fidelity.complete


@pytest.mark.parametrize(
    "calls", ["x", 5, {"a": 1}, [5], [{}], [{"function": {}}], [{"function": {"name": 5}}], [None]]
)
def test_calls_that_cannot_be_read_are_kept_as_a_note(read_one: One, calls: Any) -> None:
    trace = read_one(talk({"role": "assistant", "content": "x", "tool_calls": calls}))
    assert sorted(step.kind for step in trace.steps) == ["assistant", "note", "user"]
    assert not trace.fidelity.complete


@pytest.mark.parametrize(("value", "text"), [(7, "7"), (0, "0"), (1.5, "1.5"), (-3, "-3")])
def test_a_numeric_task_id_is_its_decimal_text_with_a_notice(read_one: One, value: Any, text: str) -> None:
    trace = read_one({"task_id": value, "output": "x"})
    assert trace.task_id == text
    assert codes(trace) == ["task_id_number"]


def test_the_largest_trial_number(read_one: One) -> None:
    assert read_one({"task_id": "a", "trial": MOST_TRIAL, "output": "x"}).trial == 2**53 - 1


def test_digits_as_trial_are_taken_with_a_notice(read_one: One) -> None:
    trace = read_one({"task_id": "a", "trial": "03", "output": "x"})
    assert trace.trial == 3
    assert codes(trace) == ["trial_text"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"trial": 1.0},
        {"trial": True},
        {"trial": "first"},
        {"trial": -1},
        {"trial": 2**53},
        {"trial": 10**30},
        {"trial": [1]},
        {"trial": "٣"},
        {"trial": ""},
        {"task_id": True},
        {"task_id": ["a"]},
        {"task_id": {}},
    ],
)
def test_a_wrong_task_id_or_trial_quarantines_the_recording(
    read_lines: Callable[..., list[Any]], wrong: Any
) -> None:
    lost, kept = read_lines({"task_id": "a", "output": "x", **wrong}, {"task_id": "b", "output": "x"})
    assert isinstance(lost, Quarantined)
    assert lost.where.endswith(":1")
    assert lost.reason.endswith(".")
    assert isinstance(kept, Trace)


@pytest.mark.parametrize("word", ["finished", "AGENT_STOP", 5, ["agent_stop"], True, ""])
def test_an_unknown_ending_is_kept_and_not_guessed(read_one: One, word: Any) -> None:
    trace = read_one(talk(ended_by=word))
    assert trace.outcome.ended_by == "unknown", "which completes no trial"
    assert trace.outcome.exit_status == (
        word if isinstance(word, str) else json.dumps(word, separators=(",", ":"))
    )
    assert codes(trace) == ["unknown_ending"]


def test_measurements_that_are_no_finite_numbers_are_told(read_lines: Callable[..., list[Any]]) -> None:
    (trace,) = read_lines(
        b'{"task_id": "a", "output": "x", "measurements": {"a": NaN, "b": "1", "c": true, "d": null, "e": 2}}'
    )
    assert trace.measurements == {"e": 2}
    assert codes(trace) == ["non_finite", "bad_measurement"]
    assert "3 times" in trace.notices[1].detail


@pytest.mark.parametrize("state", ["x", 5, {"files": 5}, {"files": ""}, {"sqlite": "a\0"}, {"table": {}}])
def test_a_state_that_cannot_be_used_is_told(read_one: One, state: Any) -> None:
    trace = read_one(talk(end_state=state))
    assert "bad_state" in codes(trace)


def test_times_and_usage_of_messages(read_one: One) -> None:
    first = {
        "role": "assistant",
        "content": "a",
        "timestamp": "2030-01-01T00:00:01Z",
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
    }
    second = {"role": "assistant", "content": "b", "created_at": "2030-01-01T00:00:00Z"}
    trace = read_one(talk(first, second))
    assert [(step.started_at, step.clock) for step in trace.steps] == [
        (None, "none"),
        ("2030-01-01T00:00:01Z", "utc"),
        ("2030-01-01T00:00:00Z", "utc"),
    ]
    assert trace.steps[1].usage == Usage(input_total=9, output=3, input_cached_read=4)
    assert trace.fidelity.has_times
    assert trace.fidelity.has_usage
    assert codes(trace) == ["times_go_back"]


def test_an_answer_beside_messages_is_told(read_one: One) -> None:
    assert codes(read_one(talk(output="x"))) == ["answer_not_read"]


def test_null_messages_of_a_failed_start_are_told(read_one: One) -> None:
    trace = read_one({"task_id": "a", "messages": None, "prompt": "go", "ended_by": "infrastructure_fault"})
    assert [step.kind for step in trace.steps] == ["user"]
    assert codes(trace) == ["no_messages"]


def test_five_hundred_equal_oddities_are_one_notice(read_one: One) -> None:
    trace = read_one(talk(said(*(call("{", id=str(i)) for i in range(500)))))
    assert [(n.code, n.step) for n in trace.notices] == [
        ("malformed_arguments", "s0002"),
        ("missing_result", "s0002"),
    ]
    assert "500 times" in trace.notices[0].detail


def test_uids_depend_on_place_kind_and_content_alone(read_lines: Callable[..., list[Any]]) -> None:
    value = talk(said(call('{"a": 1}')), gave("x"))
    other = talk(said(call('{"a": 2}')), gave("x"))
    first, again, changed = read_lines(value, {**value, "task_id": "z"}, other)
    assert [s.uid for s in first.steps] == [s.uid for s in again.steps]
    assert [a.uid == b.uid for a, b in zip(first.steps, changed.steps, strict=True)] == [True, False, True]
    assert all(len(step.uid) == 16 and set(step.uid) <= set("0123456789abcdef") for step in first.steps)


def test_an_older_function_call_beside_tool_calls_is_read_too(read_one: One) -> None:
    message = {**said(call("{}")), "function_call": {"name": "refund", "arguments": '{"n": 1}'}}
    trace = read_one(talk(message, gave("x"), {"role": "function", "name": "refund", "content": "y"}))
    assert [(s.call.name, s.call.args) for s in agent_calls(trace) if s.call] == [
        ("book", {}),
        ("refund", {"n": 1}),
    ]
    assert codes(trace) == ["function_call_beside"]
    assert trace.fidelity.complete


def test_an_empty_task_id_is_not_recorded(read_one: One) -> None:
    trace = read_one({"task_id": "", "output": "x"})
    assert trace.task_id is None
    assert codes(trace) == ["blank_task_id"]


def test_a_tool_that_takes_plain_text_is_not_decoded(read_one: One) -> None:
    trace = read_one(
        talk(said({"id": "c1", "type": "custom", "custom": {"name": "sql", "input": '{"a": 1}'}}), gave("x"))
    )
    found = trace.steps[1].call
    assert found is not None
    assert (found.args, found.args_raw, found.args_error) == ('{"a": 1}', None, None)


def test_a_lone_surrogate_in_arguments_is_replaced_and_told(read_one: One) -> None:
    trace = read_one(talk(said(call('{"a": "\\ud800"}')), gave("x")))
    found = trace.steps[1].call
    assert found is not None
    assert (found.args, found.args_error) == ({"a": "\ufffd"}, None)
    assert codes(trace) == ["lone_surrogate"]


def test_a_result_of_odd_json_stays_text(read_one: One) -> None:
    trace = read_one(talk(said(call("{}")), gave('{"a": 1, "a": 2}')))
    assert trace.steps[2].result is not None
    assert trace.steps[2].result.value == '{"a": 1, "a": 2}'
    assert codes(trace) == ["odd_result"]
