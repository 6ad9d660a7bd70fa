"""The words of one step of a trace: heading, labels, contents. Pure; nothing is escaped or folded here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from steelyard.model.trace import RELEASED, Call, Part, Result, Step
from steelyard.report.plain import plain

LARGEST_VALUE = 20_000
"""A value with more nodes or characters than this is described, not written out, unless all of it is wanted."""

PIECE = 1 << 20

LABELS = {
    "draft_rejected": "REJECTED DRAFT", "copied_context": "COPIED CONTEXT", "demo": "DEMONSTRATION",
    "synthetic": "SYNTHETIC", "backchannel": "BACKCHANNEL",
}  # fmt: skip


def heading(step: Step, agents: int = 1) -> str:
    """What stands beside the kind of a step: tool, role, agent, the call that a result belongs to."""
    who = f"by {step.agent_id} " if step.agent_id and agents > 1 else ""
    if step.call is not None:
        caller = "(called by the user) " if step.role == "user" else ""
        return f"{step.call.name} {caller}{who}"
    if step.result is not None:
        return (
            f"of {step.result.call_step_id} {who}" if step.result.call_step_id else f"of no known call {who}"
        )
    return f"({step.role}) {who}" if step.role not in ("none", step.kind) else who


def labels(step: Step) -> Iterator[str]:
    """What a reader must not miss, in capitals."""
    if step.visibility != RELEASED:
        why = " ".join(part for part in (step.visibility.by, step.visibility.reason) if part)
        yield LABELS.get(step.visibility.kind, step.visibility.kind) + (f": {why}" if why else "")
    if step.call is not None:
        yield from _call_labels(step.call)
    if step.result is not None:
        yield from _result_labels(step.result)
    if step.speech is not None and step.speech.interrupted:
        yield f"INTERRUPTED, heard: {step.speech.heard_basis}"
    if step.error is not None:
        yield f"ERROR {step.error.type}: {step.error.message}"
    if step.recorded_by == "agent":
        yield "as the agent says"


def _call_labels(call: Call) -> Iterator[str]:
    if call.args_error is not None:
        yield f"MALFORMED ARGUMENTS: {call.args_error}"
    if call.executed in ("denied", "no"):
        yield "DENIED" if call.executed == "denied" else "NOT EXECUTED"


def _result_labels(result: Result) -> Iterator[str]:
    if result.outcome != "ok":
        yield result.outcome.upper()
    if result.truncated:
        yield "CUT IN THE SOURCE"


def contents(step: Step, full: bool) -> Iterator[str]:
    """The contents of a step, each as one text that may have several lines."""
    if step.call is not None:
        yield step.call.args_raw or "" if step.call.args_error is not None else value(step.call.args, full)
    if step.speech is not None and step.speech.heard_text is not None:
        yield f"heard: {step.speech.heard_text}"
    if step.result is not None and step.result.value is not None:
        yield value(step.result.value, full)
        return
    for part in step.parts:
        yield _part(part, full)


def _part(part: Part, full: bool) -> str:
    if part.kind == "json":
        return value(part.value, full)
    if part.kind == "text":
        return part.text or ""
    names = " ".join(str(name) for name in (part.title, part.doc_id, part.uri, part.blob) if name)
    return f"[{part.kind}{f' {names}' if names else ''}] {part.text or part.quote or ''}".rstrip()


def value(value: Any, full: bool) -> str:
    """A value as one line of JSON; text as it is."""
    if isinstance(value, str):
        return value
    if not full and size_of(value, LARGEST_VALUE) >= LARGEST_VALUE:
        return f"[a large {type(value).__name__} with {len(value):,} entries; --full shows it]"
    return json.dumps(plain(value), ensure_ascii=False)


def size_of(value: Any, most: int) -> int:
    """Characters and nodes of a value, counted up to `most` without recursion."""
    size, left = 0, [value]
    while left and size < most:
        node = left.pop()
        size += 1 + (len(node) if isinstance(node, str) else 0)
        if isinstance(node, dict):
            left += [*node, *node.values()]
        elif isinstance(node, list | tuple):
            left += node
    return size


def measured(text: str) -> tuple[int, str]:
    """The length of a text in bytes of UTF-8, and their SHA-256, without a second copy of the text."""
    digest, count = hashlib.sha256(), 0
    for start in range(0, len(text), PIECE):
        piece = text[start : start + PIECE].encode("utf-8", "surrogatepass")
        digest.update(piece)
        count += len(piece)
    return count, digest.hexdigest()
