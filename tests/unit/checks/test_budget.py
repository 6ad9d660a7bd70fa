"""budget: recorded or computed measurements against their bounds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from steelyard.errors import GraderError
from steelyard.model.checks import BudgetCheck
from steelyard.model.trace import Usage
from steelyard.model.verdict import Undecided
from unit.checks.trials import INCOMPLETE, NO_CALLS, call, grade, said, trace_of, verdict

D = Decimal
THREE = (call("f"), [call("f"), call("g")], said("done"))


def budget(**bounds: str) -> BudgetCheck:
    return BudgetCheck(**{name: D(bound) for name, bound in bounds.items()})


def test_counts_are_computed_from_the_steps() -> None:
    trace = trace_of(said("go", role="user"), *THREE)
    assert verdict(budget(tool_calls="3"), trace) == 1
    assert verdict(budget(tool_calls="2"), trace) == 0
    assert verdict(budget(turns="3"), trace) == 1
    assert verdict(budget(turns="2"), trace) == 0
    assert verdict(budget(tool_calls="3", turns="2"), trace) == 0


def test_recorded_measurements_come_first_and_are_exact() -> None:
    trace = trace_of(*THREE, measurements={"tool_calls": 9, "cost_usd": 0.3})
    assert verdict(budget(tool_calls="3"), trace) == 0
    assert verdict(budget(cost_usd="0.3"), trace) == 1
    assert verdict(budget(cost_usd="0.29"), trace) == 0


@pytest.mark.parametrize(
    ("value", "code"), [(float("nan"), "non_finite"), (float("inf"), "non_finite"), (-1, "out_of_range")]
)
def test_measurements_that_are_none(value: Any, code: str) -> None:
    with pytest.raises(GraderError) as raised:
        grade(budget(seconds="5"), trace_of(measurements={"seconds": value}))
    assert raised.value.code == code


def test_what_the_trace_lacks_is_undecided_unless_another_bound_is_exceeded() -> None:
    trace = trace_of(*THREE)
    for name in ("seconds", "tokens", "cost_usd"):
        finding = grade(budget(**{name: "5"}), trace)
        assert isinstance(finding, Undecided)
        assert name in finding.reason
    assert isinstance(grade(budget(seconds="5", tool_calls="3"), trace), Undecided)
    assert verdict(budget(seconds="5", tool_calls="2"), trace) == 0
    assert isinstance(grade(budget(tool_calls="3"), trace_of(fidelity=NO_CALLS)), Undecided)


def test_an_incomplete_record_can_only_exceed() -> None:
    trace = trace_of(*THREE, fidelity=INCOMPLETE)
    assert isinstance(grade(budget(tool_calls="3"), trace), Undecided)
    assert verdict(budget(tool_calls="2"), trace) == 0


def timed(clock: str, *times: str) -> Any:
    return trace_of(*({**said("x"), "started_at": time, "clock": clock} for time in times))


def test_seconds_need_utc() -> None:
    trace = timed("utc", "2030-03-01T10:00:00Z", "2030-03-01T11:00:41.5+01:00")
    assert verdict(budget(seconds="41.5"), trace) == 1
    assert verdict(budget(seconds="41.4"), trace) == 0
    assert isinstance(
        grade(budget(seconds="99"), timed("naive", "2030-03-01T10:00:00", "2030-03-01T10:00:01")), Undecided
    )
    assert isinstance(grade(budget(seconds="99"), timed("utc", "2030-03-01T10:00:00Z", "noon")), Undecided)
    assert isinstance(grade(budget(seconds="99"), timed("utc", "2030-03-01T10:00:00Z")), Undecided)


def test_usage_of_the_trace_or_of_all_its_steps() -> None:
    total = trace_of(usage=Usage(input_total=100, output=20, cost_usd=0.5))
    assert verdict(budget(tokens="120", cost_usd="0.5"), total) == 1
    assert verdict(budget(tokens="119"), total) == 0
    used = {**said("x"), "usage": Usage(input_total=50, output=10)}
    assert verdict(budget(tokens="120"), trace_of(used, used)) == 1
    partly = trace_of(used, {**said("x"), "usage": Usage(output=10)})
    assert isinstance(grade(budget(tokens="120"), partly), Undecided)
    assert verdict(budget(tokens="59"), partly) == 0
    assert isinstance(grade(budget(cost_usd="1"), trace_of(used)), Undecided)


def test_budgets_that_mean_nothing() -> None:
    for spec, code in (
        (BudgetCheck(), "empty_check"),
        (budget(seconds="-1"), "bad_check"),
        (budget(turns="NaN"), "bad_check"),
    ):
        with pytest.raises(GraderError) as raised:
            grade(spec, trace_of())
        assert raised.value.code == code
