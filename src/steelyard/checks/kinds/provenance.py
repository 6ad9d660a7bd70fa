"""`provenance`: every argument value of a call was there before the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from steelyard.checks.cells import moment_of
from steelyard.checks.equality import json_equal
from steelyard.checks.findings import failed, passed
from steelyard.checks.numbers import exact, number_text
from steelyard.checks.show import counted, names, show
from steelyard.checks.sources import Sources, dates_in
from steelyard.model.evidence import agent_calls
from steelyard.model.state_checks import ProvenanceCheck
from steelyard.model.trace import Step
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import GraderInput

VERSION = "1"

_CITED = 50


def reads(spec: ProvenanceCheck) -> frozenset[str]:
    """Everything that was said, called and found, and the facts; the times of calls when `today` may be derived."""
    return frozenset({"steps", "facts", *(("measurements",) if "today" in spec.derive else ())})


def grade(spec: ProvenanceCheck, given: GraderInput) -> Finding:
    """1 when every value can be traced, else 0 with each that cannot: its step and argument.

    Undecided where the record lacks what a value may have come from: it is incomplete, or has no tool results, or one
    that was cut. No call to the tools is a pass of a complete record, since nothing was made up.
    """
    trace = given.trace
    if not trace.fidelity.has_tool_calls:
        return Undecided(
            reason="this trace's format cannot hold tool calls, so it cannot show their arguments"
        )
    chosen = {
        step.id
        for step in agent_calls(trace)
        if step.call is not None and (not spec.tools or step.call.name in spec.tools)
    }
    sources = _at_the_start(given)
    untraced: list[tuple[str, str]] = []
    count = 0
    gap = "" if trace.fidelity.has_tool_results else "this trace's format cannot hold tool results"
    cut = ""
    for step in trace.steps:
        if step.id in chosen:
            found = list(_untraceable(spec, step, sources))
            count += len(list(_values(spec, step)))
            untraced += [(step.id, said) for said in found]
            gap = gap or (cut if found else "")
        _learn(sources, step)
        if step.result is not None and step.result.truncated:
            cut = f"the result {step.alias or step.id} is cut, and the value may stand in the rest"
    evidence = list(dict.fromkeys(step for step, _ in untraced))[:_CITED]
    if untraced:
        reason = names([f"{step} {said}" for step, said in untraced], 4, joint="; ")
        gap = gap or ("" if trace.fidelity.complete else "the record is incomplete")
        return (
            Undecided(reason=f"{reason}; {gap}", evidence=tuple(evidence))
            if gap
            else failed(reason, evidence)
        )
    if not trace.fidelity.complete and not chosen:
        return Undecided(reason="no such call in what was recorded, but the record is incomplete")
    return passed(
        f"{counted(count, 'value')} of {counted(len(chosen), 'call')}, each traceable",
        sorted(chosen)[:_CITED],
    )


def _at_the_start(given: GraderInput) -> Sources:
    sources = Sources()
    for agent in given.trace.agents:
        sources.add(agent.instructions)
    for fact in given.task.facts.values():
        sources.add(fact.text)
        sources.add(fact.data)
    return sources


def _learn(sources: Sources, step: Step) -> None:
    """What a step shows to the agent. What the agent itself said or called is no source."""
    if step.visibility.kind == "demo" or step.kind not in ("user", "system", "tool_result", "retrieval"):
        return
    if step.result is not None:
        sources.add(step.result.value)
    for part in step.parts:
        for shown in (part.text, part.value, part.doc_id, part.title):
            sources.add(shown)


def _values(spec: ProvenanceCheck, step: Step) -> Iterator[tuple[str, Any]]:
    """The values of a call that need a source, each with its argument."""
    call = step.call
    if call is None or call.args_error is not None:
        return
    pending = [("", call.args)]
    while pending:
        where, value = pending.pop()
        if isinstance(value, Mapping):
            pending.extend(
                (f"{where}/{name}" if where else str(name), child)
                for name, child in reversed(list(value.items()))
                if where or name not in spec.ignore_args
            )
        elif isinstance(value, list | tuple):
            pending.extend((f"{where}/{index}", child) for index, child in reversed(list(enumerate(value))))
        elif value is not None and value != "" and not any(json_equal(value, known) for known in spec.ignore):
            yield where, value


def _untraceable(spec: ProvenanceCheck, step: Step, sources: Sources) -> Iterator[str]:
    call = step.call
    if call is None:
        return
    if call.args_error is not None:
        yield f"{call.name}: its arguments are not JSON, so they cannot be traced"
        return
    for where, value in _values(spec, step):
        if not (_traced(value, sources) or _derived(spec, value, step, sources)):
            yield f"{call.name}, {where[:80] or 'its arguments'} {show(value)} stands nowhere before"


def _traced(value: Any, sources: Sources) -> bool:
    if isinstance(value, bool):
        return False
    number = exact(value)
    if number is not None:
        return sources.has_number(number)
    if not isinstance(value, str):
        return False
    if sources.has_text(value) or sources.has_id(value):
        return True
    number = number_text(value)
    if number is not None and not value.strip().startswith("0"):
        return sources.has_number(number)
    moment = moment_of(value)
    if moment is not None:
        return sources.has_moment(moment)
    day = _date(value)
    return day is not None and sources.has_date(day)


def _date(value: str) -> date | None:
    """The date that the whole text is."""
    text = value.strip()
    if len(text) > 30:
        return None
    if text[:4].isdigit() and len(text) != 10:
        return None
    return next(dates_in(text), None)


def _derived(spec: ProvenanceCheck, value: Any, step: Step, sources: Sources) -> bool:
    number = number_text(value) if isinstance(value, str) else exact(value)
    if number is not None and not isinstance(value, bool):
        return ("sum" in spec.derive and sources.has_sum(number)) or (
            "difference" in spec.derive and sources.has_difference(number)
        )
    if not isinstance(value, str):
        return False
    recased = ("lower" in spec.derive and value == value.lower()) or (
        "upper" in spec.derive and value == value.upper()
    )
    if recased and sources.has_text(value, case=False):
        return True
    started = step.started_at or ""
    return "today" in spec.derive and step.clock in ("utc", "naive") and value.strip() == started[:10]
