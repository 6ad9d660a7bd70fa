"""Chat messages of the OpenAI kind: a bare list, an object around one, or a single answer to a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from steelyard.errors import FormatError
from steelyard.importers.building import StepBuilder
from steelyard.importers.fields import finite, read_task_id, read_trial, text_of
from steelyard.importers.messages import add_messages, is_message, json_part, read_usage
from steelyard.importers.states import read_state
from steelyard.importers.unread import tell_unread, tell_unread_beside
from steelyard.model.trace import Agent, EndedBy, Outcome, Part, Quarantined, Trace
from steelyard.ports.importer import Record

_ENDINGS: frozenset[str] = frozenset(get_args(EndedBy))
_SHORT = frozenset({"task_id", "trial", "id", "messages", "output", "answer"})
"""The fields of recordings that say no more than who did what."""
_ANSWERS = ("output", "answer")
_PROMPTS = ("prompt", "input", "question")
_REPLIES = (*_ANSWERS, "choices", "response", "completion")
"""Where a log of requests keeps what came back, which may hold calls."""


class OpenAIChat:
    """`[{role, content, tool_calls?}, ...]`, `{"messages": [...], "task_id"?, ...}` or `{"task_id", "output"}`."""

    name = "openai_chat"

    def matches(self, value: Any) -> bool:
        if isinstance(value, list):
            return bool(value) and is_message(value[0])
        if not isinstance(value, dict):
            return False
        if "messages" in value:
            messages = value["messages"]
            return messages is None or (
                isinstance(messages, list) and (not messages or any(map(is_message, messages)))
            )
        return _answer_key(value) is not None and any(key in value for key in ("task_id", *_PROMPTS))

    def read(self, record: Record) -> Iterator[Trace | Quarantined]:
        value = record.value
        try:
            if isinstance(value, list):
                yield _conversation(record, {"messages": value}, "")
            elif not isinstance(value, dict):
                raise FormatError("it is neither a list of messages nor an object")
            elif "messages" in value:
                yield _conversation(record, value, "/messages")
            else:
                yield _single_answer(record, value)
        except FormatError as refused:
            yield Quarantined(where=record.where, reason=f"The recording is refused: {refused}.")


def _answer_key(value: Mapping[str, Any]) -> str | None:
    for key in _ANSWERS:
        if key in value:
            return key
    return None


def _conversation(record: Record, value: Mapping[str, Any], pointer: str) -> Trace:
    messages = value["messages"]
    builder = StepBuilder(record)
    if messages is None:
        builder.complete = False
        builder.notice("no_messages", "The recording's messages are null.")
        messages = []
    if not isinstance(messages, list):
        raise FormatError("its messages are not a list")
    if not (messages and _is_user(messages[0])) and not any(map(_is_user, messages)):
        _prompt(builder, value)
    add_messages(builder, messages, pointer)
    tell_unread_beside(builder, value, _REPLIES)
    beside = _answer_key(value)
    if beside is not None:
        builder.notice("answer_not_read", f"The field '{beside}' beside the messages is not read.")
    return _finish(builder, value)


def _is_user(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "user"


def _single_answer(record: Record, value: Mapping[str, Any]) -> Trace:
    builder = StepBuilder(record)
    builder.holds_calls = builder.holds_results = False
    _prompt(builder, value)
    key = _answer_key(value)
    if key is None:
        raise FormatError("it has neither messages nor an output")
    answer = builder.plain(value[key])
    parts: tuple[Part, ...] = ()
    if isinstance(answer, str):
        parts = (Part(kind="text", text=answer),)
    elif answer is not None:
        builder.notice("answer_not_text", f"The field '{key}' is no text; it is read as its JSON text.")
        parts = (json_part(answer),)
    builder.add(
        "assistant",
        "assistant",
        turn=len(builder.steps),
        pointer=f"/{key}",
        content=answer,
        parts=parts,
        agent_id="agent",
    )
    tell_unread(builder, {key: value[key]}, len(builder.steps) - 1, calls_from=0)
    tell_unread_beside(builder, value, _REPLIES)
    return _finish(builder, value)


def _prompt(builder: StepBuilder, value: Mapping[str, Any]) -> None:
    for key in _PROMPTS:
        if isinstance(value.get(key), str) and value[key]:
            part = Part(kind="text", text=value[key])
            builder.add("user", "user", turn=0, pointer=f"/{key}", content=value[key], parts=(part,))
            return


def _finish(builder: StepBuilder, value: Mapping[str, Any]) -> Trace:
    return builder.finish(
        format=OpenAIChat.name,
        trace_id=text_of(value.get("id")) or text_of(value.get("trace_id")) or builder.record.where,
        task_id=read_task_id(value.get("task_id"), builder),
        trial=read_trial(value.get("trial"), builder),
        **({} if value.keys() <= _SHORT else _told_beside(builder, value)),
    )


def _told_beside(builder: StepBuilder, value: Mapping[str, Any]) -> dict[str, Any]:
    """What a recording says of its trial beside the messages."""
    model, tools = value.get("model"), value.get("tools")
    agent = Agent(
        id="agent",
        model=model if isinstance(model, str) else None,
        tools=tuple(builder.plain(tools)) if isinstance(tools, list) else (),
    )
    return {
        "session_id": text_of(value.get("session_id")),
        "agents": (agent,),
        "outcome": _outcome(builder, value),
        "usage": read_usage(value.get("usage")),
        "measurements": _measurements(builder, value.get("measurements")),
        "state_before": read_state(builder, value.get("start_state"), "start_state"),
        "state_after": read_state(builder, value.get("end_state"), "end_state"),
    }


def _outcome(builder: StepBuilder, value: Mapping[str, Any]) -> Outcome:
    word = value.get("ended_by")
    error = value.get("error")
    error = error if error is None or isinstance(error, str) else json_part(builder.plain(error)).text
    status = text_of(value.get("exit_status"))
    if word is None:
        return Outcome(exit_status=status, error=error)
    if isinstance(word, str) and word in _ENDINGS:
        ending: Any = word
        return Outcome(exit_status=status or word, error=error, ended_by=ending)
    told = word if isinstance(word, str) else (json_part(builder.plain(word)).text or "")
    builder.notice(
        "unknown_ending",
        f"The recording ended by '{told[:60]}', which is none of {', '.join(sorted(_ENDINGS))}; it is not complete.",
    )
    return Outcome(exit_status=status or told, error=error, ended_by="unknown")


def _measurements(builder: StepBuilder, value: Any) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        builder.notice("bad_measurement", "The measurements are no object; they are left out.")
        return {}
    kept: dict[str, float] = {}
    for name, number in value.items():
        if finite(number) is not None:
            kept[name] = number
        elif number is not None:
            builder.notice(
                "bad_measurement", f"The measurement '{name[:60]}' is no finite number; it is left out."
            )
    return kept
