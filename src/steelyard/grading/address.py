"""The key of a verdict: a hash of exactly what decides it.

The same key means the same finding, so cache, resume and re-grading are one mechanism. In the key: this package's
version, the grader's kind and version, its settings, the criterion's rule and view, the content of the aspects that
the grader reads (with the ids of their steps, so that a reused verdict cites steps that exist), and how far the record
can be trusted. Not in it: thresholds, weights, gates, tags, and what the trial cost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from steelyard.model.evidence import agent_calls, answer, results_of
from steelyard.model.standard import Criterion, Task
from steelyard.model.trace import EndState, Step, Trace
from steelyard.model.version import VERSION
from steelyard.ports.grader import Grader, GraderInput

_BUILTIN = (bytes, Decimal)


def spelt(value: Any) -> bytes:
    """Text that differs wherever values differ in content or type: 1, 1.0, "1", true, NaN and null are six things.

    JSON would not do: it writes NaN as null, and has no halves of characters. TypeError, ValueError or RecursionError
    for what cannot be written (keys that cannot be sorted, integers of thousands of digits, absurd depth).
    """
    plain = msgspec.to_builtins(value, builtin_types=_BUILTIN, order="deterministic", enc_hook=_shown)
    return repr(plain).encode("utf-8", "backslashreplace")


def _shown(value: Any) -> Any:
    return [type(value).__name__, repr(value)]


StateHash = Callable[[EndState], str]
"""Content hash of an end state; reading files and databases is not for this room."""


class Addressing:
    """Keys of the checks of one trial. Aspects are hashed once, however many checks read them."""

    def __init__(self, task: Task, trace: Trace, state_hash: StateHash) -> None:
        self.task = task
        self.trace = trace
        self.state_hash = state_hash
        self._aspects: dict[str, bytes] = {}

    def key(self, grader: Grader, criterion: Criterion, given: GraderInput) -> bytes:
        """32 bytes. `given.trace` may be narrowed by the criterion's view; aspects are then read from that."""
        spec = criterion.check
        narrowed = given.trace is not self.trace
        digest = hashlib.sha256()
        head = (
            VERSION,
            grader.kind,
            grader.version,
            spec,
            criterion.rule,
            criterion.view,
            given.trace.fidelity,  # as narrowed: a view that hides calls makes the record incomplete
        )
        digest.update(hashlib.sha256(spelt(head)).digest())
        for aspect in sorted(grader.reads(spec)):
            content = (
                self._content(aspect, given)
                if narrowed or aspect == "extracted"
                else self._cached(aspect, given)
            )
            digest.update(aspect.encode("utf-8", "replace") + b"\0" + content)
        return digest.digest()

    def _cached(self, aspect: str, given: GraderInput) -> bytes:
        if aspect not in self._aspects:
            self._aspects[aspect] = self._content(aspect, given)
        return self._aspects[aspect]

    def _content(self, aspect: str, given: GraderInput) -> bytes:
        scheme, colon, name = aspect.partition(":")
        if scheme in ("state_before", "state_after"):
            state = given.trace.state_before if scheme == "state_before" else given.trace.state_after
            value: Any = None if state is None else self.state_hash(_part(state, name) if colon else state)
        elif aspect == "extracted":
            value = given.extracted
        elif aspect == "facts":
            value = self.task.facts
        else:
            value = (
                self.task.facts.get(name)
                if scheme == "fact"
                else _READERS[scheme](given.trace, name if colon else None)
            )
        return hashlib.sha256(spelt(value)).digest()


def _part(state: EndState, name: str) -> EndState:
    """The state as far as its files, its database or its JSON."""
    faults = {part: fault for part, fault in state.faults.items() if part == name}
    match name:
        case "files":
            return EndState(files=state.files, faults=faults)
        case "sqlite":
            return EndState(sqlite=state.sqlite, faults=faults)
        case _:
            return EndState(json=state.json, faults=faults)


def _answer(trace: Trace, name: str | None) -> Any:
    step = answer(trace)
    return None if step is None else (step.id, step.text)


def _said(trace: Trace, name: str | None) -> Any:
    return [
        (step.id, step.text)
        for step in trace.steps
        if step.kind == "assistant" and step.visibility.kind == "released"
    ]


def _messages(trace: Trace, name: str | None) -> Any:
    return [
        (step.id, step.turn, step.role, bool(step.text.strip()), step.visibility.kind)
        for step in trace.steps
        if step.kind in ("assistant", "user")
    ]


def _calls(trace: Trace, name: str | None) -> Any:
    return [
        (
            step.id, step.turn, step.role, step.agent_id, step.visibility.kind, step.call.name, step.call.args,
            step.call.args_error, step.call.args_raw if step.call.args_error else None, step.call.executed,
        )
        for step in agent_calls(trace, by="any")
        if step.call is not None and name in (None, step.call.name)
    ]  # fmt: skip


def _results(trace: Trace, name: str | None) -> Any:
    wanted = None
    if name is not None:
        paired = results_of(trace)
        calls = agent_calls(trace, by="any")
        wanted = {
            paired[step.id].id for step in calls if step.id in paired and step.call and step.call.name == name
        }
    return [
        (step.id, step.alias, step.visibility.kind, step.result, step.text)
        for step in trace.steps
        if step.result is not None and (wanted is None or step.id in wanted)
    ]


def _steps(trace: Trace, name: str | None) -> Any:
    return [_plain(step) for step in trace.steps], [(agent.id, agent.instructions) for agent in trace.agents]


def _plain(step: Step) -> Any:
    return (
        step.id, step.turn, step.kind, step.role, step.agent_id, step.alias, step.parts, step.call, step.result,
        step.speech, step.visibility, step.error,
    )  # fmt: skip


def _measurements(trace: Trace, name: str | None) -> Any:
    """Everything that is measured, or what one measurement is stated as or computed from."""
    counted = [(step.id, step.turn, step.role, step.kind, step.visibility.kind) for step in trace.steps]
    times = [(step.started_at, step.ended_at, step.clock) for step in trace.steps]
    used = trace.usage, [step.usage for step in trace.steps]
    if name is None:
        return trace.measurements, counted, times, used
    rest = {"seconds": times, "tokens": used, "cost_usd": used}.get(name)
    return trace.measurements.get(name), counted, rest


def _external(trace: Trace, name: str | None) -> Any:
    return trace.external_scores


_READERS: Mapping[str, Callable[[Trace, str | None], Any]] = {
    "answer": _answer,
    "said": _said,
    "messages": _messages,
    "call": _calls,
    "calls": _calls,
    "result": _results,
    "results": _results,
    "steps": _steps,
    "measurements": _measurements,
    "external": _external,
}
