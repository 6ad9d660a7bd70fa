"""What a what-if says moved."""

from __future__ import annotations

import json

from scored import criterion, graded, suite, task, ungraded
from steelyard import app
from steelyard.grading.rows import read_row
from steelyard.report.changes import changes


def test_ranges_and_open_trials_are_said_as_in_a_scoreboard() -> None:
    standard = suite(
        task("t", criterion("C1"), criterion("P1", "process"), trials=2), task("u", criterion("C1"))
    )
    book = [
        graded("t", "C1", 1), graded("t", "P1", 1), graded("t", "C1", 0, 2), ungraded("t", "P1", "unknown", 2),
        graded("u", "C1", 1),
    ]  # fmt: skip
    run = app.score_rows(standard, [read_row("row", json.dumps(row).encode()) for row in book], full=True)
    after = run.what_if(app.changes(run, sets=["t#2/C1=1"], gates=["t/P1"]))
    found = changes(run.scores, after.scores)
    assert found.trials == ("t#2: not complete → open",)
    assert after.scores.moved is not None
    assert after.scores.moved.trials == 1
    (rate,) = [change for change in found.headlines if change.label == "pass rate"]
    assert (rate.old, rate.new, rate.difference) == ("66.7 %", "66.7–100.0 %", "high +33.3")
