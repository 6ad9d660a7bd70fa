"""One rule as a past-time automaton: `decide` looks, `step` remembers. Both are pure; a state has a fixed size.

What happened *before* a call is what happened in an earlier message: calls and text of one message have no order
among themselves, so nothing in it comes before anything else in it, however it is written down.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from steelyard.errors import GraderError
from steelyard.model.checks import EventRef, Rule
from steelyard.rules.conditions import Truth, all_hold, check_condition
from steelyard.rules.events import Event

Effect = Literal["none", "audit", "warn", "ask", "deny"]


class CompiledRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that was found to mean something. `unconditional`: every call that is concerned violates it."""

    rule: Rule
    unconditional: bool


class State(msgspec.Struct, frozen=True, kw_only=True):
    """All that a rule needs to know of the past: the open message, and what earlier ones held.

    `..._now` is what the open message holds so far. Counts are of concerned calls that the limit counts.
    """

    turn: int | None = None
    after: bool = False
    after_now: bool = False
    never_after: bool = False
    never_after_now: bool = False
    with_now: bool = False
    concerned_now: bool = False
    count_turn: int = 0
    count_session: int = 0


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """`none`, or the rule's effect and why. `error`: the arguments could not be evaluated, which violates too."""

    effect: Effect = "none"
    reason: str = ""
    error: bool = False


NO_HIT = Decision()
OUTSIDE = Truth(holds=False)
INSIDE = Truth(holds=True)


def compile_rule(rule: Rule) -> CompiledRule:
    """Checks a rule once. Raises `GraderError` (code `bad_rule`) when it can mean nothing."""
    problem = ""
    if not rule.tool or not all(rule.tool):
        problem = "`tool` names no tool"
    elif rule.limit is not None and rule.limit.max < 0:
        problem = "`limit.max` is negative"
    elif any(ref.event == "message" and ref.tool for ref in _references(rule)):
        problem = "a message has no tool: leave `tool` out, or refer to a tool_call"
    if problem:
        raise GraderError(f"Rule {rule.id!r}: {problem}.", code="bad_rule")
    for condition in (*rule.when, *rule.require):
        check_condition(condition, rule.id)
    stated = bool(rule.require) or rule.limit is not None or bool(_references(rule))
    return CompiledRule(rule=rule, unconditional=not stated)


def initial(rule: CompiledRule) -> State:
    """The state before anything happened."""
    return State()


def decide(rule: CompiledRule, state: State, event: Event) -> Decision:
    """What the rule says of `event`, given the past in `state`. Pure; the cost does not depend on the past."""
    stated = rule.rule
    guard = _concern(stated, event)
    if guard.holds is None:
        return _decision(stated, f"{event.name}: {guard.why}", error=True)
    if not guard.holds and stated.never_with is None:
        return NO_HIT
    now = _open(state, event.turn)
    why, error = "", False
    if guard.holds:
        why, error = _violation(rule, now, event)
    elif _completes(stated, now, event):
        why = "shares its message with a call that must stand alone"
    return _decision(stated, f"{event.name or 'released text'}: {why}", error=error) if why else NO_HIT


def step(rule: CompiledRule, state: State, event: Event) -> State:
    """The state after `event`. Pure. An event that the rule does not look at leaves the state as it is."""
    stated = rule.rule
    concerned = _concern(stated, event).holds is not False
    happened = _happened(event)
    after = happened and _is_event(stated, stated.after, event)
    never_after = happened and _is_event(stated, stated.never_after, event)
    never_with = _is_event(stated, stated.never_with, event)
    if not (concerned or after or never_after or never_with):
        return state
    now = _open(state, event.turn)
    counted = concerned and _counts(stated, event)
    return State(
        turn=event.turn,
        after=now.after,
        after_now=now.after_now or after,
        never_after=now.never_after,
        never_after_now=now.never_after_now or never_after,
        with_now=now.with_now or never_with,
        concerned_now=now.concerned_now or concerned,
        count_turn=now.count_turn + counted,
        count_session=now.count_session + counted,
    )


