"""Small trials for tests of checks and rules: a list of messages becomes a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.checks import grader_for
from steelyard.model.standard import Criterion, Fact, Task
from steelyard.model.trace import Call, Fidelity, Part, Result, Source, Step, Trace, Visibility
from steelyard.model.verdict import Finding
from steelyard.ports.grader import GraderInput

Entry = dict[str, Any]


def said(text: str, *, role: str = "assistant", visible: str = "released") -> Entry:
    """A message's text."""
    return {"text": text, "role": role, "visible": visible}


def call(name: str, args: Any = None, **more: Any) -> Entry:
    """An attempted call; `args` defaults to `{}`. `result`: what the tool gave back, a step of its own."""
    return {
        "call": name,
        "args": {} if args is None else args,
        "role": "assistant",
        "visible": "released",
        **more,
    }


def trace_of(*messages: Entry | list[Entry], **fields: Any) -> Trace:
    """A trace with one turn per argument; a list is one message with several parts."""
    steps: list[Step] = []
    aliases = 0
    turn = 0
    for message in messages:
        parts = message if isinstance(message, list) else [message]
        results = []
        for part in parts:
            steps.append(_step(part, len(steps), turn))
            if "result" in part:
                results.append((steps[-1].id, part["result"], part.get("outcome", "ok")))
        for call_id, value, outcome in results:
            turn += 1
            aliases += 1
            steps.append(_result(call_id, value, outcome, len(steps), turn, aliases))
        turn += 1
    return Trace(id="t", source=Source(format="test", importer="test"), steps=tuple(steps), **fields)


def _step(part: Entry, position: int, turn: int) -> Step:
    base = {
        "id": f"s{position + 1:04d}",
        "uid": f"u{position + 1}",
        "seq": position,
        "turn": part.get("turn", turn),
        "role": part["role"],
        "visibility": Visibility(kind=part["visible"]),
        "agent_id": part.get("agent"),
    }
    times = {key: part[key] for key in ("started_at", "ended_at", "clock", "usage") if key in part}
    if "call" in part:
        error = part.get("error")
        attempted = Call(
            name=part["call"],
            args=None if error else part["args"],
            args_error=error,
            executed=part.get("executed", "unknown"),
        )
        return Step(kind="tool_call", call=attempted, **base, **times)
    return Step(kind=part["role"], parts=(Part(kind="text", text=part["text"]),), **base, **times)


def _result(call_id: str, value: Any, outcome: str, position: int, turn: int, alias: int) -> Step:
    return Step(
        id=f"s{position + 1:04d}",
        uid=f"u{position + 1}",
        seq=position,
        turn=turn,
        kind="tool_result",
        role="tool",
        alias=f"e{alias}",
        result=Result(call_step_id=call_id, value=value, outcome=outcome),
    )


CRITERION = Criterion(id="C1", dimension="correctness", layer="outcome", rule="The answer MUST be right.")


def given(
    trace: Trace, *, facts: Mapping[str, Fact] | None = None, extracted: Mapping[str, Any] | None = None
) -> GraderInput:
    task = Task(id="task", prompt="Do it.", criteria=(CRITERION,), facts=facts or {})
    return GraderInput(task=task, criterion=CRITERION, trace=trace, extracted=extracted or {})


def grade(spec: Any, trace: Trace, **more: Any) -> Finding:
    return grader_for(spec).grade(spec, given(trace, **more))


def verdict(spec: Any, trace: Trace, **more: Any) -> Any:
    """The score as a number, or None where the check is undecided."""
    finding = grade(spec, trace, **more)
    return getattr(finding, "value", None)


INCOMPLETE = Fidelity(complete=False)
NO_CALLS = Fidelity(has_tool_calls=False)
