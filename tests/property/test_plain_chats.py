"""A line that is read at one look gives the trace that the careful way gives."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.importers import detect, read_traces
from steelyard.importers.plain_chats import MOST_MESSAGES, plain_chat
from steelyard.model.trace import Quarantined, Trace

TEXT = st.text(max_size=8) | st.sampled_from(
    ["", " ", "Observation: 3", "<tool_call>", "Action: look", "```", '{"name": "a", "arguments": {}}', '"', "\\",
     "\\u0000", "\\u0022", "[[{{", "é", "\U0001f600"]
)  # fmt: skip
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXT}
) | st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "developer", "none"]),
        "content": TEXT | st.none(),
    },
    optional={"name": TEXT},
)
RECORDING = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE, max_size=4), "task_id": TEXT | st.integers()},
    optional={"trial": st.integers() | st.sampled_from([None, 1.0, True, "1", "0x", 2**53]), "id": TEXT},
)
ANSWERED = st.fixed_dictionaries(
    {"output": TEXT | st.integers(), "task_id": TEXT},
    optional={
        "prompt": TEXT | st.none(), "trial": st.integers(min_value=-1, max_value=9) | st.none(), "answer": TEXT,
        "input": TEXT,
    },
)  # fmt: skip
PLAIN = st.fixed_dictionaries(
    {
        "messages": st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXT}
            ),
            max_size=5,
        ),
        "task_id": TEXT,
    },
    optional={"trial": st.integers(min_value=-1, max_value=9)},
)
FIELDS = [
    b'"task_id":"a"', b'"task_id":"b"', b'"messages":[]', b'"trial":1', b'"trial":2', b'"task\\u005fid":"a"',
    b'"messages":[{"role":"user","content":"x"}]',
    b'"messages":[{"role":"user","content":"x","content":"y"}]',
    b'"messages":[{"role":"user","role":"user","content":"\\""}]',
    b'"messages":[{"role":"user","content":"a\\nb\\u0022"}]',
    b'"messages":[{"role":"user","content":"a\nb"}]',
    b'"messages":[{"role":"user","content":"\xff"}]',
    b'"messages":[{"role":"assistant","content":"\\u0000"}]',
    b'"messages":[{"role":"assistant","content":"\\ud800"}]',
    b'"task_id":"\\u0000"',
    b'"output":"x"', b'"output":"y"', b'"output":"\\u0022"', b'"prompt":"x"', b'"prompt":""',
]  # fmt: skip


def both_ways(line: bytes) -> list[list[Trace | Quarantined] | str]:
    """What the line is read as, and what it is read as by the careful way alone."""
    found: list[list[Trace | Quarantined] | str] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.jsonl")
        file.write_bytes(b"\xef\xbb\xbf" + line + b"\n" + line)
        for quick in (plain_chat, lambda *given: None):
            with patch.object(detect, "plain_chat", quick):
                try:
                    found.append(list(read_traces(file)))
                except Exception as error:  # noqa: BLE001  the same error is wanted
                    found.append(repr(error))
    return found


@given(
    RECORDING | PLAIN | ANSWERED, st.booleans(), st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", " : ")])
)
def test_a_plain_line_is_read_as_the_careful_way_reads_it(
    recording: dict[str, Any], ascii_only: bool, marks: tuple[str, str]
) -> None:
    text = json.dumps(recording, ensure_ascii=ascii_only, separators=marks)
    quick, careful = both_ways(text.encode("utf-8", "surrogatepass"))
    assert quick == careful


@given(st.lists(st.sampled_from(FIELDS), max_size=4))
@example([b'"task_id":"a"', b'"messages":[{"role":"user","content":"x"}]', b'"trial":1'])
@example([b'"task_id":"a"', b'"output":"x"', b'"output":"y"'])
@example([b'"task_id":"a"', b'"task_id":"b"', b'"messages":[{"role":"user","content":"x"}]'])
def test_a_key_that_is_written_twice_is_seen(fields: list[bytes]) -> None:
    quick, careful = both_ways(b"{" + b",".join(fields) + b"}")
    assert quick == careful


def test_the_plainest_line_needs_no_careful_way() -> None:
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": 'Say "1"\n'}]
    said.append({"role": "assistant", "content": "1"})
    line = json.dumps({"task_id": "t", "trial": 2, "messages": said}).encode()
    trace = plain_chat(line, "a.jsonl", None, 7)
    assert trace is not None
    assert (trace.id, trace.trial, [step.text for step in trace.steps]) == (
        "a.jsonl:7", 2, ["Be brief.", 'Say "1"\n', "1"],
    )  # fmt: skip
    quick, careful = both_ways(line)
    assert quick == careful


def test_a_single_answer_needs_no_careful_way() -> None:
    line = json.dumps({"task_id": "t", "prompt": "What?", "output": "1"}).encode()
    trace = plain_chat(line, "a.jsonl", None, 7)
    assert trace is not None
    assert [(step.role, step.text) for step in trace.steps] == [("user", "What?"), ("assistant", "1")]
    quick, careful = both_ways(line)
    assert quick == careful


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize(
    "text",
    ['<tool_call>{"name": "look", "arguments": {"a": 1}}</tool_call>', '{"name": "look", "arguments": {"a": 1}}',
     "Observation: 3", "<tool_response>3</tool_response>", '```json\n{"name": "look", "arguments": {}}\n```',
     'Action: look\nAction Input: {"a": 1}', "[TOOL_CALLS] look", "Plain words."],
)  # fmt: skip
def test_words_that_may_be_a_call_are_told_as_the_careful_way_tells_them(role: str, text: str) -> None:
    for recording in (
        {"messages": [{"role": role, "content": text}]},
        {"output": text},
        {"prompt": text, "output": "1"},
    ):
        quick, careful = both_ways(json.dumps({"task_id": "t", **recording}).encode())
        assert quick == careful


def test_a_long_conversation_goes_the_careful_way() -> None:
    said = [{"role": "user", "content": "1"}] * (MOST_MESSAGES + 1)
    line = json.dumps({"task_id": "t", "messages": said}).encode()
    assert plain_chat(line, "a.jsonl", None, 1) is None
    quick, careful = both_ways(line)
    assert quick == careful
