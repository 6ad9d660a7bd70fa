"""Builds one trace: numbers the steps, pairs results with calls, gathers notices and what the record lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from steelyard.importers import decoding
from steelyard.importers.long_records import TooLarge, blocks_of, decode_blocks
from steelyard.importers.notices import Tallies
from steelyard.importers.pairing import Pairing
from steelyard.importers.times import TimeReader
from steelyard.importers.traits import fidelity_of, traits_of
from steelyard.importers.uids import content_of, content_uid
from steelyard.model.trace import (
    MOST_DECODED,
    RELEASED,
    Agent,
    Call,
    Outcome,
    Part,
    RawRef,
    Result,
    ResultOutcome,
    Role,
    Source,
    Step,
    StepKind,
    Trace,
    Usage,
    Visibility,
)
from steelyard.ports.importer import Record

NO_OUTCOME = Outcome()
_encode = msgspec.json.Encoder().encode


def unread_notice(what: str) -> tuple[str, str]:
    """Code and sentence on something that looks like a call and was not read as one."""
    told = f"'{what[:60]}' looks like a call or its result and is not read as one; the record is incomplete."
    return "calls_not_read", told


def text_notice(what: str) -> tuple[str, str]:
    """Code and sentence on words that read like a call, in a record that holds its calls apart from words."""
    return "call_in_text", f"A text reads like a call or its result ('{what[:60]}'); it is taken as text."


class StepBuilder:
    """Collects the steps of one trace in source order.

    Pointers given to its methods are relative to `base`, the place of the trace within `record.value`.
    """

    def __init__(self, record: Record, *, base: str = "") -> None:
        self.record = record
        self.steps: list[Step] = []
        self.complete = True
        self.holds_calls = True
        self.holds_results = True
        self._unread = False
        self._in_text: tuple[str, str] | None = None
        self.blobs: dict[str, Mapping[str, Any]] = {}
        self._pointer = record.pointer + base
        self._odd = bool(record.notices)
        self._notices = Tallies()
        self._pairing = Pairing()
        self._aliases = 0
        self._times = TimeReader()
        for code, detail in record.notices:
            self.notice(code, detail)
            # Of a key written twice only one value was read: the other may have held calls.
            self.complete = self.complete and code != "duplicate_key"

    def notice(self, code: str, detail: str, step: str | None = None) -> None:
        """Equal codes are told once, with a count and the first step."""
        self._notices.add(code, detail, step)

    def add(
        self,
        kind: StepKind,
        role: Role,
        *,
        turn: int,
        pointer: str,
        content: Any,
        parts: tuple[Part, ...] = (),
        call: Call | None = None,
        result: Result | None = None,
        time: Any = None,
        agent_id: str | None = None,
        model: str | None = None,
        usage: Usage | None = None,
        visibility: Visibility = RELEASED,
    ) -> str:
        """Adds a step and returns its id. `content` is what its uid stands for."""
        position = len(self.steps)
        step_id = f"s{position + 1:04d}"
        fields: dict[str, Any] = {}
        # Most steps have few of these, and a record is made the faster the fewer it is given.
        if parts:
            fields["parts"] = parts
        if call is not None:
            fields["call"] = call
        if kind in ("tool_result", "retrieval"):
            self._aliases += 1
            fields["alias"] = f"e{self._aliases}"
        if result is not None:
            fields["result"], fields["parent_step_id"] = result, result.call_step_id
        if time is not None:
            fields["started_at"], fields["clock"], problem = self._times.read(time)
            if problem:
                self.notice(*problem, step_id)
        if model is not None:
            fields["model"] = model
        if usage is not None:
            fields["usage"] = usage
        if visibility is not RELEASED:
            fields["visibility"] = visibility
        step = Step(
            id=step_id,
            uid=content_uid(pointer, kind, content),
            seq=position,
            turn=turn,
            kind=kind,
            role=role,
            agent_id=agent_id,
            raw=RawRef(pointer=self._pointer + pointer),
            **fields,
        )
        self.steps.append(step)
        return step_id

    def thought(self, text: str, role: Role, **fields: Any) -> str:
        """Adds a reasoning step: what the agent recorded for itself, not for the user."""
        return self.add("reasoning", role, content=text, parts=(Part(kind="text", text=text),), **fields)

    def call(
        self,
        name: str,
        arguments: Any,
        *,
        turn: int,
        pointer: str,
        provider_id: str | None = None,
        role: Literal["assistant", "user"] = "assistant",
        missing: bool = False,
        free_text: bool = False,
        **more: Any,
    ) -> str:
        """Adds a call; `more` as for `add`. `arguments` as recorded: JSON text is decoded, any other value stands.

        `missing`: the record names no arguments at all, which is not the same as naming none. `free_text`: the
        tool takes plain text, so text is not decoded.
        """
        position = len(self.steps)
        if free_text:
            args, raw, error = arguments, None, None
        else:
            args, raw, error = self._arguments(arguments, f"s{position + 1:04d}", missing)
        call = Call(
            name=name, args=args, args_raw=raw, args_error=error, provider_id=provider_id, executed="yes"
        )
        step_id = self.add(
            "tool_call",
            role,
            turn=turn,
            pointer=pointer,
            content=(name, args if raw is None else raw),
            call=call,
            **more,
        )
        if self._pairing.asked(position, role, provider_id, name):
            self.notice("repeated_call_id", "A call id is used again; results are paired in order.", step_id)
        return step_id

    def result(
        self,
        value: Any,
        parts: tuple[Part, ...],
        *,
        turn: int,
        pointer: str,
        provider_id: str | None = None,
        name: str | None = None,
        caller: Literal["assistant", "user"] = "assistant",
        outcome: ResultOutcome = "ok",
        by_order_is_meant: bool = False,
        **more: Any,
    ) -> str:
        """Adds a result, paired with the next unanswered call of that id (without an id: of that name, else any).

        `more` as for `add`.
        """
        step_id = f"s{len(self.steps) + 1:04d}"
        answered, by_order = self._pairing.answer(provider_id, name, caller)
        if answered is None:
            self.complete = False  # the call that it answers is missing from the record
            self.notice("orphan_result", "A tool result answers no open call before it.", step_id)
        elif by_order and not by_order_is_meant:
            self.notice(
                "paired_by_order", "A result names no call; it is paired with the oldest open one.", step_id
            )
        result = Result(
            call_step_id=None if answered is None else self.steps[answered].id, outcome=outcome, value=value
        )
        return self.add(
            "tool_result",
            "tool",
            turn=turn,
            pointer=pointer,
            content=content_of(parts) if parts else value,
            parts=parts,
            result=result,
            **more,
        )

    def decoded(self, text: str) -> Any:
        """The value of the next step's result text: decoded where it is JSON, else the text itself."""
        if len(text) > MOST_DECODED:
            return self._decoded_long(text)
        value, odd = decoding.decode_result(text)
        if odd:
            told = "A tool result is JSON with repeated keys or odd values; it is kept as text."
            self.notice("odd_result", told, f"s{len(self.steps) + 1:04d}")
        return value

    def _decoded_long(self, text: str) -> Any:
        """Only the long texts in a long result may be of any length: of them no more is made than a copy."""
        if not decoding.may_be_json(text):
            return text
        try:
            value, oddities = decode_blocks(blocks_of(text), most=MOST_DECODED)
        except (decoding.Refused, UnicodeEncodeError):
            return text
        except TooLarge:
            told = "A tool result is too long to be decoded; it is kept as text."
            self.notice("large_result", told, f"s{len(self.steps) + 1:04d}")
            return text
        return text if any(code != "nul_character" for code, _ in oddities) else value

    def unreadable(self, value: Any, why: str, *, turn: int, pointer: str) -> None:
        """Keeps something that the format does not define as a note, and marks the trace incomplete."""
        kept = self.plain(value)
        parts = (Part(kind="json", value=kept),)
        note = self.add("note", "none", turn=turn, pointer=pointer, content=kept, parts=parts)
        self.notice("unreadable_message", why, note)
        self.complete = False

    def unread(self, what: str, step: str | None = None) -> None:
        """Marks the trace incomplete: it holds something that looks like a call, and nothing reads it as one."""
        self.notice(*unread_notice(what), step)
        self.complete = False
        self._unread = True

    def call_in_text(self, what: str, step: str) -> None:
        """Notes a text that reads like a call or its result; what that means is decided by the whole record."""
        self._in_text = self._in_text or (what, step)

    def plain(self, value: Any) -> Any:
        """`value` free of what decoding left recognisable (NaN, repeated keys)."""
        return decoding.plain(value) if self._odd else value

    def finish(
        self,
        *,
        format: str,
        trace_id: str,
        agents: tuple[Agent, ...] = (Agent(id="agent"),),
        outcome: Outcome = NO_OUTCOME,
        usage: Usage | None = None,
        format_version: str | None = None,
        **stated: Any,
    ) -> Trace:
        """The trace. Calls that nothing answered are told in a notice, not answered by an invented step.

        `stated`: further fields of `Trace`, as the record states them.
        """
        self._mark_unanswered()
        traits = traits_of(self.steps)
        called = traits.called
        if self._in_text is not None:
            what, told_of = self._in_text
            if called:
                self.notice(*text_notice(what), told_of)
            else:
                self.unread(what, told_of)
        steps = tuple(self.steps)
        record = self.record
        line = None if record.line is None else f"line {record.line}"
        # Where calls stand in a shape that is not read and none was, the absence of calls says nothing.
        blind = self._unread and not called
        return Trace(
            id=trace_id,
            source=Source(
                format=format,
                importer=format,
                format_version=format_version,
                file=record.file,
                file_sha256=record.file_sha256,
                locator=line if line and not self._pointer else f"{line or ''}{self._pointer}",
            ),
            steps=steps,
            agents=agents,
            outcome=msgspec.structs.replace(outcome, final_step=traits.final),
            fidelity=fidelity_of(
                self.complete,
                self.holds_calls and not blind,
                self.holds_results and not blind,
                traits.timed,
                traits.used or usage is not None,
                traits.prompted or any(agent.instructions for agent in agents),
            ),
            usage=usage,
            blobs=self.blobs,
            notices=self._notices.told(),
            **stated,
        )

    def _arguments(self, arguments: Any, step: str, missing: bool) -> tuple[Any, str | None, str | None]:
        if missing:
            self.notice("malformed_arguments", "A call records no arguments field.", step)
            return None, None, "The call records no arguments field."
        if not isinstance(arguments, str):
            reason = decoding.oddity(arguments) if self._odd else None
            if reason is None:
                return arguments, None, None
            self.notice("malformed_arguments", reason, step)
            return None, _encode(decoding.plain(arguments)).decode(), reason
        if arguments == "":
            self.notice(
                "empty_arguments", "A call's argument text is empty; it is read as no arguments.", step
            )
            return {}, "", None
        value, error, oddities = decoding.decode_arguments(arguments)
        if error:
            self.notice("malformed_arguments", error, step)
        else:
            for code, detail in oddities:
                self.notice(code, detail, step)
        return value, arguments, error

    def _mark_unanswered(self) -> None:
        for position in self._pairing.unanswered:
            step = self.steps[position]
            assert step.call is not None
            unknown = msgspec.structs.replace(step.call, executed="unknown")
            self.steps[position] = msgspec.structs.replace(step, call=unknown)
            self.notice("missing_result", "A call has no result in the record.", step.id)
