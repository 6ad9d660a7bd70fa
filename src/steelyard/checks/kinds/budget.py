"""`budget`: measurements are at most their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import msgspec

from steelyard.checks.findings import decided, empty_check
from steelyard.checks.numbers import exact
from steelyard.checks.show import show_number
from steelyard.errors import GraderError
from steelyard.model.checks import BudgetCheck
from steelyard.model.evidence import agent_calls
from steelyard.model.trace import Trace, Usage
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import GraderInput

VERSION = "1"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement; null value: the trace lacks it. `partial`: more may have been used than was recorded."""

    value: Fraction | None = None
    partial: bool = False
    lack: str = ""


def reads(spec: BudgetCheck) -> frozenset[str]:
    """Recorded measurements, and what the steps count, time and use."""
    return frozenset(f"measurements:{name}" for name in _MEASURES if getattr(spec, name) is not None)


def grade(spec: BudgetCheck, given: GraderInput) -> Finding:
    """1 when every bound holds, 0 when one is exceeded, undecided when a measurement that could exceed is lacking.

    Measurements recorded with the trial come first; otherwise they are computed from the steps.
    """
    bounds = {name: bound for name in _MEASURES if (bound := getattr(spec, name)) is not None}
    if not bounds:
        raise empty_check("give a bound for seconds, cost_usd, tokens, tool_calls or turns")
    exceeded: list[str] = []
    kept: list[str] = []
    open_: list[str] = []
    for name, bound in bounds.items():
        limit = _limit(name, bound)
        measured = _measure(name, given.trace)
        if measured.value is None:
            open_.append(f"{name}: {measured.lack}")
        elif measured.value > limit:
            exceeded.append(f"{name} {show_number(measured.value)} > {show_number(limit)}")
        elif measured.partial:
            open_.append(f"{name}: {show_number(measured.value)} recorded, but {measured.lack}")
        else:
            kept.append(f"{name} {show_number(measured.value)} <= {show_number(limit)}")
    if not exceeded and open_:
        return Undecided(reason="; ".join(open_))
    return decided(not exceeded, "; ".join(exceeded or kept))


def _limit(name: str, bound: Decimal) -> Fraction:
    limit = exact(bound)
    if limit is None or limit < 0:
        raise GraderError(f"The budget for {name} must be a number from 0, not {bound}.", code="bad_check")
    return limit


def _measure(name: str, trace: Trace) -> Measured:
    recorded = trace.measurements.get(name)
    if recorded is None:
        return _MEASURES[name](trace)
    if isinstance(recorded, float) and not math.isfinite(recorded):
        raise GraderError(f"The recorded measurement {name} is not a finite number.", code="non_finite")
    value = exact(recorded)
    if value is None or value < 0:
        raise GraderError(f"The recorded measurement {name} is not a number from 0.", code="out_of_range")
    return Measured(value=value)


def _tool_calls(trace: Trace) -> Measured:
    if not trace.fidelity.has_tool_calls:
        return Measured(lack="this trace's format cannot hold tool calls")
    return _counted(len(agent_calls(trace)), trace)


def _turns(trace: Trace) -> Measured:
    """Messages of the agent, rejected drafts included: they took their time too."""
    own = {
        step.turn
        for step in trace.steps
        if step.role == "assistant" and step.visibility.kind in ("released", "draft_rejected")
    }
    return _counted(len(own), trace)


def _counted(count: int, trace: Trace) -> Measured:
    complete = trace.fidelity.complete
    return Measured(
        value=Fraction(count), partial=not complete, lack="" if complete else "the record is incomplete"
    )


def _tokens(trace: Trace) -> Measured:
    def of(usage: Usage) -> int | None:
        if usage.input_total is None or usage.output is None:
            return None
        return usage.input_total + usage.output

    return _used(trace, of, "tokens")


def _cost(trace: Trace) -> Measured:
    def of(usage: Usage) -> float | None:
        return usage.cost_usd

    return _used(trace, of, "cost")


def _used(trace: Trace, of: Callable[[Usage], int | float | None], what: str) -> Measured:
    """The trace's own total; without one, the sum over the steps that state their usage."""
    if trace.usage is not None and (total := of(trace.usage)) is not None:
        return _amount([total], what, partial=False, trace=trace)
    stated = [of(step.usage) for step in trace.steps if step.usage is not None]
    known = [amount for amount in stated if amount is not None]
    if not known:
        return Measured(lack=f"the trace does not say the {what}")
    return _amount(known, what, partial=len(known) < len(stated), trace=trace)


def _amount(amounts: list[int | float], what: str, *, partial: bool, trace: Trace) -> Measured:
    values = [exact(amount) for amount in amounts]
    sound = [value for value in values if value is not None and value >= 0]
    if len(sound) < len(values):
        return Measured(lack=f"the trace's {what} is not a number from 0")
    lacking = "some steps do not say theirs" if partial else "the record is incomplete"
    return Measured(
        value=sum(sound, Fraction(0)), partial=partial or not trace.fidelity.complete, lack=lacking
    )


def _seconds(trace: Trace) -> Measured:
    """From the first to the last moment; only clocks in UTC can be subtracted from one another."""
    moments: list[datetime] = []
    for step in trace.steps:
        for text in (step.started_at, step.ended_at):
            if text is None:
                continue
            moment = _moment(text) if step.clock == "utc" else None
            if moment is None:
                return Measured(lack=f"the time of {step.id} is not in UTC, so times cannot be subtracted")
            moments.append(moment)
    if len(moments) < 2:
        return Measured(lack="the trace holds no times")
    span = max(moments) - min(moments)
    value = Fraction(span.days * 86_400 + span.seconds) + Fraction(span.microseconds, 1_000_000)
    return Measured(value=value, partial=not trace.fidelity.complete, lack="the record is incomplete")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


_MEASURES: dict[str, Callable[[Trace], Measured]] = {
    "seconds": _seconds,
    "cost_usd": _cost,
    "tokens": _tokens,
    "tool_calls": _tool_calls,
    "turns": _turns,
}
