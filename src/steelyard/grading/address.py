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
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from steelyard.model.evidence import agent_calls, answer, results_of
from steelyard.model.standard import Criterion, Task
from steelyard.model.trace import EndState, Part, Result, Step, Trace
from steelyard.model.version import VERSION
from steelyard.ports.grader import Grader, GraderInput

_BUILTIN = (bytes, Decimal)
_LONG = 1 << 20
"""Characters from which on a text is hashed piece by piece, so that it is not copied whole."""


def spelt(value: Any) -> bytes:
    """Text that differs wherever values differ in content or type: 1, 1.0, "1", true, NaN and null are six things.

    JSON would not do: it writes NaN as null, and has no halves of characters. TypeError, ValueError or RecursionError
    for what cannot be written (keys that cannot be sorted, integers of thousands of digits, absurd depth).
    """
    plain = msgspec.to_builtins(value, builtin_types=_BUILTIN, order="deterministic", enc_hook=_shown)
    return repr(plain).encode("utf-8", "backslashreplace")


_TEXTS = msgspec.msgpack.Encoder(order="deterministic").encode
_NUMBERS = msgspec.msgpack.Encoder(order="deterministic", decimal_format="number").encode


def _digest(value: Any, *, decimals: bool = True) -> bytes:
    """SHA-256 of a text that tells values apart as `spelt` does. Raises as that.

    MessagePack is many times as fast, and keeps types apart except that it writes a decimal as text (or as a number):
    where the two ways of writing decimals agree, there is none. It refuses halves of characters and huge integers.
    `decimals` false: there cannot be any.
    """
    try:
        packed = _TEXTS(value)
        if not decimals:
            return hashlib.sha256(packed).digest()
        if len(packed) > _LONG:  # not both ways at once
            found, packed = hashlib.sha256(packed).digest(), b""
            if found == hashlib.sha256(_NUMBERS(value)).digest():
                return found
        elif packed == _NUMBERS(value):
            return hashlib.sha256(packed).digest()
    except (TypeError, ValueError, OverflowError):
        pass
    return hashlib.sha256(b"spelt" + spelt(value)).digest()


def _text(text: str | None) -> Any:
    """A text, or what stands for a long one: its hash, as bytes, which no trace holds."""
    if text is None or len(text) <= _LONG:
        return text
    digest = hashlib.sha256()
    for start in range(0, len(text), _LONG):
        digest.update(text[start : start + _LONG].encode("utf-8", "surrogatepass"))
    return digest.digest()


def _shown(value: Any) -> Any:
    return [type(value).__name__, repr(value)]


StateHash = Callable[[EndState], str]
"""Content hash of an end state; reading files and databases is not for this room."""


class Aspect(NamedTuple):
    """One thing that a grader reads of a trial: its word, how a key marks it, what stands before and after `:`."""

    word: str
    mark: bytes
    scheme: str
    name: str | None


class Asked(NamedTuple):
    """What a key holds of a check whatever the trial: the aspects that it reads, and a hash of all that it is told."""

    aspects: tuple[Aspect, ...]
    head: bytes


def asked_of(grader: Grader, criterion: Criterion) -> Asked:
    """The part of the key that is the same for every trial of the criterion. Raises as `spelt`."""
    spec = criterion.check
    head = (VERSION, grader.kind, grader.version, spec, criterion.rule, criterion.view)
    return Asked(_in_order(grader.reads(spec)), _digest(head))


@lru_cache(maxsize=256)
def _in_order(aspects: frozenset[str]) -> tuple[Aspect, ...]:
    return tuple(map(_aspect, sorted(aspects)))


def _aspect(word: str) -> Aspect:
    scheme, colon, name = word.partition(":")
    return Aspect(word, word.encode("utf-8", "replace") + b"\0", scheme, name if colon else None)


class Addressing:
    """Keys of the checks of one trial. Aspects are hashed once, however many checks read them."""

    def __init__(self, task: Task, trace: Trace, state_hash: StateHash) -> None:
        self.task = task
        self.trace = trace
        self.state_hash = state_hash
        self._aspects: dict[str, bytes] = {}

    def key(self, grader: Grader, criterion: Criterion, given: GraderInput) -> bytes:
        """32 bytes. `given.trace` may be narrowed by the criterion's view; aspects are then read from that."""
        return self.key_of(asked_of(grader, criterion), given)

    def key_of(self, asked: Asked, given: GraderInput) -> bytes:
        """`key`, with the criterion's part of it at hand."""
        narrowed = given.trace is not self.trace
        # The record's trust as narrowed: a view that hides calls makes it incomplete.
        parts = [asked.head, bytes(msgspec.structs.astuple(given.trace.fidelity))]
        for aspect in asked.aspects:
            anew = narrowed or aspect.word == "extracted"
            parts += (aspect.mark, self._content(aspect, given) if anew else self._cached(aspect, given))
        return hashlib.sha256(b"".join(parts)).digest()

    def _cached(self, aspect: Aspect, given: GraderInput) -> bytes:
        found = self._aspects.get(aspect.word)
        if found is None:
            found = self._aspects[aspect.word] = self._content(aspect, given)
        return found

    def _content(self, aspect: Aspect, given: GraderInput) -> bytes:
        scheme, name = aspect.scheme, aspect.name
        if scheme in _SAID:
            return _digest(_READERS[scheme](given.trace, name), decimals=False)
        if scheme in ("state_before", "state_after"):
            state = given.trace.state_before if scheme == "state_before" else given.trace.state_after
            value: Any = None
            if state is not None:
                value = self.state_hash(state if name is None else _part(state, name))
        elif aspect.word == "extracted":
            value = given.extracted
        elif aspect.word == "facts":
            value = self.task.facts
        elif scheme == "fact":
            value = self.task.facts.get(name or "")
        else:
            value = _READERS[scheme](given.trace, name)
        return _digest(value)


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
    return None if step is None else (step.id, _text(step.text))


def _said(trace: Trace, name: str | None) -> Any:
    return [
        (step.id, _text(step.text))
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
        (step.id, step.alias, step.visibility.kind, _brief(step.result), _text(step.text))
        for step in trace.steps
        if step.result is not None and (wanted is None or step.id in wanted)
    ]


def _steps(trace: Trace, name: str | None) -> Any:
    return [_plain(step) for step in trace.steps], [(agent.id, agent.instructions) for agent in trace.agents]


def _brief(record: Part | Result | None) -> Any:
    """The record, or its fields with what stands for a long text."""
    found = record.value if isinstance(record, Result) else record and record.text
    if record is None or not isinstance(found, str) or len(found) <= _LONG:
        return record
    fields = msgspec.structs.asdict(record)
    return {name: _text(value) if value is found else value for name, value in fields.items()}


def _plain(step: Step) -> Any:
    return (
        step.id, step.turn, step.kind, step.role, step.agent_id, step.alias, tuple(map(_brief, step.parts)), step.call,
        _brief(step.result), step.speech, step.visibility, step.error,
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
_SAID = frozenset({"answer", "said", "messages"})
"""Aspects that are ids, words and positions alone."""
