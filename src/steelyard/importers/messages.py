"""Chat messages in the shape of OpenAI's chat completions, as several formats hold them."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from steelyard.importers.building import StepBuilder
from steelyard.importers.lookalikes import is_call_type, may_hold_call
from steelyard.importers.uids import content_of
from steelyard.importers.unread import answered, tell_batched, tell_unread
from steelyard.model.trace import Part, Role, StepKind, Usage

ROLES: frozenset[str] = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

AGENT = "agent"
"""The one agent of a plain chat."""

_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal"})
_MEDIA_TYPES: Mapping[str, Literal["image", "audio", "file"]] = {
    "image_url": "image",
    "input_image": "image",
    "image": "image",
    "input_audio": "audio",
    "audio": "audio",
    "file": "file",
    "input_file": "file",
    "document": "file",
}
_TIMES = ("timestamp", "created_at", "time")
_ADDRESS_KEYS = ("url", "image_url", "data", "file_data", "file_id")
_NO_ACTION_TYPES = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "reasoning",
        "reasoning_text",
        "summary_text",
        "citation",
        "json",
        "video_url",
    }
)
_NONE: frozenset[str] = frozenset()
_TYPE = frozenset({"type"})
_CALL_FIELDS = frozenset({"tool_calls", "function_call"})
_CALL_MARKS = frozenset({"id", "type", "index"})
_RESULT_TYPES = frozenset({"tool", "function", "tool_result", "tool_message", "function_response"})
"""What a result message may call itself."""


def is_message(value: Any) -> bool:
    """Whether a value looks like a chat message: an object with a known role."""
    return isinstance(value, dict) and isinstance(value.get("role"), str) and value["role"] in ROLES


def add_messages(builder: StepBuilder, messages: Sequence[Any], pointer: str) -> None:
    """Adds every message of a conversation; `pointer` is the list's place within the trace's record."""
    for turn, message in enumerate(messages):
        at = f"{pointer}/{turn}"
        if not is_message(message):
            builder.unreadable(message, "A message is no object with a known role.", turn=turn, pointer=at)
            continue
        plain = _PLAIN.get(message["role"])
        if plain is None or type(message) is not dict or not plain(builder, message, turn, at):
            _message(builder, message, turn, at)


def _plain_text(builder: StepBuilder, message: dict[str, Any], turn: int, at: str) -> bool:
    """Adds a message of a role and words that hold no call. False, and nothing is added, where it is anything else.

    Most messages are plain, and read at a fraction of the time that all cases take; so do the next two functions.
    """
    text, role = message.get("content"), message["role"]
    if type(text) is not str or len(message) != 2 or text[:1] in ("<", "O"):
        return False
    parts = (Part(kind="text", text=text),)
    builder.add(role, role, turn=turn, pointer=at, content=text, parts=parts)
    return True


def _plain_turn(builder: StepBuilder, message: dict[str, Any], turn: int, at: str) -> bool:
    content, calls = message.get("content"), message.get("tool_calls")
    if len(message) == 2 and type(content) is str and not may_hold_call(content):
        parts = (Part(kind="text", text=content),)
        builder.add(
            "assistant", "assistant", turn=turn, pointer=at, content=content, parts=parts, agent_id=AGENT
        )
        return True
    if content or len(message) != 3 or type(calls) is not list or "content" not in message:
        return False
    if not calls or not all(map(_is_plain_call, calls)):
        return False
    for index, call in enumerate(calls):
        body, place = call["function"], f"{at}/tool_calls/{index}"
        builder.call(
            body["name"], body["arguments"], turn=turn, pointer=place, provider_id=call["id"], agent_id=AGENT
        )
        tell_batched(builder)
    return True


def _is_plain_call(call: Any) -> bool:
    if type(call) is not dict or len(call) != 3 or "type" not in call or type(call.get("id")) is not str:
        return False
    body = call.get("function")
    return (
        type(body) is dict
        and len(body) == 2
        and type(body.get("name")) is str
        and type(body.get("arguments")) is str
    )


def _plain_result(builder: StepBuilder, message: dict[str, Any], turn: int, at: str) -> bool:
    text, call_id = message.get("content"), message.get("tool_call_id")
    if type(text) is not str or len(message) != 3 or type(call_id) is not str:
        return False
    value, parts = builder.decoded(text), (Part(kind="text", text=text),)
    builder.result(value, parts, turn=turn, pointer=at, provider_id=call_id, agent_id=AGENT)
    return True


_PLAIN = {"system": _plain_text, "user": _plain_text, "assistant": _plain_turn, "tool": _plain_result}


def _message(builder: StepBuilder, message: Mapping[str, Any], turn: int, at: str) -> None:
    first = len(builder.steps)
    role = message["role"]
    if role == "assistant":
        _assistant(builder, message, turn, at)
        tell_unread(builder, message, first, calls_from=first, read=_CALL_FIELDS)
    elif role in ("tool", "function"):
        _result(builder, message, turn, at)
        own_type = message.get("type")
        read = _TYPE if isinstance(own_type, str) and own_type in _RESULT_TYPES else _NONE
        tell_unread(builder, message, first, calls_from=first, read=read, told=lambda: answered(builder))
    else:
        speaker: Literal["user", "system"] = "user" if role == "user" else "system"
        _text(builder, speaker, speaker, message, turn, at)
        tell_unread(builder, message, first, calls_from=first)


def read_usage(value: Any) -> Usage | None:
    """Tokens of a `usage` object of OpenAI's or a similar shape; None when it names none."""
    if not isinstance(value, Mapping):
        return None
    usage = Usage(
        input_total=_count(value, "prompt_tokens", "input_tokens"),
        output=_count(value, "completion_tokens", "output_tokens"),
        input_cached_read=_count(value.get("prompt_tokens_details"), "cached_tokens"),
        reasoning=_count(value.get("completion_tokens_details"), "reasoning_tokens"),
    )
    return None if usage == Usage() else usage


