"""The golden example of the design: two dashboards from the same nine verdicts, and what would change them."""

from __future__ import annotations

from typing import Any

import pytest

from scored import average, cell, criterion, graded, read, scored, suite, task
from steelyard.scoring import apply_changes, parse_change, score

AUTHORITY = {"gate": True}
VERDICTS = {
    "checkout": {"C1": 1, "C2": 1, "C3": 0, "G1": 1, "A1": 1},
    "lookup": {"C1": 1, "C2": 1, "G1": 0, "A1": 1},
    "csv": {"C1": 1, "C2": 0, "C3": 0, "C4": 1, "A1": 0},
}


def _dimension(name: str) -> str:
    return {"C": "correctness", "G": "grounding", "A": "authority"}[name[0]]


def golden() -> Any:
    return suite(
        *(
            task(name, *(criterion(entry, _dimension(entry), gate=entry == "A1") for entry in verdicts))
            for name, verdicts in VERDICTS.items()
        )
    )


def rows() -> list[dict[str, Any]]:
    return [
        graded(name, entry, value) for name, verdicts in VERDICTS.items() for entry, value in verdicts.items()
    ]


def test_the_two_averages_and_completion() -> None:
    table = scored(golden(), rows())
    assert average(table).value == pytest.approx(13 / 18, abs=1e-15)
    assert table.dimensions["correctness"].pooled.value == pytest.approx(6 / 9, abs=1e-15)
    assert average(table, "authority").value == pytest.approx(2 / 3, abs=1e-15)
    grounding = table.dimensions["grounding"]
    assert grounding.task_average.value == 0.5
    assert (grounding.coverage.tasks, grounding.coverage.of) == (2, 3)
    assert table.completion.value == pytest.approx(1 / 3)
    assert (table.completion.trials.complete, table.completion.trials.of) == (1, 3)
    assert table.dimensions["authority"].gate_violations == 1
    assert (table.decision, table.exit_code) == ("FAIL", 1)


def test_votes_explain_the_two_averages() -> None:
    table = scored(golden(), rows())
    by_task = {"checkout": 1 / 9, "lookup": 1 / 6, "csv": 1 / 12}
    for name, vote in by_task.items():
        votes = cell(table, name, "C1").votes
        assert votes["correctness.task_average"] == pytest.approx(vote)
        assert votes["correctness.pooled"] == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    ("kind", "text", "correctness", "pooled", "authority", "complete"),
    [
        ("set", "checkout/C3=1", 15 / 18, 7 / 9, 2 / 3, 2),
        ("set", "csv/A1=1", 13 / 18, 6 / 9, 1.0, 1),
        ("weight", "lookup=2", 19 / 24, 6 / 9, 3 / 4, 1),
        ("weight", "csv=2", 2 / 3, 6 / 9, 1 / 2, 1),
        ("gate", "lookup/G1", 13 / 18, 6 / 9, 2 / 3, 0),
    ],
)
def test_what_if(
    kind: Any, text: str, correctness: float, pooled: float, authority: float, complete: int
) -> None:
    standard = golden()
    changed, replaced = apply_changes(standard, read(rows()), [parse_change(kind, text, standard)])
    table = score(changed, replaced)
    assert average(table).value == pytest.approx(correctness, abs=1e-15)
    assert table.dimensions["correctness"].pooled.value == pytest.approx(pooled, abs=1e-15)
    assert average(table, "authority").value == pytest.approx(authority, abs=1e-15)
    assert table.completion.trials.complete == complete
    assert score(standard, read(rows())) == scored(golden(), rows()), "a what-if leaves the record as it was"
