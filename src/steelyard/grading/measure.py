"""Measurements of one trial in their own units: what the recording states, and what its steps count."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.evidence import agent_calls, results_of
from steelyard.model.trace import Step, Trace


def measurements(trace: Trace) -> dict[str, float]:
    """`tool_calls`, `turns` (messages of the agent) and `recoveries` counted where the format can hold them.

    A recovery is a changed call to the same tool after an error of it. What the recording itself states comes first.
    """
    found: dict[str, float] = {}
    if trace.fidelity.has_tool_calls:
        calls = agent_calls(trace)
        found["tool_calls"] = float(len(calls))
        if trace.fidelity.has_tool_results:
            found["recoveries"] = float(_recoveries(trace, calls)) if calls else 0.0
    spoken = {step.turn for step in trace.steps if step.role == "assistant" and step.kind in _SPOKEN}
    found["turns"] = float(len(spoken))
    if trace.measurements:
        found.update(trace.measurements)
    return found


def _recoveries(trace: Trace, calls: Sequence[Step]) -> int:
    """Calls issued side by side in one message are no recoveries of each other: the error came after all of them."""
    results = results_of(trace)
    failed: dict[str, tuple[int, object]] = {}
    count = 0
    for step in calls:
        call = step.call
        if call is None:
            continue
        answer = results.get(step.id)
        wrong = answer is not None and answer.result is not None and answer.result.outcome in _WRONG
        if not wrong and not failed:
            continue
        asked = (call.args, call.args_raw if call.args_error else None)
        if call.name in failed and failed[call.name][0] < step.seq:
            count += failed.pop(call.name)[1] != asked
        if wrong and answer is not None:
            failed[call.name] = (answer.seq, asked)
    return count


_WRONG = ("error", "timeout")
_SPOKEN = ("assistant", "tool_call")
