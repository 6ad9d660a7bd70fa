from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.importers import read_traces
from steelyard.importers.formats.canonical import Canonical, encode_trace
from steelyard.model.evidence import answer, results_of
from steelyard.model.trace import EndState, Quarantined, Trace
from steelyard.ports.importer import Record

One = Callable[[Any], Trace]
Lines = Callable[..., list[Any]]

RICH = {
    "task_id": "q7",
    "trial": 2,
    "id": "run-1",
    "ended_by": "agent_stop",
    "measurements": {"seconds": 1.5},
    "end_state": {"json": {"a": [1, 1.0, "1", True, None]}},
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Größe \U0001f600"},
                {"type": "image_url", "image_url": "x.png"},
            ],
        },
        {
            "role": "assistant",
            "content": "a",
            "tool_calls": [
                {
                    "id": "1",
                    "function": {"name": "f", "arguments": '{"n": 1.0, "m": 123456789012345678901234567890}'},
                },
                {"id": "1", "function": {"name": "f", "arguments": '{"n": '}},
                {"id": "2", "function": {"name": "f", "arguments": ""}},
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": '{"rows": []}'},
        {"role": "assistant", "content": "", "timestamp": "2030-01-01T00:00:00"},
    ],
}
BY_HAND = {
    "schema": "trace/1",
    "task_id": "q7",
    "steps": [
        {"kind": "user", "text": "Capital of France?"},
        {"kind": "tool_call", "name": "lookup", "args": {"country": "FR"}},
        {"kind": "tool_result", "value": {"capital": "Paris"}},
        {"kind": "assistant", "text": "Paris"},
    ],
}


def exported(trace: Trace) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(encode_trace(trace))
    return value


def test_an_export_read_again_is_the_same_trace(read_one: One) -> None:
    trace = read_one(RICH)
    again = read_one(exported(trace))
    assert again == trace
    assert encode_trace(again) == encode_trace(trace)


def test_a_trace_by_hand_gets_ids_uids_and_pairs(read_one: One) -> None:
    trace = read_one(BY_HAND)
    assert [(s.id, s.kind, s.role, s.alias) for s in trace.steps] == [
        ("s0001", "user", "user", None),
        ("s0002", "tool_call", "assistant", None),
        ("s0003", "tool_result", "tool", "e1"),
        ("s0004", "assistant", "assistant", None),
    ]
    assert results_of(trace)["s0002"].result.value == {"capital": "Paris"}  # type: ignore[union-attr]
    assert answer(trace) == trace.steps[3]
    assert trace.notices == ()
    assert (trace.task_id, trace.source.format) == ("q7", "canonical")
    assert read_one(exported(trace)) == trace


