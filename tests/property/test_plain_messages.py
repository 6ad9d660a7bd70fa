"""Laws of the short ways of importing: they give what the careful ones give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.importers import lookalikes, messages, unread
from steelyard.importers.building import StepBuilder
from steelyard.model.trace import Trace
from steelyard.ports.importer import Record

WORDS = st.sampled_from(
    ["", " ", "ok", "<b>", "Observation: 5", "<tool_call>", '{"name": "f", "arguments": {}}', "7"]
)
ARGUMENTS = st.sampled_from(
    ["{}", '{"a": 1}', "", "{", '{"a": 1, "a": 2}', '{"tool_calls": [{"name": "g", "args": 1}]}']
)
CALL = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["c1", "c2", None, 3]),
        "type": st.just("function"),
        "function": st.fixed_dictionaries(
            {"name": st.just("f")}, optional={"arguments": ARGUMENTS, "x": WORDS}
        ),
    },
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "developer", "other"])},
    optional={
        "content": WORDS | st.none() | st.just([{"type": "text", "text": "ok"}]),
        "tool_calls": st.lists(CALL, max_size=2) | st.none(),
        "tool_call_id": st.sampled_from(["c1", "c2", None]),
        "name": st.just("f"),
        "function_call": st.just({"name": "g", "arguments": "{}"}),
    },
)


@given(conversation=st.lists(MESSAGE, max_size=5))
def test_plain_messages_are_read_as_with_all_care(conversation: list[dict[str, Any]]) -> None:
    def read() -> Trace:
        builder = StepBuilder(Record(value=conversation, where="a", file="a"))
        messages.add_messages(builder, conversation, "")
        return builder.finish(format="openai_chat", trace_id="a")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "_PLAIN", {})
        patch.setattr(unread, "is_quiet", lambda fields, read=frozenset(): False)
        patch.setattr(unread, "may_hold_call", lambda text: True)
        careful = read()
    assert read() == careful


VALUE = st.recursive(
    st.none() | WORDS | st.integers(0, 3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "name",
                    "arguments",
                    "input",
                    "tool_calls",
                    "finish_reason",
                    "function",
                    "usage",
                    "tools",
                    "id",
                ]
            ),
            inner | st.sampled_from(["tool_use", "tool_calls", "function", "stop"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(value=VALUE, text=WORDS)
def test_what_is_quiet_holds_nothing_that_looks_like_a_call(value: Any, text: str) -> None:
    if isinstance(value, dict) and lookalikes.is_quiet(value):
        assert list(lookalikes.calls_in(value)) == []
        assert lookalikes.as_call(value) is None
    if not lookalikes.may_hold_call(text):
        assert list(lookalikes.calls_in_text(text)) == []
