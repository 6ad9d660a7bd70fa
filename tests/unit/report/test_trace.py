"""Traces as text and JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from steelyard.model.trace import (
    Agent,
    Call,
    Fidelity,
    Notice,
    Outcome,
    Part,
    Quarantined,
    Result,
    Source,
    Speech,
    Step,
    StepError,
    Trace,
    Usage,
    Visibility,
)
from steelyard.report import plain as plain_module
from steelyard.report.plain import clean, dumps
from steelyard.report.trace import HEAD, TAIL, WINDOW, trace_text, traces_summary
from steelyard.report.trace_parts import trace_json
from unit.report.test_text import ANY


def step(number: int, kind: str, role: str = "assistant", text: str = "", **more: Any) -> Step:
    parts = (Part(kind="text", text=text),) if text else ()
    settings: dict[str, Any] = {"turn": number - 1, "parts": parts} | more
    return Step(id=f"s{number:04}", uid=f"u{number}", seq=number, kind=kind, role=role, **settings)  # type: ignore[arg-type]


def sample(**more: Any) -> Trace:
    steps = (
        step(1, "user", "user", "Close my account."),
        step(2, "tool_call", call=Call(name="get_user", args={"id": 7}, executed="yes"), turn=1),
        step(
            3,
            "tool_call",
            call=Call(name="close", args_raw='{"id": 7,', args_error="cut off", executed="denied"),
            turn=1,
        ),
        step(
            4,
            "tool_result",
            "tool",
            result=Result(call_step_id="s0002", value={"name": "Jo"}),
            alias="e1",
            turn=2,
        ),
        step(
            5,
            "tool_result",
            "tool",
            result=Result(outcome="timeout", value="x" * 1000, truncated=True),
            alias="e2",
        ),
        step(
            6,
            "assistant",
            text="Done.",
            visibility=Visibility(kind="draft_rejected", by="guard", reason="false"),
        ),
        step(7, "assistant", text="I could not.", error=StepError(type="Late", message="slow")),
    )
    fields: dict[str, Any] = {
        "id": "t1", "source": Source(format="openai_chat", importer="openai_chat", file="a.jsonl", locator="line 1"),
        "steps": steps, "task_id": "close", "trial": 1, "outcome": Outcome(ended_by="agent_stop"),
        "notices": (Notice(code="unpaired_result", detail="no call has this id", step="s0005"),),
        "usage": Usage(input_total=1200, output=34, cost_usd=0.02), "fidelity": Fidelity(complete=False),
    }  # fmt: skip
    return Trace(**(fields | more))


def test_a_trace_reads_from_top_to_bottom():
    lines = trace_text(sample()).splitlines()
    assert lines[0] == "trace t1"
    assert lines[1] == "  close#1 · 7 steps · 2 calls · openai_chat from a.jsonl line 1"
    assert "s0001         user  turn 0" in lines
    call = lines.index("s0002         tool_call get_user  turn 1")
    assert lines[call + 1].strip() == '{"id": 7}'
    assert lines[call + 2] == "s0004  e1       tool_result of s0002"
    assert lines[call + 3].strip() == '{"name": "Jo"}'
    assert "s0003         tool_call close [MALFORMED ARGUMENTS: cut off] [DENIED]  turn 1" in lines
    assert '                {"id": 7,' in lines
    assert "s0005  e2     tool_result of no known call [TIMEOUT] [CUT IN THE SOURCE]  turn 4" in lines
    assert "                … 600 of 1,000 characters folded" in lines
    assert "s0006         assistant [REJECTED DRAFT: guard false]  turn 5" in lines
    assert "s0007         assistant [ERROR Late: slow]  turn 6" in lines
    assert "  ? unpaired_result at s0005: no call has this id" in lines
    assert any(line.startswith("fidelity  ✗ not complete · ✓ tool calls") for line in lines)
    assert "usage     input total 1,200 · output 34 · cost usd 0.02" in lines


def test_every_step_stands_once():
    text = trace_text(sample())
    assert all(text.count(f"\n{entry.id} ") == 1 for entry in sample().steps)


def test_full_folds_nothing():
    text = trace_text(sample(), full=True)
    assert "folded" not in text
    assert text.count("x") >= 1000


def test_an_interrupted_turn_shows_what_was_heard():
    speech = Speech(generated_text="a b c", heard_text="a b", heard_basis="exact", interrupted=True)
    text = trace_text(sample(steps=(step(1, "assistant", text="a b", speech=speech),)))
    assert "[INTERRUPTED, heard: exact]" in text
    assert "heard: a b" in text


def test_sub_agents_are_indented_under_their_path():
    agents = (Agent(id="boss"), Agent(id="clerk", role="sub", parent="boss"))
    steps = (
        step(1, "assistant", text="x", agent_id="boss"),
        step(2, "assistant", text="y", agent_id="clerk"),
    )
    lines = trace_text(sample(agents=agents, steps=steps)).splitlines()
    assert "s0001         assistant by boss  turn 0" in lines
    assert "s0002           assistant by clerk  turn 1" in lines
    assert "  agent  clerk  (sub under boss)" in lines


def test_a_cycle_of_agents_ends():
    agents = (Agent(id="a", parent="b"), Agent(id="b", parent="a"))
    assert "by a" in trace_text(sample(agents=agents, steps=(step(1, "assistant", text="x", agent_id="a"),)))


def test_a_large_value_is_described_and_a_deep_one_does_not_crash():
    deep: Any = 1
    for _ in range(3000):
        deep = [deep]
    steps = (
        step(1, "tool_call", call=Call(name="big", args={"rows": ["x" * 100] * 1000})),
        step(2, "tool_call", call=Call(name="deep", args=deep)),
    )
    text = trace_text(sample(steps=steps))
    assert "[a large dict with 1 entries; --full shows it]" in text
    assert "tool_call deep" in text
    assert trace_json([sample(steps=steps)], [])


def test_the_summary_has_a_line_a_trace_and_every_quarantined_record():
    lines = traces_summary(
        [sample(), sample(id="t2")], [Quarantined(where="a.jsonl:9", reason="cut off")]
    ).splitlines()
    assert lines[0].split() == [
        "t1", "close#1", "7", "steps", "·", "2", "calls", "·", "agent_stop", "·", "1", "notice",
    ]  # fmt: skip
    assert lines[2] == "2 traces, 1 quarantined"
    assert lines[3] == "  ! a.jsonl:9: cut off"


def test_the_json_has_the_published_fields():
    shown = json.loads(trace_json([sample()], [Quarantined(where="a.jsonl:9", reason="cut off")]))
    assert shown["quarantined"] == [{"where": "a.jsonl:9", "reason": "cut off"}]
    trace = shown["traces"][0]
    wanted = {"id", "source", "task_id", "agents", "steps", "notices", "fidelity", "usage"}
    assert wanted <= set(trace)
    assert trace["notices"] == [{"code": "unpaired_result", "detail": "no call has this id", "step": "s0005"}]
    first, call = trace["steps"][0], trace["steps"][2]
    assert first["parts"] == [{"kind": "text", "text": "Close my account."}]
    assert first["visibility"]["kind"] == "released"
    assert call["call"]["args"] is None
    assert call["call"]["args_raw"] == '{"id": 7,'
    assert trace["usage"]["input_total"] == 1200


def test_a_null_json_part_keeps_its_value():
    entry = step(1, "note", parts=(Part(kind="json", value=None),))
    assert json.loads(trace_json([sample(steps=(entry,))], []))["traces"][0]["steps"][0]["parts"] == [
        {"kind": "json", "value": None}
    ]


@settings(max_examples=100)
@given(text=ANY, width=st.integers(60, 120), unicode=st.booleans(), full=st.booleans())
def test_no_text_makes_a_line_wider_than_the_page(text, width, unicode, full):
    steps = (
        step(1, "user", "user", text),
        step(2, "tool_call", call=Call(name=text, args={text: text}), agent_id=text),
        step(3, "tool_result", "tool", result=Result(call_step_id="s0002", value=text), alias=text),
        step(4, "assistant", text=text, visibility=Visibility(kind="draft_rejected", by=text, reason=text)),
    )
    trace = sample(
        id=text, task_id=text, steps=steps, agents=(Agent(id=text, name=text), Agent(id="b", parent=text)),
        notices=(Notice(code=text, detail=text, step=text),), measurements={text: 1.0},
    )  # fmt: skip
    for shown in (
        trace_text(trace, width=width, unicode=unicode, full=full),
        traces_summary([trace], [Quarantined(where=text, reason=text)], width=width, unicode=unicode),
    ):
        assert all(cell_len(line) <= width for line in shown.split("\n"))
        assert unicode or shown.isascii()
        assert "\x1b" not in shown
    json.loads(trace_json([trace], []))


@pytest.mark.parametrize(
    "name", ["junit_xml", "score_json", "scoreboard", "trace_json", "trace_text", "whatif_board"]
)
def test_the_room_re_exports_its_functions(name):
    from steelyard import report

    assert callable(getattr(report, name))


def test_an_unknown_name_is_an_attribute_error():
    from steelyard import report

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        report.nothing  # noqa: B018


def long_trace(count: int) -> Trace:
    return sample(
        steps=tuple(step(number, "note", "none", text=f"event {number}") for number in range(1, count + 1))
    )


def test_of_a_long_trace_the_ends_are_shown_and_the_rest_is_counted():
    text = trace_text(long_trace(HEAD + TAIL + 5))
    assert "… 5 of 305 steps left out; see some by --steps FROM-TO, all by --full" in text
    assert [f"\ns{n:04} " in text for n in (1, HEAD, HEAD + 1, HEAD + 5, HEAD + 6, 305)] == [
        True, True, False, False, True, True,
    ]  # fmt: skip
    for whole in (trace_text(long_trace(HEAD + TAIL + 5), full=True), trace_text(long_trace(HEAD + TAIL))):
        assert "left out" not in whole


def test_some_steps_are_shown_when_asked_for():
    text = trace_text(long_trace(20), steps=(5, 7))
    assert [f"\ns{n:04} " in text for n in (4, 5, 7, 8)] == [False, True, True, False]
    assert "… 4 of 20 steps left out" in text
    assert "… 13 of 20 steps left out" in text
    assert "… 20 of 20 steps left out" in trace_text(long_trace(20), steps=(30, 40))


def test_a_huge_content_is_shown_by_its_ends_with_size_and_hash():
    content = "first line\n" + "é" * WINDOW + "\nlast line"
    text = trace_text(sample(steps=(step(1, "assistant", text=content),)), width=200)
    digest = hashlib.sha256(content.encode()).hexdigest()
    assert f"{len(content.encode()):,} bytes, sha256 {digest}; it ends:" in text
    assert "first line" in text
    assert "last line" in text
    assert len(text) < 3_000


def test_an_alias_is_never_cut():
    text = trace_text(sample(steps=(step(1, "tool_result", "tool", alias="e25000", result=Result(value=1)),)))
    assert "tool_result e25000 of no known call" in text


@given(st.lists(st.text(max_size=30), max_size=3))
def test_json_in_parts_is_the_json_of_the_whole(texts: list[str]) -> None:
    steps = tuple(step(number, "assistant", text=text) for number, text in enumerate(texts, 1))
    trace = sample(steps=steps, measurements={"a": 1.0}, id="\ud800" + "".join(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_module, "LONG", 7)
        written = trace_json([trace, trace], [Quarantined(where="a", reason="".join(texts))])
    assert written == trace_json([trace, trace], [Quarantined(where="a", reason="".join(texts))])
    assert written == dumps(json.loads(written))
    assert json.loads(written)["traces"][1]["id"] == clean("\ud800" + "".join(texts))
