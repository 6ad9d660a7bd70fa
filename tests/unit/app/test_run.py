"""A run: its scores follow from suite and rows, and lost records keep it from passing."""

from __future__ import annotations

from typing import Any

import pytest

from scored import criterion, graded, read, suite, task, ungraded
from steelyard.app.run import Run
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import TrialRow
from steelyard.scoring import parse_change

STANDARD = suite(task("a", criterion("C1"), criterion("A1", "authority", gate=True)))
LOST = Quarantined(where="t.jsonl:3", reason="cut off")
PASSING = [graded("a", "C1", 1), graded("a", "A1", 1)]


def run(rows: list[dict[str, Any]], **settings: Any) -> Run:
    return Run(suite=STANDARD, rows=read(rows), **settings)


OUTCOMES: list[tuple[list[dict[str, Any]], int, int]] = [
    (PASSING, 0, 3),
    ([graded("a", "C1", 0), graded("a", "A1", 1)], 1, 1),
    ([graded("a", "C1", 1), graded("a", "A1", 0)], 1, 1),
    ([graded("a", "C1", 1), ungraded("a", "A1", "unknown")], 3, 3),
    ([], 4, 4),
]


@pytest.mark.parametrize(("rows", "whole", "lossy"), OUTCOMES)
def test_lost_records_turn_a_pass_into_incomplete_and_change_nothing_else(
    rows: list[dict[str, Any]], whole: int, lossy: int
) -> None:
    """Q65, Q18."""
    complete, damaged = run(rows).scores, run(rows, lost=[LOST]).scores
    assert (complete.exit_code, damaged.exit_code) == (whole, lossy)
    assert (damaged.decision == "INCOMPLETE") == (lossy in (3, 4))
    assert damaged.dimensions == complete.dimensions
    told = [notice for notice in damaged.notices if notice.code == "lost_records"]
    assert len(told) == (whole == 0)


def test_notices_of_traces_stand_before_those_of_scoring() -> None:
    own = ScoreNotice(code="quarantined", detail="t.jsonl:3: cut off")
    table = run([*PASSING, PASSING[0]], lost=[LOST], notices=[own]).scores
    assert [notice.code for notice in table.notices] == ["lost_records", "quarantined", "duplicate_rows"]


def test_verdicts_leave_trial_rows_out() -> None:
    made = run([{"task": "a", "ended_by": "agent_stop"}, *PASSING])
    assert len(made.rows) == 3
    assert [row.criterion for row in made.verdicts] == ["C1", "A1"]
    assert isinstance(made.rows[0], TrialRow)


def test_scores_are_computed_once() -> None:
    made = run(PASSING)
    assert made.scores is made.scores


def test_what_if_changes_a_copy_and_keeps_what_was_lost() -> None:
    made = run([graded("a", "C1", 0), graded("a", "A1", 1)], lost=[LOST], full=True)
    changed = made.what_if([parse_change("set", "a/C1=1", made.suite)])
    assert changed.scores.whatif == ("--set a/C1=1",)
    assert changed.scores.completion.value == 1.0
    assert (changed.scores.exit_code, changed.lost, changed.full) == (3, (LOST,), True)
    assert (made.scores.exit_code, made.scores.completion.value, made.scores.whatif) == (1, 0.0, ())


def test_beyond_ten_thousand_rows_only_incomplete_tasks_are_listed_unless_asked() -> None:
    standard = suite(task("a", criterion("C1")), task("b", criterion("C1")))
    rows = read([graded("a", "C1", 1, trial) for trial in range(1, 10_001)] + [graded("b", "C1", 0)])
    short, whole = Run(suite=standard, rows=rows).scores, Run(suite=standard, rows=rows, full=True).scores
    assert short.dimensions == whole.dimensions
    assert [len(each.trials) for each in whole.tasks] == [10_000, 1]
    assert sum(len(each.trials) for each in short.tasks) < 10_001


def test_errored_samples_stay_in_the_denominator() -> None:
    """Q12: 80 right, 10 wrong and 10 errors are 80 %, and 88.9 % only beside its coverage."""
    names = [f"t{number:03}" for number in range(100)]
    standard = suite(*(task(name, criterion("C1")) for name in names))
    rows = [graded(name, "C1", 1) for name in names[:80]] + [graded(name, "C1", 0) for name in names[80:90]]
    table = Run(
        suite=standard, rows=read(rows + [ungraded(name, "C1", "error") for name in names[90:]])
    ).scores
    average = table.dimensions["correctness"].task_average
    assert (average.value, average.low, average.high) == (0.8, 0.8, pytest.approx(0.9))
    assert (average.n_verdicts, average.assigned) == (90, 100)
    assert average.graded_mean == pytest.approx(80 / 90)
    assert (table.pass_rate.value, table.pass_rate.complete, table.pass_rate.of) == (0.8, 80, 100)


def test_a_judge_that_fails_on_the_hard_ones_does_not_lift_the_score() -> None:
    """Q12, Q13: half graded 0.9 and half not at all is 0.45 to 0.95, and blocked, not passed."""
    names = [f"t{number}" for number in range(10)]
    tasks = (task(name, criterion("C1", pass_mark=0.5)) for name in names)
    standard = suite(*tasks, primary="dimension:correctness", at_least=0.7)
    rows = [graded(name, "C1", 0.9) for name in names[:5]]
    rows += [ungraded(name, "C1", "error") for name in names[5:]]
    table = Run(suite=standard, rows=read(rows)).scores
    average = table.dimensions["correctness"].task_average
    assert (average.low, average.high, average.graded_mean) == tuple(map(pytest.approx, (0.45, 0.95, 0.9)))
    assert table.exit_code == 3
