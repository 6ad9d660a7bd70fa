"""What the steps of a trace hold as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from steelyard.model.trace import Fidelity, Step


class Traits(NamedTuple):
    """What a trace's steps hold, and the agent's last message."""

    called: bool
    timed: bool
    used: bool
    prompted: bool
    final: str | None


def traits_of(steps: Iterable[Step]) -> Traits:
    """One look at every step."""
    called = timed = used = prompted = False
    final: str | None = None
    for step in steps:
        called = called or step.call is not None
        timed = timed or step.started_at is not None
        used = used or step.usage is not None
        if step.kind == "system":
            prompted = True
        elif step.kind == "assistant" and step.role == "assistant":
            final = step.id
    return Traits(called, timed, used, prompted, final)


@cache
def fidelity_of(
    complete: bool, calls: bool, results: bool, times: bool, used: bool, prompted: bool
) -> Fidelity:
    """The record of that; there are few different ones."""
    return Fidelity(
        complete=complete,
        has_tool_calls=calls,
        has_tool_results=results,
        has_times=times,
        has_usage=used,
        has_system_prompt=prompted,
    )
