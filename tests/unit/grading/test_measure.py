"""Measurements of a trial: calls, turns, recoveries."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.grading.measure import measurements
from steelyard.model.trace import Fidelity
from unit.checks.trials import Entry, call, said, trace_of

BAD: dict[str, Any] = {"result": "no", "outcome": "error"}
GOOD: dict[str, Any] = {"result": "yes"}


def recoveries(*messages: Entry | list[Entry]) -> float:
    return measurements(trace_of(*messages))["recoveries"]


@pytest.mark.parametrize(
    ("messages", "count"),
    [
        ([], 0),
        ([call("a", {"x": 1}, **BAD)], 0),
        ([call("a", {"x": 1}, **GOOD), call("a", {"x": 2}, **GOOD)], 0),
        ([call("a", {"x": 1}, **BAD), call("a", {"x": 2}, **GOOD)], 1),
        ([call("a", {"x": 1}, **BAD), call("a", {"x": 1}, **GOOD)], 0),
        ([call("a", {"x": 1}, **BAD), call("b", {"x": 2}, **GOOD)], 0),
        ([call("a", {"x": 1}, **BAD), call("b", **GOOD), said("hm"), call("a", {"x": 2})], 1),
        ([call("a", {"x": 1}, **BAD), call("a", {"x": 2}, **BAD), call("a", {"x": 3}, **GOOD)], 2),
        ([call("a", {"x": 1}, **BAD), call("a", {"x": 2}, **GOOD), call("a", {"x": 3}, **GOOD)], 1),
        ([call("a", {"x": 1}, **BAD), call("a", {"x": 1}, **GOOD), call("a", {"x": 2}, **GOOD)], 0),
        ([call("a", {"x": 1}, result="?", outcome="timeout"), call("a", {"x": 2})], 1),
        ([call("a", {"x": 1}, result="?", outcome="denied"), call("a", {"x": 2})], 0),
        ([call("a", {"x": 1}, **BAD), call("a", {"x": 2}, role="user")], 0),
        ([call("a", error="cut off", **BAD), call("a", {"x": 2}, **GOOD)], 1),
        ([call("a", {"x": 1}), call("a", {"x": 2})], 0),
    ],
)
def test_a_recovery_is_a_changed_call_to_the_same_tool_after_its_error(
    messages: list[Entry], count: int
) -> None:
    assert recoveries(*messages) == count


def test_calls_issued_side_by_side_do_not_recover_each_other() -> None:
    side_by_side = [call("a", {"x": 1}, **BAD), call("a", {"x": 2}, **GOOD)]
    assert recoveries(side_by_side) == 0
    assert recoveries(side_by_side, call("a", {"x": 3}, **GOOD)) == 1
    assert recoveries([call("a", {"x": 1}, **BAD), call("a", {"x": 2}, **BAD)], call("a", {"x": 3})) == 1


def test_calls_and_turns_are_counted_where_the_format_can_hold_them() -> None:
    messages = [
        said("hello", role="user"),
        [said("let me"), call("a"), call("a")],
        call("b", role="user"),
        said("done"),
    ]
    assert measurements(trace_of(*messages)) == {"tool_calls": 2.0, "recoveries": 0.0, "turns": 2.0}
    blind = Fidelity(has_tool_results=False)
    assert measurements(trace_of(*messages, fidelity=blind)) == {"tool_calls": 2.0, "turns": 2.0}
    mute = Fidelity(has_tool_calls=False)
    assert measurements(trace_of(*messages, fidelity=mute)) == {"turns": 2.0}


def test_what_the_recording_states_comes_first() -> None:
    stated = {"tool_calls": 9.0, "seconds": 1.5}
    found = measurements(trace_of(call("a"), measurements=stated))
    assert (found["tool_calls"], found["seconds"], found["recoveries"]) == (9.0, 1.5, 0.0)
