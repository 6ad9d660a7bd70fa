"""A run too large to list: what is said of it counts every verdict, not those that the table holds."""

from __future__ import annotations

import json

from scored import criterion, graded, read, suite, task
from steelyard.app.run import Run
from steelyard.grading.log import RowLog
from steelyard.report import junit_xml, score_json, scoreboard
from steelyard.report.failures import failures
from steelyard.report.hidden import hidden, ungraded
from steelyard.report.junit import MOST_CHARACTERS
from steelyard.scoring import parse_change

TRIALS = 4_000


def a_run() -> Run:
    """Two tasks of 4,000 trials: a third fails C1, half fail G1, a tenth lacks G2, and a gate is open in nine."""
    standard = suite(
        *(
            task(
                name, criterion("C1", failure_tag="WRONG"), criterion("G1", "grounding"), criterion("G2", "grounding"),
                criterion("A1", "authority", gate=True),
            )
            for name in "ab"
        )
    )  # fmt: skip
    rows = []
    for name in "ab":
        for trial in range(1, TRIALS + 1):
            rows.append(graded(name, "C1", int(trial % 3 != 0), trial))
            rows.append(graded(name, "G1", trial % 2, trial, reason="no record"))
            if trial % 10:
                rows.append(graded(name, "G2", 1, trial))
            if trial > 9 or name == "b":
                rows.append(graded(name, "A1", 1, trial))
    return Run(suite=standard, rows=RowLog(read(rows)))


def test_every_count_is_that_of_the_whole_run() -> None:
    table = a_run().scores
    assert table.left_out is not None and table.left_out.incomplete_trials > 0
    complete = table.completion.trials.complete
    assert complete == sum(
        trial % 3 != 0 and (name == "b" or trial > 9) for name in "ab" for trial in range(1, TRIALS + 1)
    )
    found = failures(table)
    assert [(cause.outcome, cause.criterion, cause.times, cause.tasks) for cause in found.shown] == [
        ("error", "A1", 9, 1), ("fail", "C1", 2 * (TRIALS // 3), 2),
    ]  # fmt: skip
    assert found.total == 9 + 2 * (TRIALS // 3)
    assert "grounding 4,000" in found.footnotes[-1]
    (first,) = hidden(table)
    assert (first.criterion, first.of) == ("G1", complete)
    assert first.times == sum(
        trial % 2 == 0 and trial % 3 != 0 and (name == "b" or trial > 9)
        for name in "ab"
        for trial in range(1, TRIALS + 1)
    )
    assert [(line.criterion, line.what, line.times) for line in ungraded(table)] == [
        ("G2", "missing_row", 800)
    ]
    board = scoreboard(table)
    assert "gate: 9 ?" in board and "at least" not in board
    assert f"{table.left_out.incomplete_trials:,} more trials not complete, without detail here" in board


def test_json_and_junit_say_what_they_leave_out() -> None:
    table = a_run().scores
    shown = json.loads(score_json(table))
    assert "tasks" not in shown and shown["causes"]["total"] == 9 + 2 * (TRIALS // 3)
    assert shown["left_out"]["incomplete_trials"] == table.left_out.incomplete_trials  # type: ignore[union-attr]
    assert "more trials that are not complete; --full has them" in junit_xml(table)


def test_a_what_if_counts_what_it_moved_wherever_it_is() -> None:
    run = a_run()
    after = run.what_if([parse_change("set", "b/C1=1", run.suite)])
    assert after.scores.moved is not None
    assert (after.scores.moved.verdicts, after.scores.moved.trials) == (TRIALS // 3, TRIALS // 3)
    low, high = after.headlines["correctness"]
    assert low == high == after.scores.dimensions["correctness"].task_average.low
    assert run.headlines["correctness"][0] != low
    assert len(after.rows) == len(run.rows) and after.find("b", 3, "C1")[0].score == 1.0  # type: ignore[union-attr]


def test_a_reason_of_many_megabytes_is_cut_for_a_ci_server() -> None:
    standard = suite(task("a", criterion("C1")))
    table = Run(suite=standard, rows=read([graded("a", "C1", 0, reason="x" * 10_000_000)])).scores
    assert MOST_CHARACTERS < len(junit_xml(table)) < 2 * MOST_CHARACTERS
