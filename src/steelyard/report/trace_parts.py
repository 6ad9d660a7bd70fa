"""Traces as strict JSON, one step at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from steelyard.model.trace import Part, Quarantined, Step, Trace
from steelyard.report.plain import dump_parts, list_parts


def trace_json(traces: Iterable[Trace], quarantined: Iterable[Quarantined]) -> bytes:
    """`{"traces": [...], "quarantined": [...]}` as strict UTF-8 JSON; every field stands, absent ones are null."""
    return b"".join(trace_json_parts(traces, quarantined))


def trace_json_parts(traces: Iterable[Trace], quarantined: Iterable[Quarantined]) -> Iterator[bytes]:
    """`trace_json` as it comes: one trace is held at a time. `quarantined` is asked for after the traces."""
    start = b'{\n  "traces": [\n    '
    for trace in traces:
        yield start
        yield from _trace_parts(trace, 4)
        start = b",\n    "
    yield b'{\n  "traces": []' if start[:1] == b"{" else b"\n  ]"
    yield b',\n  "quarantined": '
    yield from list_parts(quarantined, 2)
    yield b"\n}\n"


def _trace_parts(trace: Trace, indent: int) -> Iterator[bytes]:
    start = b"{\n"
    for name in Trace.__struct_fields__:
        yield start + b" " * (indent + 2) + b'"' + name.encode() + b'": '
        if name == "steps":
            yield from list_parts(map(_step_fields, trace.steps), indent + 2)
        else:
            yield from dump_parts(getattr(trace, name), indent + 2)
        start = b",\n"
    yield b"\n" + b" " * indent + b"}"


def _step_fields(step: Step) -> dict[str, Any]:
    fields = {name: getattr(step, name) for name in Step.__struct_fields__}
    return fields | {"parts": [_part_fields(part) for part in step.parts]}


def _part_fields(part: Part) -> dict[str, Any]:
    fields = {name: getattr(part, name) for name in Part.__struct_fields__}
    own = ("kind", "value") if part.kind == "json" else ("kind",)
    return {name: value for name, value in fields.items() if value is not None or name in own}
