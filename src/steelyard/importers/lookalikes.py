"""What looks like a call in a JSON value or a text, whoever wrote it.

At any depth, by the type of an object, by a key that says "tool call", and by the mere shape of a name with arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

import msgspec

from steelyard.importers import decoding

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_SAYS_CALL = re.compile(
    "(tool|function|mcp)(call|use|invocation|invoke|request|result|response|message|output)|mcptool"
)
_CALL_WORDS = frozenset({"call", "calls", "function", "invocation", "invoke", "mcp", "tool", "tools"})
_CODE_TYPES = frozenset({"executablecode", "codeexecution", "codeexecutionresult"})
_TYPE_KEYS = frozenset({"type", "kind", "partkind", "blocktype", "event", "eventtype", "messagetype"})
_NO_CALL_SUFFIX = re.compile("(id|ids|name|names|count|counts|choice|schema|schemas|tokens|index)$")
_NAME_KEYS = (
    "name", "toolname", "functionname", "tool", "function", "recipientname", "action", "method",
)  # fmt: skip
ARGUMENT_KEYS = frozenset(
    {
        "arguments", "args", "kwargs", "input", "parameters", "params", "argumentsjson", "argsjson", "inputjson",
        "toolinput", "toolargs", "toolarguments", "actioninput", "functionargs", "functionarguments", "rawarguments",
    }
)  # fmt: skip
_READ_KEYS = ARGUMENT_KEYS | {"name"}
_ID_KEYS = ("toolcallid", "tooluseid", "callid", "id")
_BODY_KEYS = ("function", "custom")
_ENDING_KEYS = frozenset({"finishreason", "stopreason"})
_CALL_ENDINGS = frozenset({"toolcalls", "toolcall", "functioncall", "tooluse"})
_DEFINING_KEYS = frozenset(
    {"tools", "functions", "tooldefs", "tooldefinitions", "availabletools", "functiondeclarations"}
)
_SCHEMA_KEYS = frozenset({"parameters", "inputschema", "description"})
_OPENINGS = ("", "{", "[")
_NONE: frozenset[str] = frozenset()
_NOTHING: tuple[Any, ...] = (None, "", {}, [])
_IN_TEXT = re.compile(
    r"<(?:tool_calls?|function_calls?|tool_use|use_mcp_tool)>|<(?:invoke|function)[ =]|\[TOOL_CALLS\]"
    r"|<\|(?:python_tag|tool_calls?)[^<>|]{0,40}\|>|<｜tool▁calls?▁begin｜>|<\|channel\|>commentary to="
    r"|^```mswea_bash_command$|^Action:[^\n]+\n+Action Input:",
    re.MULTILINE,
)
ANSWERED_IN_TEXT = re.compile(r"<(?:tool_response|function_results?|returncode)>|Observation:")
"""How harnesses without calls of their own begin the user message that tells what a call in words gave."""
_FENCE = re.compile(r"^```[a-z]*\s*\n(.*?)\n?```$", re.DOTALL)


class Lookalike(msgspec.Struct, frozen=True, kw_only=True):
    """Something that looks like a call: a label to tell it by, and as much of the call as it says.

    `hint`: it is no call but says that its message made one.
    """

    label: str
    name: str | None = None
    provider_id: str | None = None
    args: Any = None
    hint: bool = False


@lru_cache(maxsize=4096)
def is_call_type(kind: str) -> bool:
    """Whether the type of an object says that it is a call or a call's result."""
    plain = _plain(kind)
    return plain in _CODE_TYPES or bool(_SAYS_CALL.search(plain)) or not _CALL_WORDS.isdisjoint(_words(kind))


@lru_cache(maxsize=4096)
def is_call_key(key: str) -> bool:
    """Whether a key says that calls stand under it."""
    plain = _plain(key)
    return bool(_SAYS_CALL.search(plain)) and not _NO_CALL_SUFFIX.search(plain)


def calls_in(value: Any) -> Iterator[Lookalike]:
    """Everything in a JSON value that looks like a call, at any depth; a call and its body are one."""
    if isinstance(value, list):
        for child in value:
            yield from calls_in(child)
    elif isinstance(value, dict):
        found = as_call(value)
        if found is None:
            yield from _in_fields(value)
            return
        yield found
        body_key = _body_key(value)
        if body_key is not None:
            yield from calls_in(_without(value[body_key], _READ_KEYS))
            yield from calls_in(_without(value, _TYPE_KEYS | {body_key}))
        else:
            yield from calls_in(_without(value, _TYPE_KEYS | _READ_KEYS))


def calls_in_text(text: str) -> Iterator[Lookalike]:
    """The calls that a text consists of: marked as models mark them, or nothing but JSON that looks like a call."""
    marked = _IN_TEXT.search(text)
    if marked:
        yield Lookalike(label=marked.group())
        return
    bare = text.strip()
    fenced = _FENCE.match(bare)
    bare = fenced.group(1).strip() if fenced else bare
    if bare[:1] not in ("{", "["):
        return
    try:
        value, _ = decoding.decode(bare.encode("utf-8", "surrogatepass"))
    except decoding.Refused:
        return
    yield from calls_in(value)


