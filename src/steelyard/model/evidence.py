"""Reading a trace: the answer, the calls, and what an evidence reference points at.

References: `s0007` (a step), `e3` (a tool result or document), a step's uid, `s0007/args/pool_size` and
`s0007/result/rows/0` (JSON pointers), `s0007@120-188` (code points of the step's text, end exclusive),
`fact:capacity`, `fact:capacity/max`, `state:orders/7` (JSON pointer into the recorded end state), `file:out/a.csv` (a
file of the end state); `state_before:` and `file_before:` likewise in the start state. Files are not read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from steelyard.model.standard import Task
from steelyard.model.trace import EndState, Step, Trace

NOT_ATTEMPTED: frozenset[str] = frozenset({"copied_context", "demo", "synthetic"})
"""Calls of these visibilities were never tried in this trial: they repeat or illustrate others."""

_SPAN = r"@(?P<start>[0-9]{1,9})-(?P<end>[0-9]{1,9})"
_STEP_REF = re.compile(rf"(?P<step>[A-Za-z0-9_.-]+)(?:{_SPAN}|(?P<pointer>/.*))?", re.S)
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_DRIVE = re.compile(r"[A-Za-z]:")
_ABSENT = object()


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """What a reference points at: the JSON value, its text (for quotes), and the step it stands in, if any."""

    ref: str
    value: Any
    text: str
    step: Step | None = None


def resolve(ref: str, trace: Trace, task: Task | None = None) -> Resolved | None:
    """What `ref` points at; None when it does not resolve. Never raises."""
    scheme, colon, rest = ref.partition(":")
    if colon and scheme == "fact":
        return _resolve_fact(ref, rest, task)
    if colon and scheme in ("state", "state_before"):
        return _resolve_state(ref, rest, trace.state_after if scheme == "state" else trace.state_before)
    if colon and scheme in ("file", "file_before"):
        return _resolve_file(ref, rest, trace.state_after if scheme == "file" else trace.state_before)
    matched = _STEP_REF.fullmatch(ref)
    step = find_step(trace, matched["step"]) if matched else None
    if matched is None or step is None:
        return None
    if matched["start"] is not None:
        return _resolve_span(ref, step, int(matched["start"]), int(matched["end"]))
    if matched["pointer"] is not None:
        return _resolve_pointer(ref, step, matched["pointer"], trace)
    return Resolved(ref=ref, value=_step_value(step), text=step_text(step), step=step)


def find_step(trace: Trace, name: str) -> Step | None:
    """The step with this id, alias or uid."""
    if name[:1] == "s" and name[1:].isdecimal() and name.isascii() and len(name) < 12:
        position = int(name[1:]) - 1
        if 0 <= position < len(trace.steps) and trace.steps[position].id == name:
            return trace.steps[position]
    return next((s for s in trace.steps if name in (s.id, s.alias, s.uid)), None)


def step_text(step: Step) -> str:
    """The text that a quote of this step is looked up in; a call reads as its name and its arguments."""
    if step.call is not None:
        raw = step.call.args_raw
        return f"{step.call.name} {raw if raw is not None else value_text(step.call.args)}"
    if step.result is not None and not step.text:
        return value_text(step.result.value)
    return step.text


def value_text(value: Any) -> str:
    """Text as it is; anything else as compact JSON; null as nothing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)


def quote_stands(quote: str, resolved_text: str) -> bool:
    """Whether `quote` stands in the text literally, runs of white space counting as one. An empty quote does not."""
    folded = " ".join(quote.split())
    return bool(folded) and folded in " ".join(resolved_text.split())


def answer(trace: Trace) -> Step | None:
    """The final reply that reached the user: the text of the agent's last message.

    None when there is none: no message at all, a last message that is empty or white space, or one that only
    calls a tool (an earlier remark such as "let me look" is no answer).
    """
    last_turn: int | None = None
    for step in reversed(trace.steps):
        if step.visibility.kind != "released" or step.role != "assistant":
            continue
        if step.kind not in ("assistant", "tool_call"):
            continue
        if last_turn is not None and step.turn != last_turn:
            return None
        last_turn = step.turn
        if step.kind == "assistant":
            return step if step.text.strip() else None
    return None