def _count(value: Any, *names: str) -> int | None:
    if not isinstance(value, Mapping):
        return None
    found = next((value[name] for name in names if value.get(name) is not None), None)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _time(message: Mapping[str, Any]) -> Any:
    for name in _TIMES:
        found = message.get(name)
        if found is not None:
            return found
    return None


def _text(
    builder: StepBuilder,
    kind: StepKind,
    role: Role,
    message: Mapping[str, Any],
    turn: int,
    at: str,
    **fields: Any,
) -> None:
    parts = _parts(builder, message.get("content"), role)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        parts = (*parts, Part(kind="text", text=refusal))
    builder.add(
        kind,
        role,
        turn=turn,
        pointer=at,
        content=content_of(parts),
        parts=parts,
        time=_time(message),
        **fields,
    )


def _assistant(builder: StepBuilder, message: Mapping[str, Any], turn: int, at: str) -> None:
    model = message.get("model")
    if not isinstance(model, str):
        model = None
    first = len(builder.steps)
    for name in ("reasoning_content", "reasoning"):
        thought = message.get(name)
        if isinstance(thought, str) and thought:
            pointer = f"{at}/{name}"
            builder.thought(thought, "assistant", turn=turn, pointer=pointer, agent_id=AGENT, model=model)
            break
    calls = _calls_of(builder, message, turn, at)
    if not calls or _says_something(message):
        _text(builder, "assistant", "assistant", message, turn, at, agent_id=AGENT, model=model)
    time = _time(message)
    for call, pointer in calls:
        _call(builder, call, turn, pointer, time, model)
    usage = read_usage(message.get("usage"))
    if usage is not None and len(builder.steps) > first:
        builder.steps[first] = msgspec.structs.replace(builder.steps[first], usage=usage)