def may_hold_call(text: str) -> bool:
    """False only where `calls_in_text` finds nothing; it looks closely, and most texts are settled by this."""
    return (
        "<" in text
        or "[TOOL" in text
        or "```" in text
        or "Action:" in text
        or text[:64].lstrip()[:1] in _OPENINGS
    )


def is_quiet(fields: Mapping[str, Any], read: frozenset[str] = _NONE) -> bool:
    """True only where nothing in the fields, at any depth, looks like a call; most messages are settled by this."""
    for key, value in fields.items():
        if isinstance(value, dict | list):
            if key not in read and not (_voice(key) == "" and _are_quiet(value)):
                return False
        elif (voice := _voice(key)) and key not in read and _speaks_up(voice, value):
            return False
    return True


def _are_quiet(value: Any) -> bool:
    if isinstance(value, list):
        return all(not isinstance(child, dict | list) or _are_quiet(child) for child in value)
    return is_quiet(value)


@lru_cache(maxsize=4096)
def _voice(key: str) -> Literal["", "call", "argument", "type", "ending"]:
    """As what a key could say that its object is or holds a call; empty: as nothing."""
    plain = _plain(key)
    if plain in ARGUMENT_KEYS:
        return "argument"
    if plain in _TYPE_KEYS:
        return "type"
    if plain in _ENDING_KEYS:
        return "ending"
    return "call" if is_call_key(key) else ""


def _speaks_up(voice: str, value: Any) -> bool:
    if voice == "argument":
        return True
    if not isinstance(value, str):
        return False
    if voice == "type":
        return is_call_type(value)
    return _plain(value) in _CALL_ENDINGS if voice == "ending" else bool(value.strip())


def _in_fields(value: Mapping[str, Any]) -> Iterator[Lookalike]:
    yield from endings(value)
    for key, child in value.items():
        if not speaks(key, child):
            continue
        if is_call_key(key):
            for entry in child if isinstance(child, list) else [child]:
                inside = list(calls_in(entry))
                yield from inside or ([Lookalike(label=key)] if entry not in _NOTHING else [])
        else:
            yield from calls_in(_worth_a_look(_plain(key), child))


def _worth_a_look(key: str, child: Any) -> Any:
    """A value without what a well-known key makes harmless: what tools take, and counts of what was used."""
    if key in _DEFINING_KEYS and isinstance(child, list):
        return [entry for entry in child if not _defines(entry)]
    if "usage" in key and isinstance(child, dict):
        return {name: value for name, value in child.items() if not _only_counts(value)}
    return child


def endings(value: Mapping[str, Any]) -> Iterator[Lookalike]:
    for key, child in value.items():
        if isinstance(child, str) and _plain(key) in _ENDING_KEYS and _plain(child) in _CALL_ENDINGS:
            yield Lookalike(label=f"{key}: {child}", hint=True)


def as_call(value: Mapping[str, Any]) -> Lookalike | None:
    plain = {_plain(key): child for key, child in value.items()}
    body_key = _body_key(value)
    body = plain if body_key is None else {_plain(key): child for key, child in value[body_key].items()}
    name = next((body[key] for key in _NAME_KEYS if isinstance(body.get(key), str) and body[key]), None)
    given = [key for key in body if key in ARGUMENT_KEYS]
    kind = next(
        (v for k, v in plain.items() if k in _TYPE_KEYS and isinstance(v, str) and is_call_type(v)), None
    )
    if kind is None and (name is None or not given):
        return None
    provider_id = next((plain[key] for key in _ID_KEYS if plain.get(key) is not None), None)
    return Lookalike(
        label=kind or name or "",
        name=name,
        provider_id=None if provider_id is None else str(provider_id),
        args=body[given[0]] if given else None,
    )


def _body_key(value: Mapping[str, Any]) -> str | None:
    return next((key for key in _BODY_KEYS if isinstance(value.get(key), dict)), None)


def _defines(entry: Any) -> bool:
    """Whether an entry of a list of tools says what a tool takes, and gives it nothing."""
    if not isinstance(entry, dict):
        return False
    body_key = _body_key(entry)
    body = entry if body_key is None else entry[body_key]
    keys = {_plain(key) for key in body}
    parameters = body.get("parameters")
    is_schema = parameters is None or (
        isinstance(parameters, dict) and (not parameters or "properties" in parameters)
    )
    return is_schema and bool(keys & _SCHEMA_KEYS) and not keys & (ARGUMENT_KEYS - {"parameters"})


def _only_counts(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_only_counts, value.values()))
    return value is None or isinstance(value, int | float)


def speaks(key: str, value: Any) -> bool:
    if isinstance(value, str):
        return is_call_key(key) and bool(value.strip())
    return isinstance(value, dict | list) and bool(value)


def _without(value: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: child for key, child in value.items() if _plain(key) not in keys}


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(text)}