def test_a_trace_by_hand_may_say_more(read_one: One) -> None:
    steps = [
        {
            "kind": "tool_call",
            "name": "f",
            "args": "{}",
            "call_id": "a",
            "role": "user",
            "agent_id": "customer",
        },
        {"kind": "tool_call", "name": "g"},
        {"kind": "tool_result", "text": "no", "call_id": "zz", "outcome": "error"},
        {
            "kind": "assistant",
            "text": "draft",
            "visibility": {"kind": "draft_rejected", "by": "gate"},
            "turn": 9,
        },
        {"kind": "retrieval", "parts": [{"kind": "document", "doc_id": "d", "text": "found"}]},
    ]
    trace = read_one(
        {
            "schema": "trace/1",
            "steps": steps,
            "trial": 3,
            "state_after": {"json": {"x": 1}},
            "outcome": {"ended_by": "user_stop"},
            "measurements": {"seconds": 2},
        }
    )
    assert [(s.role, s.agent_id, s.turn) for s in trace.steps] == [
        ("user", "customer", 0),
        ("assistant", "agent", 1),
        ("tool", None, 2),
        ("assistant", "agent", 9),
        ("tool", None, 4),
    ]
    assert [n.code for n in trace.notices] == ["malformed_arguments", "orphan_result", "missing_result"]
    assert trace.steps[3].visibility.by == "gate"
    assert trace.steps[4].alias == "e2"
    assert trace.outcome.ended_by == "user_stop"
    assert (trace.trial, trace.state_after) == (3, EndState(json={"x": 1}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": "trace/2"},
        {"steps": None},
        {"steps": [{"text": "no kind"}]},
        {"steps": [{"kind": "telepathy"}]},
        {"steps": [{"kind": "user", "txt": "misspelt"}]},
        {"steps": [{"kind": "tool_call", "args": {}}]},
        {"steps": [5]},
        {"task": "misspelt"},
        {"trial": "one"},
        {"trial": 2**53},
        {"steps": [{"kind": "assistant", "text": "Done.", "name": "refund"}]},
        {"steps": [{"kind": "note", "args": {"amount": 5}}]},
        {"steps": [{"kind": "assistant", "text": "Done.", "call_id": "c1"}]},
        {"steps": [{"kind": "tool_result", "text": "ok", "args": {}}]},
        {"steps": [{"kind": "tool_call", "name": "f", "args": {}, "value": "ok"}]},
        {"outcome": {"ended_by": "boredom"}},
        {"measurements": {"seconds": "long"}},
    ],
    ids=str,
)
def test_a_wrong_trace_by_hand_is_quarantined_with_the_place(
    read_lines: Lines, wrong: dict[str, Any]
) -> None:
    lost, kept = read_lines({**BY_HAND, **wrong}, BY_HAND)
    assert isinstance(lost, Quarantined)
    assert lost.where.endswith(":1")
    assert "refused: " in lost.reason
    assert isinstance(kept, Trace)


def _drop_a_result(value: dict[str, Any]) -> None:
    del value["steps"][5]


def _swap_steps(value: dict[str, Any]) -> None:
    value["steps"][0], value["steps"][1] = value["steps"][1], value["steps"][0]


def _repeat_an_id(value: dict[str, Any]) -> None:
    value["steps"][1]["id"] = "s0001"


def _break_a_kind(value: dict[str, Any]) -> None:
    value["steps"][0]["kind"] = "tool_call"


def _break_a_type(value: dict[str, Any]) -> None:
    value["steps"][0]["turn"] = "0"


def _forget_a_field(value: dict[str, Any]) -> None:
    del value["steps"][2]["uid"]


@pytest.mark.parametrize(
    "edit", [_drop_a_result, _repeat_an_id, _break_a_kind, _break_a_type, _forget_a_field]
)
def test_an_edited_export_is_not_taken_for_whole(
    read_one: One, read_lines: Lines, edit: Callable[[dict[str, Any]], None]
) -> None:
    value = exported(read_one(RICH))
    edit(value)
    (lost,) = read_lines(value)
    assert isinstance(lost, Quarantined)


def test_an_export_in_another_order_is_read_by_its_sequence_numbers(read_one: One, read_lines: Lines) -> None:
    whole = read_one(RICH)
    value = exported(whole)
    _swap_steps(value)
    (trace,) = read_lines(value)
    assert trace.steps == whole.steps
    assert "reordered" in {notice.code for notice in trace.notices}


def test_an_export_whose_pairing_was_cut_says_so(read_one: One) -> None:
    value = exported(read_one(BY_HAND))
    value["steps"][2]["result"]["call_step_id"] = "s0099"
    trace = read_one(value)
    assert [notice.code for notice in trace.notices] == ["missing_result", "orphan_result"]
    assert not trace.fidelity.complete


CALL: dict[str, Any] = {"type": "tool_use", "name": "refund", "input": {}}


@pytest.mark.parametrize(
    "step",
    [
        {"kind": "assistant", "parts": [{"kind": "json", "value": CALL}]},
        {"kind": "note", "parts": [{"kind": "json", "value": {"deep": [CALL]}}]},
        {"kind": "assistant", "parts": [{"kind": "text", "text": "ok", "tool_calls": [CALL]}]},
        {"kind": "assistant", "text": '{"name": "refund", "arguments": {}}'},
        {
            "kind": "tool_call",
            "name": "batch",
            "args": {"tool_uses": [{"recipient_name": "f", "parameters": {}}]},
        },
    ],
)
def test_what_looks_like_a_call_in_a_trace_by_hand_is_told(read_one: One, step: dict[str, Any]) -> None:
    trace = read_one({"schema": "trace/1", "steps": [step]})
    assert "calls_not_read" in {notice.code for notice in trace.notices}
    assert not trace.fidelity.complete
    assert read_one(exported(trace)) == trace


