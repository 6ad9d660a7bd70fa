"""What was imported: one trace as a column of steps, many as a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from steelyard.model.trace import Fidelity, Quarantined, Step, Trace, Usage
from steelyard.report.numbers import plural, quantity
from steelyard.report.page import Page
from steelyard.report.steps import contents, heading, labels, measured
from steelyard.report.text import columns

FOLD = 400
"""Characters of a content that are shown before it is folded."""

FOLD_LINES = 6
WINDOW = 20_000
"""Characters of a content from which on its end is shown too, with its size and its hash."""

HEAD, TAIL = 200, 100
"""Steps of a long trace that are shown at its beginning and at its end."""

OUTCOMES = {"ok": "pass", "error": "error", "denied": "fail", "timeout": "error"}


def trace_text(
    trace: Trace,
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    full: bool = False,
    steps: tuple[int, int] | None = None,
) -> str:
    """The steps of a trace with ids and aliases in the margin; then notices, fidelity and usage.

    A result stands below its call. Denied, rejected, malformed, interrupted and cut parts are labelled. Unless `full`,
    long contents are folded with their size, and of a long trace the first and last steps are shown; with `steps`
    those from one number to another. No line is wider than `width`; all text of the trace is escaped.
    """
    page = Page(width=width, color=color, unicode=unicode)
    _head(page, trace)
    page.rule()
    count, seen = len(trace.steps), 0
    for first, last in _spans(count, full, steps):
        _left_out(page, first - seen, count)
        _steps(page, trace, trace.steps[first:last], full)
        seen = last
    _left_out(page, count - seen, count)
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


def _spans(count: int, full: bool, asked: tuple[int, int] | None) -> list[tuple[int, int]]:
    """Which steps are shown: first positions, and those after the last."""
    if asked is not None:
        first = min(max(asked[0] - 1, 0), count)
        return [(first, max(first, min(asked[1], count)))]
    return [(0, count)] if full or count <= HEAD + TAIL else [(0, HEAD), (count - TAIL, count)]


def _left_out(page: Page, number: int, count: int) -> None:
    if number > 0:
        told = f"… {number:,} of {count:,} steps left out; see some by --steps FROM-TO, all by --full"
        page.text(told, style="dim")


def _steps(page: Page, trace: Trace, steps: Sequence[Step], full: bool) -> None:
    results = _results(steps)
    shown: set[str] = set()
    for step in steps:
        if step.id in shown:
            continue
        _step(page, trace, step, full, 0)
        for result in results.get(step.id, ()):
            _step(page, trace, result, full, 2)
            shown.add(result.id)


def _results(steps: Sequence[Step]) -> dict[str, list[Step]]:
    """Results by the id of a call that stands before them."""
    found: dict[str, list[Step]] = {}
    calls = set()
    for step in steps:
        if step.kind == "tool_call":
            calls.add(step.id)
        elif step.result is not None and step.result.call_step_id in calls:
            found.setdefault(step.result.call_step_id, []).append(step)
    return found


def _step(page: Page, trace: Trace, step: Step, full: bool, deeper: int) -> None:
    alias = step.alias or ""
    margin = page.pen.fit(step.id, 7) + "  " + (alias if len(alias) <= 4 else "")
    indent = 14 + deeper + 2 * min(_depth(trace, step), 4)
    cited = f" {alias}" if len(alias) > 4 else ""
    title = f"{step.kind}{cited} {heading(step, len(trace.agents))}".rstrip()
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
    tail = "\n".join(text[-FOLD:].split("\n")[-FOLD_LINES:]) if folded and len(text) > WINDOW else ""
    _lines(page, head, indent)
    if folded:
        size = f"… {len(text) - len(head) - len(tail):,} of {len(text):,} characters folded"
        page.text(size, indent=indent, style="dim")
    if tail:
        count, digest = measured(text)
        page.text(f"… {count:,} bytes, sha256 {digest}; it ends:", indent=indent, style="dim")
        _lines(page, tail, indent)


def _lines(page: Page, text: str, indent: int) -> None:
    for line in text.split("\n"):
        if line.strip():
            page.text(line.rstrip("\r"), indent=indent)


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
