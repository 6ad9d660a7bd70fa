"""Skips follow from `needs`, whatever a row says."""

from __future__ import annotations

import pytest

from scored import average, cell, criterion, graded, scored, suite, task, ungraded


def chain(dimension: str = "correctness", **settings: object) -> object:
    return suite(
        task("t", criterion("C1"), criterion("C2", dimension, needs=["C1"], **settings), criterion("C3"))
    )


def test_a_skip_by_a_fail_earns_nothing_in_correctness() -> None:
    table = scored(chain(), [graded("t", "C1", 0), graded("t", "C2", 1), graded("t", "C3", 1)])  # type: ignore[arg-type]
    assert (cell(table, "t", "C2").status, cell(table, "t", "C2").cause) == ("skipped", "fail")
    assert (average(table).low, average(table).high) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert cell(table, "t", "C2").failure_tag is None
    failure = table.tasks[0].trials[0].failure
    assert failure is not None and failure["criterion"] == "C1"


def test_a_skip_by_a_fail_leaves_the_mean_of_an_auxiliary_dimension() -> None:
    table = scored(chain("grounding"), [graded("t", "C1", 0), graded("t", "C2", 1), graded("t", "C3", 1)])  # type: ignore[arg-type]
    grounding = table.dimensions["grounding"]
    assert grounding.task_average.value is None
    assert (grounding.task_average.n_tasks, grounding.coverage.tasks, grounding.coverage.of) == (0, 1, 1)


@pytest.mark.parametrize("status", ["unknown", "error"])
def test_a_skip_by_something_undecided_counts_zero_to_one(status: str) -> None:
    table = scored(chain(), [ungraded("t", "C1", status), graded("t", "C2", 1), graded("t", "C3", 1)])  # type: ignore[arg-type]
    assert cell(table, "t", "C2").cause == "undecided"
    assert (average(table).low, average(table).high) == (pytest.approx(1 / 3), 1.0)
    assert table.completion.high == 1.0


def test_causes_run_down_the_chain() -> None:
    standard = suite(
        task(
            "t",
            criterion("C1"),
            criterion("C2", needs=["C1"]),
            criterion("C3", needs=["C2"]),
            criterion("C4", needs=["C1", "C0"]) if False else criterion("C4", needs=["C3"]),
        )
    )
    failed = scored(standard, [graded("t", "C1", 0)])
    assert [cell(failed, "t", f"C{n}").cause for n in (2, 3, 4)] == ["fail"] * 3
    opened = scored(standard, [ungraded("t", "C1", "unknown")])
    assert [cell(opened, "t", f"C{n}").cause for n in (2, 3, 4)] == ["undecided"] * 3


def test_a_recorded_skip_is_no_way_to_delete_a_verdict() -> None:
    standard = suite(task("t", criterion("C1"), criterion("C2", needs=["C1"])))
    table = scored(standard, [ungraded("t", "C1", "skipped"), graded("t", "C2", 1)])
    assert cell(table, "t", "C1").status == "error"
    held = scored(standard, [graded("t", "C1", 1), ungraded("t", "C2", "skipped")])
    assert (cell(held, "t", "C2").status, cell(held, "t", "C2").cause) == ("skipped", "undecided")
    assert held.exit_code == 3


def test_a_gate_that_was_skipped_is_no_pass() -> None:
    standard = suite(task("t", criterion("C1"), criterion("A1", "authority", needs=["C1"], gate=True)), at_least=0.1,
                     primary="dimension:correctness")  # fmt: skip
    table = scored(standard, [graded("t", "C1", 0.5), graded("t", "A1", 1)])
    assert table.tasks[0].trials[0].gates == {"A1": "skipped"}
    assert table.exit_code == 3
