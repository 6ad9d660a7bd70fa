"""`rule`: no call of the trial violates the rule. The fold of the two functions that a live gate runs."""

from __future__ import annotations

from steelyard.checks.findings import failed, passed
from steelyard.model.checks import RuleCheck
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import GraderInput
from steelyard.rules import Hit, compile_rule, events_of, hits

VERSION = "1"


def reads(spec: RuleCheck) -> frozenset[str]:
    """Every attempted call, and the messages where the rule refers to one."""
    rule = spec.rule
    events = {ref.event for ref in (rule.after, rule.never_after, rule.never_with) if ref is not None}
    return frozenset({"calls", "messages"}) if "message" in events else frozenset({"calls"})


def grade(spec: RuleCheck, given: GraderInput) -> Finding:
    """0 on any hit, whatever the rule's effect; 1 on none in a record that could show one, else undecided."""
    rule = compile_rule(spec.rule)
    events = events_of(given.trace)
    found = list(hits(rule, events))
    if found:
        return failed(
            _reason(found, spec.rule.reason), [hit.event.step for hit in found[:50] if hit.event.step]
        )
    fidelity = given.trace.fidelity
    if not fidelity.has_tool_calls:
        return Undecided(
            reason="this trace's format cannot hold tool calls, so it cannot show that none was made"
        )
    if not fidelity.complete:
        return Undecided(reason="no hit in what was recorded, but the record is incomplete")
    calls = sum(event.kind == "tool_call" for event in events)
    untrusted = "" if fidelity.trusted_actions else "; the actions are the agent's own account"
    return passed(f"rule {spec.rule.id}: no hit in {calls} call{'s' if calls != 1 else ''}{untrusted}")


def _reason(found: list[Hit], stated: str) -> str:
    first = found[0]
    where = f" ({first.event.step or 'no step'}, message {first.event.turn})"
    more = f"; {len(found) - 1} more" if len(found) > 1 else ""
    return f"{first.decision.reason}{where}{more}" + (f". {stated}" if stated else "")