def _add_a_field(value: dict[str, Any]) -> None:
    value["steps"][0]["tool_calls"] = [CALL]


def _add_a_part(value: dict[str, Any]) -> None:
    value["steps"][3]["parts"].append({"kind": "json", "value": CALL})


def _add_beside(value: dict[str, Any]) -> None:
    value["function_call"] = CALL


def _add_to_a_call(value: dict[str, Any]) -> None:
    value["steps"][1]["call"]["args"] = {"tool_calls": [CALL]}


@pytest.mark.parametrize("edit", [_add_a_field, _add_a_part, _add_beside, _add_to_a_call])
def test_what_looks_like_a_call_in_an_edited_export_is_told(
    read_one: One, edit: Callable[[dict[str, Any]], None]
) -> None:
    whole = read_one(BY_HAND)
    value = exported(whole)
    edit(value)
    trace = read_one(value)
    assert [notice.code for notice in trace.notices] == ["calls_not_read"]
    assert whole.fidelity.complete
    assert not trace.fidelity.complete


def test_an_export_with_a_trial_beyond_the_bound_is_quarantined(read_one: One, read_lines: Lines) -> None:
    (lost,) = read_lines({**exported(read_one(BY_HAND)), "trial": 2**53})
    assert isinstance(lost, Quarantined)
    (lost,) = read_lines({**exported(read_one(BY_HAND)), "trial": -1})
    assert isinstance(lost, Quarantined)


@pytest.mark.parametrize("args", [b'{"a": NaN}', b'{"a": 1, "a": 2}'])
def test_odd_values_in_a_canonical_trace_are_refused(read_lines: Lines, args: bytes) -> None:
    (lost,) = read_lines(
        b'{"schema": "trace/1", "steps": [{"kind": "tool_call", "name": "f", "args": %b}]}' % args
    )
    assert isinstance(lost, Quarantined)


def test_exports_of_real_data_are_read_again_equal(
    require_shared: Callable[[str], Path], tmp_path: Path
) -> None:
    traces = list(read_traces(require_shared("data/tau2/telecom__gpt-4o__default__20sims.json")))
    file = tmp_path / "exported.jsonl"
    file.write_bytes(b"\n".join(encode_trace(trace) for trace in traces if isinstance(trace, Trace)))
    assert list(read_traces(file)) == traces
    assert len(traces) == 20


@given(st.permutations(range(10)))
def test_shuffled_steps_with_sequence_numbers_read_the_same(order: list[int]) -> None:
    """Q48: order by sequence number, whatever the file order and however the clocks are written."""
    times = ["2030-03-01T10:00:00Z", "2030-03-01T12:00:01+02:00", "2030-03-01T10:00:02"] * 4
    steps = [
        {
            "kind": "tool_call",
            "name": f"tool_{n}",
            "args": {"n": n},
            "call_id": f"c{n}",
            "seq": n,
            "started_at": times[n],
        }
        for n in range(10)
    ]
    value = {"schema": "trace/1", "task_id": "t", "steps": [steps[place] for place in order]}
    (trace,) = Canonical().read(Record(value=value, where="t.jsonl:1", file="t.jsonl"))
    assert isinstance(trace, Trace)
    assert [step.call.name for step in trace.steps if step.call] == [f"tool_{n}" for n in range(10)]
    assert [step.id for step in trace.steps] == [f"s{n:04d}" for n in range(1, 11)]
    assert [step.clock for step in trace.steps[:3]] == ["utc", "utc", "naive"]
    assert [step.started_at for step in trace.steps] == times[:10]
    assert ("reordered" in {notice.code for notice in trace.notices}) == (order != sorted(order))
