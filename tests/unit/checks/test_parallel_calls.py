"""Calls of one message have no order among themselves: no order of them in the record changes a verdict."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from steelyard.checks import grader_for
from steelyard.model.checks import CallsCheck, EqualsCheck, ExpectedCall
from steelyard.model.standard import Criterion, Task
from steelyard.model.verdict import Finding, Score, Undecided
from steelyard.ports.grader import GraderInput
from unit.checks.trials import call, said, trace_of

ABC = [call("a", {"n": 1}), call("b", {"n": 2}), call("c", {"n": 3})]


def grade(spec: Any, *messages: Any) -> Finding:
    criterion = Criterion(id="C1", dimension="correctness", layer="outcome", rule="MUST", check=spec)
    task = Task(id="t", prompt="", criteria=(criterion,))
    return grader_for(spec).grade(
        spec, GraderInput(task=task, criterion=criterion, trace=trace_of(*messages))
    )


def expected(*names: str, mode: Any = "exact") -> CallsCheck:
    return CallsCheck(expected=tuple(ExpectedCall(name=name) for name in names), mode=mode)


def passes(finding: Finding) -> bool:
    return isinstance(finding, Score) and finding.value == 1


@pytest.mark.parametrize("mode", ["exact", "in_order", "any_order", "at_least", "only_from", "each"])
@pytest.mark.parametrize("order", list(permutations(ABC)))
def test_one_message_with_three_calls_fits_in_any_order(mode: str, order: tuple[Any, ...]) -> None:
    assert passes(grade(expected("a", "b", "c", mode=mode), list(order), said("done")))


def test_messages_keep_their_order() -> None:
    wanted = expected("a", "b", "c")
    assert passes(grade(wanted, [ABC[1], ABC[0]], ABC[2]))
    assert not passes(grade(wanted, ABC[2], [ABC[1], ABC[0]]))
    assert not passes(grade(expected("a", "b", mode="in_order"), ABC[1], [ABC[0], ABC[2]]))


def test_a_message_takes_as_many_expected_calls_as_it_can() -> None:
    wanted = expected("a", "b", "a", mode="in_order")
    assert passes(grade(wanted, [call("b"), call("a"), call("x")], call("a")))
    assert passes(grade(wanted, [call("a"), call("b"), call("a")]))
    assert not passes(grade(wanted, [call("b"), call("a")], call("b")))


def test_a_value_that_parallel_calls_state_differently_is_undecided() -> None:
    first, second = call("a", {"n": 1}), call("a", {"n": 2})
    assert isinstance(grade(EqualsCheck(of="call:a/args/n", value=2), [first, second]), Undecided)
    assert isinstance(grade(EqualsCheck(of="call:a/args/n", value=2), [second, first]), Undecided)
    assert passes(grade(EqualsCheck(of="call:a/args/n", value=2), first, second))
    assert passes(grade(EqualsCheck(of="call:a/args/n", value=1), [first, call("a", {"n": 1})]))
