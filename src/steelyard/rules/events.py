"""What a rule sees of a trial: attempted calls and messages, nothing else."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from steelyard.model.evidence import agent_calls
from steelyard.model.trace import Executed, Step, Trace


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An attempted call, or a message that reached the other side.

    `turn` is the message that it stands in: events of one turn have no order among themselves. `args` is any JSON
    value; with `args_error` the arguments could not be read. `step` is the step's id in a recorded trace.
    """

    turn: int
    kind: Literal["tool_call", "message"] = "tool_call"
    by: Literal["assistant", "user"] = "assistant"
    name: str = ""
    args: Any = None
    args_error: str | None = None
    executed: Executed = "unknown"
    step: str | None = None


def events_of(trace: Trace) -> tuple[Event, ...]:
    """The events of a recorded trace, one message after the other, its text before its calls.

    Calls count as attempted: denied ones and those of rejected drafts are there. Messages count when they were
    released and hold text that is not blank. Copied context, examples and synthetic steps are no events.
    """
    attempted = {step.id for step in agent_calls(trace, by="any")}
    turns: dict[int, tuple[list[Event], list[Event]]] = {}
    for step in trace.steps:
        if step.kind == "tool_call" and step.id in attempted:
            turns.setdefault(step.turn, ([], []))[1].append(_call_event(step))
        elif _is_message(step):
            turns.setdefault(step.turn, ([], []))[0].append(_message_event(step))
    return tuple(event for messages, calls in turns.values() for event in (*messages, *calls))


def _is_message(step: Step) -> bool:
    return (
        step.kind in ("assistant", "user") and step.visibility.kind == "released" and bool(step.text.strip())
    )


def _message_event(step: Step) -> Event:
    return Event(turn=step.turn, kind="message", by=_party(step), step=step.id)


def _call_event(step: Step) -> Event:
    call = step.call
    if call is None:
        raise ValueError(f"Step {step.id} holds no call.")
    return Event(
        turn=step.turn,
        by=_party(step),
        name=call.name,
        args=call.args,
        args_error=call.args_error,
        executed=call.executed,
        step=step.id,
    )


def _party(step: Step) -> Literal["assistant", "user"]:
    # A caller that the source leaves open counts as the agent: a prohibition must not lapse for want of a label.
    return "user" if step.role == "user" else "assistant"
