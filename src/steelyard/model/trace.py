"""The canonical trace: what an agent did, one flat list of atomic steps with stable ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

StepKind = Literal[
    "system", "user", "assistant", "reasoning", "tool_call", "tool_result", "retrieval", "handoff",
    "guardrail", "approval", "plan", "compaction", "state_change", "harness", "span", "note",
]  # fmt: skip
Role = Literal["system", "user", "assistant", "tool", "none"]
Clock = Literal["utc", "naive", "relative", "none"]
Executed = Literal["yes", "no", "denied", "unknown"]
ResultOutcome = Literal["ok", "error", "denied", "timeout", "cancelled", "interrupted", "missing"]
EndedBy = Literal[
    "agent_stop", "user_stop", "max_turns", "budget", "agent_error",
    "infrastructure_fault", "simulator_fault", "cancelled", "unknown",
]  # fmt: skip
FAULTS: frozenset[str] = frozenset({"infrastructure_fault", "simulator_fault"})

MOST_DECODED = 16 * 1024 * 1024
"""Bytes of JSON, without its texts of many megabytes, up to which a tool's result is decoded; values take many times
as much memory. A longer one stays text."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a trace came from: `format` (`openai_chat`, `tau2`, ...), its file, and the record in it."""

    format: str
    importer: str
    importer_version: str = "1"
    format_version: str | None = None
    file: str | None = None
    file_sha256: str | None = None
    locator: str = ""
    """JSON pointer or `line N` of the record within the file."""


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent of the compound system; `parent` is another agent's id or null."""

    id: str
    name: str = ""
    role: Literal["manager", "sub", "peer"] = "manager"
    parent: str | None = None
    model: str | None = None
    instructions: str | None = None
    tools: tuple[Any, ...] = ()


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and money. `input_total` includes cached tokens. Null = the source does not say."""

    input_total: int | None = None
    input_cached_read: int | None = None
    input_cached_write: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cost_usd: float | None = None
    cost_basis: Literal["reported", "computed"] | None = None


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of content. `text` for kind text/document; `value` for kind json; others by their own fields."""

    kind: Literal["text", "json", "image", "audio", "file", "document", "citation", "blob_ref"]
    text: str | None = None
    value: Any = None
    doc_id: str | None = None
    title: str | None = None
    uri: str | None = None
    score: float | None = None
    quote: str | None = None
    span: tuple[int, int] | None = None
    blob: str | None = None
    """SHA-256 of the blob in `Trace.blobs`."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as attempted.

    `args` is any JSON value, or null when `args_error` is set (malformed text: kept whole in `args_raw`,
    equal to nothing, never `{}`). Only empty text means no arguments: `args` is then `{}`, with a notice.
    """

    name: str
    args: Any = None
    args_raw: str | None = None
    args_error: str | None = None
    provider_id: str | None = None
    server: str | None = None
    executed: Executed = "unknown"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gave back. `call_step_id` is null when no call could be paired with it."""

    call_step_id: str | None = None
    outcome: ResultOutcome = "ok"
    value: Any = None
    """Decoded JSON where the text is JSON, else the text."""
    truncated: bool = False
    error_channel: str | None = None


class Speech(msgspec.Struct, frozen=True, kw_only=True):
    """A spoken turn: graded is `heard_text`, as far as `heard_basis` says."""

    generated_text: str | None = None
    heard_text: str | None = None
    heard_basis: Literal["exact", "estimated", "unknown"] = "unknown"
    interrupted: bool = False
    cut_ms: int | None = None
    words: tuple[Any, ...] = ()


class Visibility(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Only `released` content reached the user and is graded; attempted calls count whatever this says."""

    kind: Literal["released", "draft_rejected", "copied_context", "demo", "synthetic", "backchannel"] = (
        "released"
    )
    by: str | None = None
    reason: str | None = None
    replaced_by: str | None = None


RELEASED = Visibility()


class RawRef(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the source file a step stands: JSON pointer, and SHA-256 of its raw JSON when computed."""

    pointer: str
    sha256: str | None = None


class StepError(msgspec.Struct, frozen=True, kw_only=True):
    """An error that the source recorded for a step."""

    type: str = ""
    message: str = ""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One atomic event. A message with text and two calls is three steps of one `turn`.

    `id` is `s0007` by position (1-based); `uid` survives re-import; `alias` (`e1`, `e2`, ...) is given to
    tool results and retrieved documents in order, as people cite them. `turn` is the index of the source
    message that the step stands in (0-based), so that a report can name it. `role` of a tool call is its
    caller: `assistant`, or `user` where a simulated user has tools of its own.
    """

    id: str
    uid: str
    seq: int
    turn: int
    kind: StepKind
    role: Role
    parts: tuple[Part, ...] = ()
    call: Call | None = None
    result: Result | None = None
    speech: Speech | None = None
    alias: str | None = None
    agent_id: str | None = None
    parent_step_id: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    clock: Clock = "none"
    model: str | None = None
    usage: Usage | None = None
    error: StepError | None = None
    recorded_by: Literal["harness", "agent"] = "harness"
    visibility: Visibility = RELEASED
    raw: RawRef | None = None

    @property
    def text(self) -> str:
        """All text parts, joined by newlines; empty when there are none."""
        if len(self.parts) == 1:
            return self.parts[0].text or ""
        return "\n".join([part.text for part in self.parts if part.text])


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the reader should know: a stable `code`, the step it is about, a sentence."""

    code: str
    detail: str
    step: str | None = None


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """What the record can be trusted for. `complete` false: steps are known to be missing.

    `has_tool_calls` says whether the format can hold calls at all, not whether there were any.
    """

    complete: bool = True
    has_tool_calls: bool = True
    has_tool_results: bool = True
    has_times: bool = False
    has_usage: bool = False
    has_system_prompt: bool = False
    has_heard_text: bool = False
    trusted_actions: bool = True


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How the trial ended, in the words of the source (`exit_status`) and in ours (`ended_by`; null: not said).

    `unknown`: the source says something that is none of ours, which completes no trial.
    """

    final_step: str | None = None
    exit_status: str | None = None
    error: str | None = None
    ended_by: EndedBy | None = None


class ExternalScore(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict that the source itself recorded (a benchmark's reward component). Null value: it recorded none."""

    name: str
    value: float | None = None
    detail: str = ""
    components: tuple[Any, ...] = ()


class EndState(msgspec.Struct, frozen=True, kw_only=True):
    """A state of the world beside the trace: a folder of files, a SQLite file, a JSON value.

    `faults`: parts that were named and cannot be read, by name, each with its reason.
    """

    files: str | None = None
    sqlite: str | None = None
    json: Any = None
    faults: Mapping[Literal["files", "sqlite", "json"], str] = {}


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded execution. `task_id` and `trial` are null when the source does not say."""

    id: str
    source: Source
    steps: tuple[Step, ...]
    task_id: str | None = None
    trial: int | None = None
    session_id: str | None = None
    agents: tuple[Agent, ...] = ()
    blobs: Mapping[str, Mapping[str, Any]] = {}
    usage: Usage | None = None
    outcome: Outcome = Outcome()
    state_before: EndState | None = None
    state_after: EndState | None = None
    measurements: Mapping[str, float] = {}
    external_scores: tuple[ExternalScore, ...] = ()
    notices: tuple[Notice, ...] = ()
    fidelity: Fidelity = Fidelity()


class Quarantined(msgspec.Struct, frozen=True, kw_only=True):
    """A record that could not be read: `where` is `file:line` or `file#pointer`, `reason` one sentence."""

    where: str
    reason: str