def _open(state: State, turn: int) -> State:
    """Closes the open message when the event stands in another: what it held is the past from here on."""
    if state.turn == turn:
        return state
    return State(
        turn=turn,
        after=state.after or state.after_now,
        never_after=state.never_after or state.never_after_now,
        count_session=state.count_session,
    )


def _concern(rule: Rule, event: Event) -> Truth:
    """Whether the rule is about this event; None: its guard cannot be evaluated."""
    if (
        event.kind != "tool_call"
        or rule.by not in ("any", event.by)
        or not _named(rule, rule.tool, event.name)
    ):
        return OUTSIDE
    if not rule.when:
        return INSIDE
    if event.args_error is not None:
        return Truth(holds=None, why="its arguments are not JSON, so the guard cannot be evaluated")
    truth, condition = all_hold(rule.when, event.args)
    if truth.holds is None and condition is not None:
        return Truth(holds=None, why=f"guard on {condition.arg}: {truth.why}")
    return truth


def _violation(rule: CompiledRule, now: State, event: Event) -> tuple[str, bool]:
    """Why a concerned call violates the rule, empty when it does not; and whether that is an evaluation error."""
    stated = rule.rule
    if rule.unconditional:
        return "is prohibited", False
    why, error = _requirement(stated, event)
    if why:
        return why, error
    if stated.after is not None and not now.after:
        return f"no {_describe(stated.after)} came before its message", False
    if stated.never_after is not None and now.never_after:
        return f"comes after {_describe(stated.never_after)}", False
    if stated.never_with is not None and (now.with_now or _completes(stated, now, event)):
        return f"shares its message with {_describe(stated.never_with)}", False
    return _over_limit(stated, now, event), False


def _requirement(rule: Rule, event: Event) -> tuple[str, bool]:
    if not rule.require:
        return "", False
    if event.args_error is not None:
        return "its arguments are not JSON", True
    truth, condition = all_hold(rule.require, event.args)
    if truth.holds or condition is None:
        return "", False
    said = truth.why or "it is missing"
    return f"argument {condition.arg} does not meet `{condition.op}`: {said}", truth.holds is None


def _over_limit(rule: Rule, now: State, event: Event) -> str:
    limit = rule.limit
    if limit is None or not _counts(rule, event):
        return ""
    before = now.count_turn if limit.scope == "turn" else now.count_session
    if before < limit.max:
        return ""
    scope = "one message" if limit.scope == "turn" else "the session"
    return f"is call {before + 1} in {scope} where at most {limit.max} may be"


def _completes(rule: Rule, now: State, event: Event) -> bool:
    """Whether this is the `never_with` event of a call that already stands in the message: order must not matter."""
    return now.concerned_now and _is_event(rule, rule.never_with, event)


def _counts(rule: Rule, event: Event) -> bool:
    return rule.limit is None or rule.limit.count == "attempted" or _happened(event)


def _happened(event: Event) -> bool:
    """A call that was blocked or not run is an attempt, but nothing that later calls can rest on."""
    return event.kind == "message" or event.executed in ("yes", "unknown")


def _is_event(rule: Rule, ref: EventRef | None, event: Event) -> bool:
    if ref is None or ref.event != event.kind or rule.by not in ("any", event.by):
        return False
    return ref.tool is None or _named(rule, (ref.tool,), event.name)


def _named(rule: Rule, patterns: tuple[str, ...], name: str) -> bool:
    if name in patterns or "*" in patterns:
        return True
    return rule.glob and any(fnmatchcase(name, pattern) for pattern in patterns)


def _references(rule: Rule) -> tuple[EventRef, ...]:
    return tuple(ref for ref in (rule.after, rule.never_after, rule.never_with) if ref is not None)


def _describe(ref: EventRef) -> str:
    if ref.event == "message":
        return "released text"
    return f"call of {ref.tool}" if ref.tool else "other call"


def _decision(rule: Rule, why: str, *, error: bool) -> Decision:
    return Decision(effect=rule.effect, reason=f"rule {rule.id}: {why}", error=error)
