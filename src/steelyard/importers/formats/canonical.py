"""Steelyard's own trace, `{"schema": "trace/1", ...}`: written by the exporter, or by hand in a minimal form.

By hand, a step needs only its kind and content; ids, uids and turns are made:

    {"schema": "trace/1", "task_id": "q7", "steps": [
        {"kind": "user", "text": "Capital of France?"},
        {"kind": "tool_call", "name": "lookup", "args": {"country": "FR"}},
        {"kind": "tool_result", "value": {"capital": "Paris"}},
        {"kind": "assistant", "text": "Paris"}]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from steelyard.errors import FormatError
from steelyard.importers import decoding
from steelyard.importers.building import StepBuilder, text_notice, unread_notice
from steelyard.importers.fields import read_task_id, read_trial
from steelyard.importers.states import place_states
from steelyard.importers.unread import batched_in, calls_of, text_call_in, unread_in
from steelyard.model.trace import (
    RELEASED,
    Agent,
    EndState,
    ExternalScore,
    Notice,
    Outcome,
    Part,
    Quarantined,
    ResultOutcome,
    Role,
    Step,
    StepKind,
    Trace,
    Usage,
    Visibility,
)
from steelyard.model.verdict import MOST_TRIAL
from steelyard.ports.importer import Record

SCHEMA = "trace/1"
REORDERED = "The steps stood in another order than their sequence numbers say; they are read by number."
_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "tool_result": "tool", "retrieval": "tool"}
_STEP_FIELDS = frozenset(Step.__struct_fields__) - {"parts"}
_TRACE_FIELDS = frozenset({"schema", *Trace.__struct_fields__})
_AGENT_KINDS = frozenset({"assistant", "reasoning", "tool_call", "plan", "handoff"})


def encode_trace(trace: Trace) -> bytes:
    """One line of canonical JSON Lines, without the newline. Reading it gives an equal trace."""
    fields: dict[str, Any] = {"schema": SCHEMA}
    fields.update(msgspec.structs.asdict(trace))
    return msgspec.json.encode(fields)


class _HandStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: StepKind
    seq: int | None = None
    text: str | None = None
    parts: tuple[Part, ...] = ()
    name: str | None = None
    args: Any = msgspec.UNSET
    value: Any = msgspec.UNSET
    call_id: str | None = None
    outcome: ResultOutcome = "ok"
    role: Role | None = None
    turn: int | None = None
    agent_id: str | None = None
    started_at: str | None = None
    model: str | None = None
    usage: Usage | None = None
    visibility: Visibility = RELEASED


_HAND_FIELDS = frozenset(_HandStep.__struct_fields__) - {"parts"}
_OWN_FIELDS: Mapping[str, frozenset[StepKind]] = {
    "name": frozenset({"tool_call", "tool_result"}),
    "call_id": frozenset({"tool_call", "tool_result"}),
    "args": frozenset({"tool_call"}),
    "value": frozenset({"tool_result"}),
}
"""Fields that only these kinds have: in another step they would be an action, or its result, that nothing reads."""


class _HandTrace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schema: str
    steps: tuple[_HandStep, ...]
    id: str | None = None
    task_id: Any = None
    trial: Any = None
    session_id: str | None = None
    agents: tuple[Agent, ...] = ()
    outcome: Outcome = Outcome()
    usage: Usage | None = None
    measurements: Mapping[str, float] = {}
    external_scores: tuple[ExternalScore, ...] = ()
    state_before: EndState | None = None
    state_after: EndState | None = None


S = TypeVar("S", _HandStep, Step)


class Canonical:
    """See the module."""

    name = "canonical"

    def matches(self, value: Any) -> bool:
        if not isinstance(value, dict) or ("schema" not in value and "traces" not in value):
            return False
        return _is_listing(value) or str(value.get("schema")).startswith("trace/")

    def read(self, record: Record) -> Iterator[Trace | Quarantined]:
        if not _is_listing(record.value):
            yield from self._one(record)
            return
        for index, value in enumerate(record.value["traces"]):
            place = f"{record.pointer}/traces/{index}"
            inner = msgspec.structs.replace(
                record, value=value, pointer=place, where=f"{record.file}#{place}"
            )
            yield from self._one(inner)
        for lost in record.value["quarantined"]:
            said = lost if isinstance(lost, dict) else {}
            reason = str(said.get("reason") or "It was set aside when it was listed.")
            yield Quarantined(where=str(said.get("where") or record.where), reason=reason)

    def _one(self, record: Record) -> Iterator[Trace | Quarantined]:
        try:
            yield place_states(_read(record), record.file)
        except (FormatError, msgspec.ValidationError) as refused:
            yield Quarantined(where=record.where, reason=f"The canonical trace is refused: {refused}.")


def _is_listing(value: Any) -> bool:
    """What `steelyard trace --json` prints: `{"traces": [...], "quarantined": [...]}`."""
    return isinstance(value.get("traces"), list) and isinstance(value.get("quarantined"), list)


def _is_listed(value: dict[str, Any]) -> bool:
    """One trace of such a list, on a line of its own."""
    return (
        isinstance(value.get("source"), dict) and isinstance(value.get("steps"), list) and "fidelity" in value
    )


def _read(record: Record) -> Trace:
    value = record.value
    if not isinstance(value, dict):
        raise FormatError("it is not an object")
    if value.get("schema", SCHEMA) != SCHEMA:
        raise FormatError(f"its schema is '{str(value['schema'])[:40]}', and this version reads '{SCHEMA}'")
    odd = decoding.oddity(value) if record.notices else None
    if odd:
        raise FormatError(odd.rstrip("."))
    steps = value.get("steps")
    if not isinstance(steps, list):
        raise FormatError("its steps are not a list")
    if "source" in value or any(isinstance(step, dict) and "uid" in step for step in steps):
        return _looked_over(_checked(msgspec.convert(value, Trace), record), value)
    return _by_hand(msgspec.convert(value, _HandTrace), record)


def _checked(trace: Trace, record: Record) -> Trace:
    """References lean on the ids, so an edited file whose ids do not fit its steps is refused."""
    steps, moved = _in_sequence(trace.steps)
    trace = msgspec.structs.replace(trace, steps=steps)
    if trace.trial is not None and not 0 <= trace.trial <= MOST_TRIAL:
        raise FormatError(f"its trial is not a whole number from 0 to {MOST_TRIAL}")
    for position, step in enumerate(trace.steps):
        if step.id != f"s{position + 1:04d}" or step.seq != position:
            raise FormatError(
                f"step {position + 1} has the id '{step.id[:20]}' and seq {step.seq}; they follow the order"
            )
        if (step.kind == "tool_call") != (step.call is not None):
            raise FormatError(f"{step.id} has the kind '{step.kind}', which does not fit its content")
    open_calls, orphan = _pairs(trace.steps)
    told = {notice.code for notice in trace.notices}
    notices = [Notice(code=code, detail=detail) for code, detail in record.notices if code not in told]
    if moved:
        notices.append(Notice(code="reordered", detail=REORDERED))
    if open_calls and "missing_result" not in told:
        detail = "A call has no result in the record."
        notices.append(Notice(code="missing_result", detail=detail, step=min(open_calls)))
    if orphan and "orphan_result" not in told:
        detail = "A tool result answers no open call before it."
        notices.append(Notice(code="orphan_result", detail=detail, step=orphan))
    if orphan:
        trace = _incomplete(trace)
    return msgspec.structs.replace(trace, notices=(*trace.notices, *notices)) if notices else trace


def _pairs(steps: Sequence[Step]) -> tuple[set[str], str | None]:
    """The ids of the calls that nothing answers, and of the first result that answers no open call."""
    open_calls: set[str] = set()
    orphan: str | None = None
    for step in steps:
        if step.call is not None:
            open_calls.add(step.id)
        elif step.result is not None and step.result.call_step_id in open_calls:
            open_calls.remove(step.result.call_step_id)
        elif step.result is not None:
            orphan = orphan or step.id
    return open_calls, orphan


def _looked_over(trace: Trace, value: Mapping[str, Any]) -> Trace:
    """A complete trace after a look at what its steps hold that reads like a call, see `StepBuilder.call_in_text`."""
    if not trace.fidelity.complete:
        return trace
    unread, in_text = _unread(value, _STEP_FIELDS, trace.steps), text_call_in(trace.steps)
    if not calls_of(trace.steps):
        unread, in_text = unread or in_text, None
    if unread is not None:
        trace = _incomplete(_told(trace, *unread_notice(unread[0]), unread[1]))
    if in_text is not None:
        trace = _told(trace, *text_notice(in_text[0]), in_text[1])
    return trace


def _unread(
    value: Mapping[str, Any], known: frozenset[str], steps: Sequence[Step]
) -> tuple[str, str | None] | None:
    """(label, step id) of what looks like a call in the steps as they stand, or in fields beside them."""
    calls = calls_of(steps)
    found = unread_in(value["steps"], known, calls)
    if found is not None:
        label, index = found
        return label, value["steps"][index].get("id")
    beside = unread_in([value], _TRACE_FIELDS, calls)
    lacking = batched_in(steps) if beside is None else beside[0]
    return None if lacking is None else (lacking, None)


def _incomplete(trace: Trace) -> Trace:
    return msgspec.structs.replace(trace, fidelity=msgspec.structs.replace(trace.fidelity, complete=False))


def _told(trace: Trace, code: str, detail: str, step: str | None) -> Trace:
    if any(notice.code == code for notice in trace.notices):
        return trace
    notice = Notice(code=code, detail=detail, step=step)
    return msgspec.structs.replace(trace, notices=(*trace.notices, notice))


def _by_hand(value: _HandTrace, record: Record) -> Trace:
    builder = StepBuilder(record)
    steps, moved = _in_sequence(value.steps)
    places = {id(step): index for index, step in enumerate(value.steps)}
    for index, step in enumerate(steps):
        _hand_step(builder, step, index, places[id(step)])
    if moved:
        builder.notice("reordered", REORDERED)
    unread = _unread(record.value, _HAND_FIELDS, builder.steps)
    if unread is not None:
        builder.unread(unread[0])
    in_text = text_call_in(builder.steps)
    if in_text is not None:
        builder.call_in_text(*in_text)
    return builder.finish(
        format=Canonical.name,
        format_version=SCHEMA,
        trace_id=value.id or record.where,
        task_id=read_task_id(value.task_id, builder),
        trial=read_trial(value.trial, builder),
        session_id=value.session_id,
        agents=value.agents or (Agent(id="agent"),),
        outcome=value.outcome,
        usage=value.usage,
        measurements=value.measurements,
        external_scores=value.external_scores,
        state_before=value.state_before,
        state_after=value.state_after,
    )


def _in_sequence(steps: tuple[S, ...]) -> tuple[tuple[S, ...], bool]:
    """Steps by their sequence numbers where each states one, else as they stand; and whether any had to move."""
    numbers = [step.seq for step in steps if step.seq is not None]
    if len(numbers) < len(steps) or numbers == sorted(numbers):
        return steps, False
    return tuple(sorted(steps, key=lambda step: step.seq or 0)), True


def _hand_step(builder: StepBuilder, step: _HandStep, index: int, place: int) -> None:
    """One step; `index` is its position in the sequence, `place` in the file."""
    acting = step.kind in _AGENT_KINDS and step.role != "user"
    fields: dict[str, Any] = {
        "turn": index if step.turn is None else step.turn,
        "pointer": f"/steps/{place}",
        "agent_id": step.agent_id or ("agent" if acting else None),
        "time": step.started_at,
        "model": step.model,
        "usage": step.usage,
        "visibility": step.visibility,
    }
    for name, kinds in _OWN_FIELDS.items():
        if step.kind not in kinds and getattr(step, name) not in (None, msgspec.UNSET):
            raise FormatError(
                f"step {index + 1} has the kind '{step.kind}' and the field '{name}', which only"
                f" {' and '.join(sorted(kinds))} steps have"
            )
    parts = step.parts if step.text is None else (Part(kind="text", text=step.text), *step.parts)
    if step.kind == "tool_call":
        if step.name is None:
            raise FormatError(f"step {index + 1} is a tool call without a name")
        missing = step.args is msgspec.UNSET
        builder.call(
            step.name,
            None if missing else step.args,
            provider_id=step.call_id,
            role="user" if step.role == "user" else "assistant",
            missing=missing,
            **fields,
        )
    elif step.kind == "tool_result":
        given = step.value if step.value is not msgspec.UNSET else step.text
        fields.update(provider_id=step.call_id, name=step.name, outcome=step.outcome, by_order_is_meant=True)
        builder.result(given, parts, **fields)
    else:
        role = step.role or _ROLES.get(step.kind) or ("assistant" if acting else "none")
        content = [part.text if part.text is not None else part.value for part in parts]
        builder.add(step.kind, role, content=content, parts=parts, **fields)