def agent_calls(
    trace: Trace, by: Literal["assistant", "user", "any"] = "assistant", agent: str | None = None
) -> list[Step]:
    """Every attempted tool call in order, drafts and denied ones included.

    `by`: the caller; a simulated user may have tools of its own. `agent`: only calls of this agent id.
    """
    return [
        step
        for step in trace.steps
        if step.kind == "tool_call"
        and step.call is not None
        and by in ("any", step.role)
        and (agent is None or step.agent_id == agent)
        and step.visibility.kind not in NOT_ATTEMPTED
    ]


def results_of(trace: Trace) -> dict[str, Step]:
    """Call step id to its result step. Calls without a result are absent; the first of several results stands."""
    paired: dict[str, Step] = {}
    for step in trace.steps:
        if step.kind == "tool_result" and step.result is not None and step.result.call_step_id is not None:
            paired.setdefault(step.result.call_step_id, step)
    return paired


def follow(value: Any, pointer: str) -> Any:
    """The value at a JSON pointer (RFC 6901). Raises `LookupError` when there is none."""
    if pointer == "":
        return value
    if not pointer.startswith("/"):
        raise LookupError(pointer)
    for token in pointer[1:].split("/"):
        value = _child(value, token.replace("~1", "/").replace("~0", "~"))
        if value is _ABSENT:
            raise LookupError(pointer)
    return value


def _child(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key, _ABSENT)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and _INDEX.fullmatch(key):
        return value[int(key)] if int(key) < len(value) else _ABSENT
    return _ABSENT


def _step_value(step: Step) -> Any:
    if step.call is not None:
        return {"name": step.call.name, "args": step.call.args}
    if step.result is not None:
        return step.result.value
    return step.text


def _resolve_span(ref: str, step: Step, start: int, end: int) -> Resolved | None:
    text = step_text(step) if step.call is None else ""
    if not start < end <= len(text):
        return None
    return Resolved(ref=ref, value=text[start:end], text=text[start:end], step=step)


def _resolve_pointer(ref: str, step: Step, pointer: str, trace: Trace) -> Resolved | None:
    head, slash, tail = pointer[1:].partition("/")
    if head == "args" and step.call is not None and step.call.args_error is None:
        root, where = step.call.args, step
    elif head == "result":
        answering = step if step.result is not None else results_of(trace).get(step.id)
        if answering is None or answering.result is None:
            return None
        root, where = answering.result.value, answering
    else:
        return None
    return _found(ref, root, slash + tail, where)


def _resolve_fact(ref: str, rest: str, task: Task | None) -> Resolved | None:
    if task is None:
        return None
    head, slash, tail = rest.partition("/")
    name = rest if rest in task.facts else head.replace("~1", "/").replace("~0", "~")
    fact = task.facts.get(name)
    if fact is None:
        return None
    if name == rest or not slash:
        value = fact.text if fact.data is None else fact.data
        text = "\n".join(part for part in (fact.text, value_text(fact.data)) if part)
        return Resolved(ref=ref, value=value, text=text)
    return _found(ref, fact.data, slash + tail, None)


def _resolve_state(ref: str, rest: str, state: EndState | None) -> Resolved | None:
    if state is None or state.json is None:
        return None
    pointer = rest if rest.startswith("/") or not rest else "/" + rest
    return _found(ref, state.json, pointer, None)


def _resolve_file(ref: str, path: str, state: EndState | None) -> Resolved | None:
    """Any path that stays inside the folder, if there is one: a file that is not there can be evidence too."""
    if state is None or state.files is None:
        return None
    steps = path.replace("\\", "/").split("/")
    inside = path.strip() and steps[0] and ".." not in steps and not _DRIVE.match(path)
    return Resolved(ref=ref, value=None, text="") if inside else None


def _found(ref: str, root: Any, pointer: str, step: Step | None) -> Resolved | None:
    try:
        value = follow(root, pointer)
    except LookupError:
        return None
    return Resolved(ref=ref, value=value, text=value_text(value), step=step)
