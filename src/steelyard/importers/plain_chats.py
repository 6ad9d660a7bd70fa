"""The plainest recordings at one look: lines of a task's id and messages that are a role and words, or one answer.

Only what needs no word is taken here; for anything else, and anything that could be odd, the careful way decides
(`decoding`, `messages`). The traces are the same.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from steelyard.importers.lookalikes import may_hold_call
from steelyard.importers.traits import fidelity_of, traits_of
from steelyard.model.trace import Agent, Outcome, Part, RawRef, Source, Step, Trace
from steelyard.model.verdict import MOST_TRIAL

FORMAT = "openai_chat"
MOST_MESSAGES = 64

_AGENTS = (Agent(id="agent"),)


_Role = Literal["system", "user", "assistant"]


class _Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    role: _Role
    content: str


class _Recording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    messages: list[_Said]
    task_id: str
    trial: Any = UNSET


class _Answered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    output: str
    task_id: str
    prompt: str | UnsetType = UNSET
    trial: Any = UNSET


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for every message at one position."""

    step: str
    origin: str
    raw: RawRef


_decode = msgspec.json.Decoder(_Recording).decode
_decode_answered = msgspec.json.Decoder(_Answered).decode
_encode = msgspec.json.Encoder().encode
_PLACES = tuple(
    _Place(step=f"s{n + 1:04d}", origin=f"/messages/{n}", raw=RawRef(pointer=f"/messages/{n}"))
    for n in range(MOST_MESSAGES)
)
_PROMPT = _Place(step="s0001", origin="/prompt", raw=RawRef(pointer="/prompt"))
_OUTPUTS = tuple(
    _Place(step=f"s{n + 1:04d}", origin="/output", raw=RawRef(pointer="/output")) for n in range(2)
)


def plain_chat(line: bytes, file: str, digest: str | None, number: int) -> Trace | None:
    """The trace of a whole line of JSON Lines, or None where it wants the careful way. `number` is the line's."""
    recording: _Recording | _Answered
    holds_calls = b'"messages"' in line
    try:
        if holds_calls:
            recording = _decode(line)
            steps = _steps(recording)
        else:
            recording = _decode_answered(line)
            steps = _answer(recording)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    trial = recording.trial
    if not steps or not recording.task_id or not _is_whole(line, recording):
        return None
    if trial is UNSET:
        trial = None
    elif type(trial) is not int or not 0 <= trial <= MOST_TRIAL:
        return None
    traits = traits_of(steps)
    return Trace(
        id=f"{file}:{number}",
        source=Source(
            format=FORMAT, importer=FORMAT, file=file, file_sha256=digest, locator=f"line {number}"
        ),
        steps=tuple(steps),
        agents=_AGENTS,
        outcome=_outcome(traits.final),
        fidelity=fidelity_of(True, holds_calls, holds_calls, False, False, traits.prompted),
        task_id=recording.task_id,
        trial=trial,
    )


def _steps(recording: _Recording) -> list[Step]:
    """The steps, or none where a message wants a closer look."""
    steps: list[Step] = []
    if len(recording.messages) > MOST_MESSAGES:
        return steps
    for turn, message in enumerate(recording.messages):
        role, text = message.role, message.content
        if may_hold_call(text) if role == "assistant" else text[:1] in ("<", "O"):
            return []
        steps.append(_step(_PLACES[turn], turn, role, text))
    return steps


def _answer(recording: _Answered) -> list[Step]:
    steps: list[Step] = []
    if may_hold_call(recording.output):
        return steps
    if recording.prompt:
        steps.append(_step(_PROMPT, 0, "user", recording.prompt))
    turn = len(steps)
    return [*steps, _step(_OUTPUTS[turn], turn, "assistant", recording.output)]


def _step(place: _Place, turn: int, role: _Role, text: str) -> Step:
    return Step(
        id=place.step,
        uid=hashlib.sha256(f"{place.origin}\0{role}\0{text}".encode()).hexdigest()[:16],
        seq=turn,
        turn=turn,
        kind=role,
        role=role,
        agent_id="agent" if role == "assistant" else None,
        parts=(Part(kind="text", text=text),),
        raw=place.raw,
    )


def _is_whole(line: bytes, recording: _Recording | _Answered) -> bool:
    """Whether no key is written twice and no text holds NUL: see `decoding.decode`, which counts the same marks."""
    quotes = line.count(b'"')
    if b"\\" not in line and isinstance(recording, _Recording):  # every mark opens or ends a name or a text
        return quotes == (6 if recording.trial is UNSET else 8) + 8 * len(recording.messages)
    return b"\\u0000" not in line and quotes + line.count(b"\\u0022") == _encode(recording).count(b'"')


@lru_cache(maxsize=MOST_MESSAGES + 1)
def _outcome(final: str | None) -> Outcome:
    return Outcome(final_step=final)
