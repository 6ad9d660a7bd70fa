"""What was imported: one trace as a column of steps, many as a line each, and all as strict JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from steelyard.model.trace import Fidelity, Part, Quarantined, Step, Trace, Usage
from steelyard.report.numbers import plural, quantity
from steelyard.report.page import Page
from steelyard.report.plain import dumps, plain
from steelyard.report.steps import contents, heading, labels
from steelyard.report.text import columns

FOLD = 400
"""Characters of a content that are shown before it is folded."""

FOLD_LINES = 6
OUTCOMES = {"ok": "pass", "error": "error", "denied": "fail", "timeout": "error"}


def trace_text(
    trace: Trace, *, width: int = 80, color: bool = False, unicode: bool = True, full: bool = False
) -> str:
    """The steps of a trace with ids and aliases in the margin; then notices, fidelity and usage.

    A result stands below its call. Denied, rejected, malformed, interrupted and cut parts are labelled. Long contents
    are folded with their size unless `full`. No line is wider than `width`; all text of the trace is escaped.
    """
    page = Page(width=width, color=color, unicode=unicode)
    _head(page, trace)
    page.rule()
    results = _results(trace)
    shown: set[str] = set()
    for step in trace.steps:
        if step.id in shown:
            continue
        _step(page, trace, step, full, 0)
        for result in results.get(step.id, ()):
            _step(page, trace, result, full, 2)
            shown.add(result.id)
    page.rule()
    _notices(page, trace)
    _foot(page, trace)
    return str(page)


def traces_summary(
    traces: Iterable[Trace],
    quarantined: Sequence[Quarantined] = (),
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
) -> str:
    """One line a trace: id, task and trial, steps, calls, how it ended, notices; then what was quarantined."""
    page = Page(width=width, color=color, unicode=unicode)
    pen = page.pen
    most = page.width // 4
    rows = [
        (pen.fit(trace.id, most, "middle"), pen.fit(_task(trace), most, "middle"), _short(trace))
        for trace in traces
    ]
    first = max((columns(row[0]) for row in rows), default=0)
    second = max((columns(row[1]) for row in rows), default=0)
    for name, task, facts in rows:
        start = name + " " * (first - columns(name) + 2)
        page.line([(start, "bold"), (task + " " * (second - columns(task) + 2), ""), (pen.text(facts), "")])
    page.text(f"{plural(len(rows), 'trace')}, {len(quarantined):,} quarantined")
    _quarantined(page, quarantined)
    return str(page)


def _short(trace: Trace) -> str:
    calls = sum(step.kind == "tool_call" for step in trace.steps)
    notices = f" · {plural(len(trace.notices), 'notice')}" if trace.notices else ""
    ended = trace.outcome.ended_by or "end not said"
    return f"{plural(len(trace.steps), 'step')} · {plural(calls, 'call')} · {ended}{notices}"


def trace_json(traces: Iterable[Trace], quarantined: Iterable[Quarantined]) -> bytes:
    """`{"traces": [...], "quarantined": [...]}` as strict UTF-8 JSON; every field stands, absent ones are null."""
    return dumps({
        "traces": [plain(_full(trace)) for trace in traces],
        "quarantined": [plain(record) for record in quarantined],
    })  # fmt: skip


def _full(trace: Trace) -> dict[str, Any]:
    """Parts keep only the fields of their kind; everything else keeps all."""
    fields = {name: getattr(trace, name) for name in Trace.__struct_fields__}
    return fields | {"steps": [_step_fields(step) for step in trace.steps]}


def _step_fields(step: Step) -> dict[str, Any]:
    fields = {name: getattr(step, name) for name in Step.__struct_fields__}
    return fields | {"parts": [_part_fields(part) for part in step.parts]}


def _part_fields(part: Part) -> dict[str, Any]:
    fields = {name: getattr(part, name) for name in Part.__struct_fields__}
    own = ("kind", "value") if part.kind == "json" else ("kind",)
    return {name: value for name, value in fields.items() if value is not None or name in own}


# --- the head ----------------------------------------------------------------------------------------


def _head(page: Page, trace: Trace) -> None:
    page.text(f"trace {trace.id}", style="bold", most=3)
    calls = sum(step.kind == "tool_call" for step in trace.steps)
    page.parts(
        (_task(trace), plural(len(trace.steps), "step"), plural(calls, "call"), _source(trace)), indent=2
    )
    outcome = trace.outcome
    ended: list[str] = [outcome.ended_by or "end not said"]
    ended += [
        f"{name}: {text}"
        for name, text in (("status", outcome.exit_status), ("error", outcome.error))
        if text
    ]
    page.parts(ended, indent=9, lead="  ended")
    for agent in trace.agents if len(trace.agents) > 1 else ():
        path = f" under {agent.parent}" if agent.parent else ""
        page.text(f"{agent.id} {agent.name} ({agent.role}{path})", indent=9, lead="  agent", most=2)
    for score in trace.external_scores:
        value = "none" if score.value is None else quantity(score.value)
        page.text(f"{score.name}: {value} {score.detail}", indent=18, lead="  recorded score", most=2)


def _task(trace: Trace) -> str:
    if trace.task_id is None:
        return "no task said"
    return trace.task_id if trace.trial is None else f"{trace.task_id}#{trace.trial}"


def _source(trace: Trace) -> str:
    source = trace.source
    place = " ".join(part for part in (source.file or "", source.locator) if part)
    return f"{source.format}{f' from {place}' if place else ''}"


# --- steps -------------------------------------------------------------------------------------------


def _results(trace: Trace) -> dict[str, list[Step]]:
    """Results by the id of a call that stands before them."""
    found: dict[str, list[Step]] = {}
    calls = set()
    for step in trace.steps:
        if step.kind == "tool_call":
            calls.add(step.id)
        elif step.result is not None and step.result.call_step_id in calls:
            found.setdefault(step.result.call_step_id, []).append(step)
    return found


def _step(page: Page, trace: Trace, step: Step, full: bool, deeper: int) -> None:
    margin = page.pen.fit(step.id, 7) + "  " + page.pen.fit(step.alias or "", 4)
    indent = 14 + deeper + 2 * min(_depth(trace, step), 4)
    title = f"{step.kind} {heading(step, len(trace.agents))}".rstrip()
    marks = "".join(f" [{label}]" for label in labels(step))
    turn = "" if deeper else f"  turn {step.turn}"
    style = OUTCOMES.get(step.result.outcome, "unknown") if step.result else ("bold" if not deeper else "")
    page.text(f"{title}{marks}{turn}", indent=indent, lead=margin, style=style, most=3)
    for text in contents(step, full):
        _content(page, text, indent + 2, full)


def _depth(trace: Trace, step: Step) -> int:
    parents = {agent.id: agent.parent for agent in trace.agents}
    depth, agent, seen = 0, parents.get(step.agent_id or ""), set()
    while agent is not None and agent not in seen:
        seen.add(agent)
        depth, agent = depth + 1, parents.get(agent)
    return depth


def _content(page: Page, text: str, indent: int, full: bool) -> None:
    folded = not full and (len(text) > FOLD or text.count("\n", 0, FOLD) >= FOLD_LINES)
    head = text if not folded else "\n".join(text[:FOLD].split("\n")[:FOLD_LINES])
    for line in head.split("\n"):
        if line.strip():
            page.text(line.rstrip("\r"), indent=indent)
    if folded:
        page.text(
            f"… {len(text) - len(head):,} of {len(text):,} characters folded", indent=indent, style="dim"
        )


# --- the foot ----------------------------------------------------------------------------------------


def _notices(page: Page, trace: Trace) -> None:
    if not trace.notices:
        page.text("no notices")
        return
    page.text(plural(len(trace.notices), "notice"), style="bold")
    for notice in trace.notices:
        where = f" at {notice.step}" if notice.step else ""
        page.text(f"{notice.code}{where}: {notice.detail}", indent=4, lead="  ?", most=3)


def _foot(page: Page, trace: Trace) -> None:
    page.parts(_fidelity(trace.fidelity), indent=10, lead="fidelity")
    if trace.usage is not None:
        page.parts(_usage(trace.usage), indent=10, lead="usage")
    if trace.measurements:
        page.parts(
            [f"{name} {quantity(number)}" for name, number in trace.measurements.items()],
            indent=10,
            lead="measured",
        )


def _fidelity(fidelity: Fidelity) -> Iterator[str]:
    for name in Fidelity.__struct_fields__:
        words = name.removeprefix("has_").replace("_", " ")
        yield (
            f"✓ {words}"
            if getattr(fidelity, name)
            else f"✗ {'no' if name.startswith('has_') else 'not'} {words}"
        )


def _usage(usage: Usage) -> Iterator[str]:
    for name, value in msgspec.structs.asdict(usage).items():
        if value is not None:
            yield f"{name.replace('_', ' ')} {quantity(value) if isinstance(value, int | float) else value}"


def _quarantined(page: Page, records: Sequence[Quarantined]) -> None:
    for record in records:
        page.text(f"{record.where}: {record.reason}", indent=4, lead="  !", most=3)
