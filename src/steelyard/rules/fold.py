"""A rule over a whole recorded trial: the fold of `decide` and `step`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from steelyard.rules.automaton import CompiledRule, Decision, decide, initial, step
from steelyard.rules.events import Event


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One violation: the event that completed it, and what the rule decided."""

    event: Event
    decision: Decision


def hits(rule: CompiledRule, events: Iterable[Event]) -> Iterator[Hit]:
    """Every hit in order. A hit does not end the fold: later attempts are judged against all earlier ones."""
    state = initial(rule)
    for event in events:
        decision = decide(rule, state, event)
        if decision.effect != "none":
            yield Hit(event=event, decision=decision)
        state = step(rule, state, event)