def _says_something(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return bool(content.strip() if isinstance(content, str) else content) or bool(message.get("refusal"))


def _calls_of(builder: StepBuilder, message: Mapping[str, Any], turn: int, at: str) -> list[tuple[Any, str]]:
    recorded = message.get("tool_calls")
    calls: list[tuple[Any, str]] = []
    if isinstance(recorded, list):
        calls = [(call, f"{at}/tool_calls/{i}") for i, call in enumerate(recorded)]
    elif recorded is not None:
        builder.unreadable(recorded, "`tool_calls` is not a list.", turn=turn, pointer=f"{at}/tool_calls")
    if message.get("function_call") is not None:
        if calls:
            told = "A message has tool calls and an older function call beside them; both are read."
            builder.notice("function_call_beside", told, f"s{len(builder.steps) + 1:04d}")
        calls.append(({"function": message["function_call"]}, f"{at}/function_call"))
    return calls


def _call(builder: StepBuilder, call: Any, turn: int, pointer: str, time: Any, model: str | None) -> None:
    key: str | None = None
    if isinstance(call, dict):
        if isinstance(call.get("function"), dict):
            key = "function"
        elif isinstance(call.get("custom"), dict):
            key = "custom"
    body = call if key is None else call[key]
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        builder.unreadable(call, "A tool call has no name.", turn=turn, pointer=pointer)
        return
    provider_id = call.get("id")
    argument_key = "input" if "arguments" not in body and "input" in body else "arguments"
    step = len(builder.steps)
    builder.call(
        body["name"],
        body.get(argument_key),
        turn=turn,
        pointer=pointer,
        provider_id=None if provider_id is None else str(provider_id),
        missing=argument_key not in body,
        free_text=argument_key == "input" and isinstance(body["input"], str),
        time=time,
        agent_id=AGENT,
        model=model,
    )
    tell_batched(builder)
    outer = {} if key is None else call
    for place, read in ((outer, {key}), (body, {"name", argument_key})):
        if not place.keys() <= read | _CALL_MARKS:
            beside = {name: value for name, value in place.items() if name not in read | _CALL_MARKS}
            tell_unread(builder, beside, step, calls_from=step)


def _result(builder: StepBuilder, message: Mapping[str, Any], turn: int, at: str) -> None:
    call_id, name, content = message.get("tool_call_id"), message.get("name"), message.get("content")
    # An object is what the tool gave, not a part of a message.
    parts = (
        (json_part(builder.plain(content)),)
        if isinstance(content, dict)
        else _parts(builder, content, "tool")
    )
    if isinstance(content, str) or (parts and all(part.kind == "text" for part in parts)):
        text = content if isinstance(content, str) else "\n".join(part.text or "" for part in parts)
        value = builder.decoded(text)
        parts = parts if len(parts) == 1 else (Part(kind="text", text=text),)
    else:
        value = None if isinstance(content, list) else builder.plain(content)
    failed = message.get("is_error") is True or message.get("status") == "error"
    builder.result(
        value,
        parts,
        turn=turn,
        pointer=at,
        provider_id=None if call_id is None else str(call_id),
        name=name if isinstance(name, str) else None,
        outcome="error" if failed else "ok",
        agent_id=AGENT,
        time=_time(message),
    )


def _parts(builder: StepBuilder, content: Any, role: Role) -> tuple[Part, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Part(kind="text", text=content),)
    if isinstance(content, dict):
        return (_part(builder, content, role),)
    if not isinstance(content, list):
        return (json_part(builder.plain(content)),)
    return tuple(_part(builder, part, role) for part in content)


def json_part(value: Any) -> Part:
    """A JSON value as content; its text is its compact JSON, so that quotes and text checks can read it."""
    return Part(
        kind="json",
        value=value,
        text=value if isinstance(value, str) else msgspec.json.encode(value).decode(),
    )


def _part(builder: StepBuilder, part: Any, role: Role) -> Part:
    step = f"s{len(builder.steps) + 1:04d}"
    if isinstance(part, str):
        return Part(kind="text", text=part)
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        builder.notice("unknown_part", "A content part has no type; it is kept as JSON.", step)
        return json_part(builder.plain(part))
    if kind in _TEXT_TYPES:
        text = part.get("text", part.get("refusal"))
        if isinstance(text, str):
            return Part(kind="text", text=text)
    if kind in _MEDIA_TYPES:
        return _media(builder, _MEDIA_TYPES[kind], part)
    if is_call_type(kind):  # told with the whole message, see `tell_unread`
        return json_part(builder.plain(part))
    builder.notice(
        "unknown_part", f"A content part has the unknown type '{kind[:40]}'; it is kept as JSON.", step
    )
    # What an agent sends beside words may be anything that it did.
    builder.complete = builder.complete and (role != "assistant" or kind in _NO_ACTION_TYPES)
    return json_part(builder.plain(part))


def _media(builder: StepBuilder, kind: Literal["image", "audio", "file"], part: Mapping[str, Any]) -> Part:
    body = part.get(part["type"], part)
    address = body if isinstance(body, str) else None
    if isinstance(body, dict):
        address = next((body[key] for key in _ADDRESS_KEYS if isinstance(body.get(key), str)), None)
        if address is not None and address == body.get("data") and not address.startswith("data:"):
            address = f"data:{kind}/{body.get('format', 'octet-stream')};base64,{address}"
    if address is None or not address.startswith("data:"):
        return Part(kind=kind, uri=address, value=None if address else builder.plain(dict(part)))
    header, _, payload = address.partition(",")
    try:
        blob = base64.b64decode(payload, validate=True) if header.endswith(";base64") else payload.encode()
    except (binascii.Error, ValueError):
        blob = payload.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(blob).hexdigest()
    builder.blobs[digest] = {"mime": header[5:].split(";")[0], "size": len(blob)}
    return Part(kind=kind, blob=digest)
