"""Finds what looks like a call and was not read as one: a record that holds such a thing lacks actions.

A false alarm leaves a criterion undecided; a call that is missed lets a gate against it pass. So the look is wide: at
any depth, by the type of an object, by a key that says "tool call", and by the mere shape of a name with arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from steelyard.importers import decoding
from steelyard.importers.building import StepBuilder
from steelyard.model.trace import Call, Step

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
_NOTHING: tuple[Any, ...] = (None, "", {}, [])
_IN_TEXT = re.compile(
    r"<(?:tool_calls?|function_calls?|tool_use|use_mcp_tool)>|<(?:invoke|function)[ =]|\[TOOL_CALLS\]"
    r"|<\|(?:python_tag|tool_calls?)[^<>|]{0,40}\|>|<｜tool▁calls?▁begin｜>|<\|channel\|>commentary to="
    r"|^```mswea_bash_command$|^Action:[^\n]+\n+Action Input:",
    re.MULTILINE,
)
_ANSWERED_IN_TEXT = re.compile(r"<(?:tool_response|function_results?|returncode)>|Observation:")
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


def tell_unread(
    builder: StepBuilder,
    fields: Mapping[str, Any],
    first: int,
    *,
    calls_from: int,
    told: tuple[Call, ...] = (),
) -> None:
    """Marks the trace incomplete where `fields`, of the message of step `first`, look like a call.

    A copy of a call that was read, from step `calls_from` on, is no other call; nor is one of `told`, which the
    record tells in another way.
    """
    left = _left_over(fields, (*calls_of(builder.steps[calls_from:]), *told))
    if left is not None:
        builder.unread(left.label, f"s{first + 1:04d}" if first < len(builder.steps) else None)
    for step in builder.steps[first:]:
        text = _left_over_text(step, builder.steps[calls_from:])
        if text is not None:
            builder.call_in_text(text.label, step.id)


def tell_unread_beside(builder: StepBuilder, recording: Mapping[str, Any], names: Iterable[str] = ()) -> None:
    """The same for what stands beside the messages: fields whose key says "tool call", and those of `names`."""
    asked = frozenset(names)
    fields = {key: value for key, value in recording.items() if key in asked or is_call_key(key)}
    if fields:
        tell_unread(builder, fields, len(builder.steps), calls_from=0)


def answered(builder: StepBuilder) -> tuple[Call, ...]:
    """The call that the last step, a result, answers: its message may repeat it."""
    result = builder.steps[-1].result
    asked = None if result is None else result.call_step_id
    return () if asked is None else tuple(calls_of([builder.steps[int(asked[1:]) - 1]]))


def tell_batched(builder: StepBuilder) -> None:
    """The same for the arguments of the last step's call, where they list further calls."""
    step = builder.steps[-1]
    label = batched_in([step])
    if label is not None:
        builder.unread(label, step.id)


def batched_in(steps: Iterable[Step]) -> str | None:
    """The label of the first call that the arguments of a call list under a key that says "tool call"."""
    for call in calls_of(steps):
        args = call.args if isinstance(call.args, dict) else {}
        found = next(calls_in({key: value for key, value in args.items() if is_call_key(key)}), None)
        if found is not None:
            return found.label
    return None


def unread_in(steps: Iterable[Any], known: frozenset[str], calls: Sequence[Call]) -> tuple[str, int] | None:
    """(label, index) of the first of a trace's decoded steps whose parts, or fields other than `known`, look so."""
    for index, step in enumerate(steps):
        left = _left_over({key: value for key, value in step.items() if key not in known}, calls)
        if left is not None:
            return left.label, index
    return None


def text_call_in(steps: Sequence[Step]) -> tuple[str, str] | None:
    """(label, step id) of the first text that reads like a call or its result, and is none of these steps' calls."""
    found = ((_left_over_text(step, steps), step.id) for step in steps)
    return next(((one.label, step_id) for one, step_id in found if one is not None), None)


def calls_of(steps: Iterable[Step]) -> list[Call]:
    """The calls among steps."""
    return [step.call for step in steps if step.call is not None]


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
        found = _as_call(value)
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


def _left_over(fields: Mapping[str, Any], calls: Sequence[Call]) -> Lookalike | None:
    groups = [list(calls_in({key: value})) for key, value in fields.items() if _speaks(key, value)]
    whole = _as_call(fields) or next(_ending(fields), None)
    if whole is not None:
        groups.append([whole])
    return next((one for group in groups for one in _unmatched(group, calls)), None)


def _left_over_text(step: Step, beside: Iterable[Step]) -> Lookalike | None:
    if step.kind not in ("assistant", "user"):
        return None
    for text in (part.text for part in step.parts if part.kind == "text" and part.text):
        if step.kind == "user":
            answered_by = _ANSWERED_IN_TEXT.match(text)
            group = [Lookalike(label=answered_by.group())] if answered_by else []
        else:
            group = list(calls_in_text(text))
        left = next(_unmatched(group, calls_of(beside)), None) if group else None
        if left is not None:
            return left
    return None


def _unmatched(group: Iterable[Lookalike], calls: Sequence[Call]) -> Iterator[Lookalike]:
    """Each call accounts for one lookalike of a field, so that a second equal one is not taken for a copy."""
    pool = list(calls)
    for one in group:
        if one.hint and calls:
            continue
        match = next((call for call in pool if _same(one, call)), None)
        if match is None:
            yield one
        else:
            pool.remove(match)


def _same(one: Lookalike, call: Call) -> bool:
    if one.name is None or one.name != call.name:
        return False
    if one.provider_id is not None and call.provider_id is not None:
        return one.provider_id == call.provider_id
    if isinstance(one.args, str):
        return one.args in (call.args_raw, call.args) or (
            call.args_error is None and decoding.decode_arguments(one.args)[:2] == (call.args, None)
        )
    return call.args_error is None and bool(one.args == call.args)


def _in_fields(value: Mapping[str, Any]) -> Iterator[Lookalike]:
    yield from _ending(value)
    for key, child in value.items():
        if not _speaks(key, child):
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


def _ending(value: Mapping[str, Any]) -> Iterator[Lookalike]:
    for key, child in value.items():
        if isinstance(child, str) and _plain(key) in _ENDING_KEYS and _plain(child) in _CALL_ENDINGS:
            yield Lookalike(label=f"{key}: {child}", hint=True)


def _as_call(value: Mapping[str, Any]) -> Lookalike | None:
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


def _speaks(key: str, value: Any) -> bool:
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
