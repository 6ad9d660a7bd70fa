"""Missing, unreadable and contradicting verdicts make an interval, never a hole and never a pass."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from scored import average, cell, criterion, graded, scored, suite, task, ungraded


def test_errors_stay_in_the_denominator() -> None:
    """Q12 (a): 80 right, 10 wrong, 10 errors are 80 % of 100, at most 90 %, and 88.9 % only of the 90 graded."""
    standard = suite(*(task(f"t{n}", criterion("C1")) for n in range(100)))
    rows = [graded(f"t{n}", "C1", 1 if n < 80 else 0) for n in range(90)]
    rows += [ungraded(f"t{n}", "C1", "error") for n in range(90, 100)]
    table = scored(standard, rows)
    assert table.completion.value == pytest.approx(0.8)
    assert (table.completion.low, table.completion.high) == (pytest.approx(0.8), pytest.approx(0.9))
    assert (table.pass_rate.complete, table.pass_rate.of) == (80, 100)
    assert average(table).graded_mean == pytest.approx(80 / 90)
    assert (average(table).n_verdicts, average(table).assigned) == (90, 100)
    assert table.exit_code == 1


def test_repeats_are_a_range_where_verdicts_are_missing() -> None:
    """Three trials, one right, one wrong, one unknown: of C(3,2) = 3 pairs none is surely right, one could be."""
    standard = suite(task("t", criterion("C1"), trials=3))
    table = scored(
        standard, [graded("t", "C1", 1), graded("t", "C1", 0, 2), ungraded("t", "C1", "unknown", 3)]
    )
    first, second = table.pass_hat_k["1"], table.pass_hat_k["2"]
    assert (first.value, first.low, first.high) == (pytest.approx(1 / 3), first.value, pytest.approx(2 / 3))
    assert (second.value, second.low, second.high) == (0.0, 0.0, pytest.approx(1 / 3))
    at_two = table.pass_at_k[
        "2"
    ]  # of 3 pairs: surely 2 hold the right one; all do if the unknown is right too
    assert (at_two.low, at_two.high) == (pytest.approx(2 / 3), 1.0)


def test_nothing_evaluated_is_no_pass_hat_k() -> None:
    table = scored(suite(task("t", criterion("C1"), trials=2)), [])
    assert {(score.low, score.high) for score in table.pass_hat_k.values()} == {(0.0, 1.0)}


def test_graded_mean_is_never_the_headline() -> None:
    """Q12 (b): five answers at 0.9 and five errors are 0.45 to 0.95, with 0.9 over 5 of 10."""
    standard = suite(*(task(f"t{n}", criterion("C1", pass_mark=0.5)) for n in range(10)), at_least=0.4)
    rows = [graded(f"t{n}", "C1", 0.9) for n in range(5)] + [
        ungraded(f"t{n}", "C1", "error") for n in range(5, 10)
    ]
    found = scored(standard, rows)
    assert average(found).value == average(found).low == pytest.approx(0.45)
    assert average(found).high == pytest.approx(0.95)
    assert average(found).graded_mean == pytest.approx(0.9)
    assert (average(found).n_verdicts, average(found).assigned) == (5, 10)
    assert found.completion.low == 0.5 and found.completion.high == 1.0
    assert found.exit_code == 0, "the declared bar of 0.4 is reached whatever is missing"


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_non_finite_scores_are_errors(value: str) -> None:
    """Q13: NaN and infinities are refused at entry; the mean is over the graded, with its coverage."""
    from steelyard.grading.rows import read_row
    from steelyard.scoring import score

    standard = suite(task("t", *(criterion(f"C{n}", pass_mark=0.7) for n in range(5))))
    bad = f'{{"task": "t", "criterion": "C0", "status": "graded", "score": {value}}}'
    lines = [
        bad,
        bad.replace("C0", "C1"),
        '{"task": "t", "criterion": "C2", "status": "graded", "score": null}',
    ]
    lines += ['{"task": "t", "criterion": "C3", "status": "graded", "score": 0.9}']
    lines += ['{"task": "t", "criterion": "C4", "status": "graded", "score": 0.8}']
    table = score(standard, [read_row(f"rows:{n}", line.encode()) for n, line in enumerate(lines)])  # type: ignore[misc]
    assert average(table).graded_mean == pytest.approx(0.85)
    assert (average(table).n_verdicts, average(table).assigned) == (2, 5)
    assert cell(table, "t", "C0").failure_tag == "non_finite"
    assert cell(table, "t", "C0").outcome == "error"
    assert table.exit_code == 3
    json.loads(msgspec.json.encode(table), parse_constant=lambda word: pytest.fail(f"{word} in the output"))


def test_a_task_with_only_errors_is_null_and_no_success() -> None:
    """Q13: nothing graded gives a null value; low and high still span 0 to 1, and the run is incomplete."""
    table = scored(suite(task("t", criterion("C1"))), [graded("t", "C1", 1.5)])
    assert average(table).value is None
    assert (average(table).low, average(table).high) == (0.0, 1.0)
    assert table.completion.value == 0.0 and table.completion.high == 1.0
    assert (table.decision, table.exit_code) == ("INCOMPLETE", 3)


@pytest.mark.parametrize("score", [85, -0.2, 1.0000001, 9.2e124, "0.8", True, None, [1], {}])
def test_a_score_outside_the_scale_is_an_error(score: Any) -> None:
    """Never clamped, never rescaled, no text and no truth value taken for a number."""
    standard = suite(*(task(f"t{n}", criterion("C1")) for n in range(4)))
    rows = [graded("t0", "C1", score), graded("t1", "C1", 1), graded("t2", "C1", 1), graded("t3", "C1", 0)]
    table = scored(standard, rows)
    assert cell(table, "t0", "C1").status == "error"
    assert average(table).graded_mean == pytest.approx(2 / 3)
    assert (average(table).n_verdicts, average(table).assigned) == (3, 4)


def test_no_rows_at_all_is_nothing_evaluated() -> None:
    """Q18: an empty record is no success and no failure."""
    table = scored(suite(task("t", criterion("C1"))), [])
    assert average(table).value is None
    assert table.exit_code == 4


@pytest.mark.parametrize("status", ["unknown", "error", "skipped"])
def test_a_status_without_a_grade_never_completes(status: str) -> None:
    table = scored(suite(task("t", criterion("C1"))), [ungraded("t", "C1", status)])
    assert table.completion.value == 0.0
    assert table.exit_code == 3


def test_equal_rows_count_once_and_different_rows_are_an_error() -> None:
    standard = suite(task("t", criterion("C1"), criterion("C2")))
    rows = [graded("t", "C1", 1), graded("t", "C1", 1), graded("t", "C2", 1), graded("t", "C2", 0)]
    table = scored(standard, rows)
    assert cell(table, "t", "C1").outcome == "pass"
    assert (cell(table, "t", "C2").status, cell(table, "t", "C2").failure_tag) == ("error", "conflict")
    assert "duplicate_rows" in {notice.code for notice in table.notices}


def test_a_row_of_no_known_task_or_criterion_is_named() -> None:
    table = scored(
        suite(task("lookup", criterion("C1"))), [graded("lookpu", "C1", 1), graded("lookup", "C9", 1)]
    )
    details = [notice.detail for notice in table.notices if notice.code == "unmatched_row"]
    assert any("'lookpu'" in detail and "did you mean 'lookup'" in detail for detail in details)
    assert any("'C9'" in detail for detail in details)
    assert average(table).value is None


def test_only_faults_leave_one_empty_trial_that_holds_the_votes() -> None:
    standard = suite(task("a", criterion("C1")), task("b", criterion("C1")))
    fault = {"task": "b", "trial": 1, "ended_by": "infrastructure_fault"}
    table = scored(standard, [graded("a", "C1", 1), graded("b", "C1", 1), fault])
    assert (average(table).low, average(table).high) == (0.5, 1.0)
    assert (table.completion.low, table.completion.high) == (0.5, 1.0)
    assert (table.pass_rate.complete, table.pass_rate.of, table.pass_rate.strict) == (1, 1, 0.5)
    assert table.faults == {"infrastructure": 1, "simulator": 0}
    assert table.pass_hat_k["1"].n_tasks == 1


def test_a_planned_trial_without_a_record_is_not_passed() -> None:
    table = scored(suite(task("a", criterion("C1"), trials=2)), [graded("a", "C1", 1)])
    assert (table.completion.low, table.completion.high) == (0.5, 1.0)
    assert table.pass_hat_k["2"].value == 0.0
    assert table.exit_code == 3
    assert "missing_trials" in {notice.code for notice in table.notices}


@pytest.mark.parametrize(("tasks", "notices"), [(3, 3), (4, 1), (40, 1)])
def test_missing_trials_are_counted_and_beyond_a_few_tasks_told_in_one_sentence(
    tasks: int, notices: int
) -> None:
    standard = suite(*(task(f"t{number:02}", criterion("C1"), trials=3) for number in range(tasks)))
    table = scored(standard, [graded("t00", "C1", 1)])
    told = [notice for notice in table.notices if notice.code == "missing_trials"]
    assert table.missing_trials == 3 * tasks - 1
    assert table.completion.trials.of == 3 * tasks
    assert len(told) == notices
    if notices == 1:
        assert f"{3 * tasks - 1} planned trials, in {tasks} tasks (first: 't00')" in told[0].detail


def test_an_empty_trial_beside_faults_is_no_missing_one() -> None:
    fault = {"task": "b", "trial": 1, "ended_by": "infrastructure_fault"}
    assert scored(suite(task("b", criterion("C1"))), [fault]).missing_trials == 0
    planned = scored(suite(task("b", criterion("C1"), trials=3)), [fault])
    assert planned.missing_trials == 2


def test_contradicting_trial_rows_do_not_complete() -> None:
    rows = [
        graded("a", "C1", 1),
        {"task": "a", "trial": 1, "ended_by": "agent_stop"},
        {"task": "a", "trial": 1, "ended_by": "infrastructure_fault"},
    ]
    table = scored(suite(task("a", criterion("C1"))), rows)
    assert table.completion.value == 0.0
    assert "conflicting_trial_rows" in {notice.code for notice in table.notices}


@pytest.mark.parametrize("ended_by", ["max_turns", "budget", "agent_error", "cancelled", "something_else"])
def test_a_trial_that_did_not_stop_by_itself_is_not_complete(ended_by: str) -> None:
    rows = [graded("a", "C1", 1), {"task": "a", "trial": 1, "ended_by": ended_by}]
    table = scored(suite(task("a", criterion("C1"))), rows)
    assert (table.completion.low, table.completion.high) == (0.0, 0.0)
    allowed = suite(task("a", criterion("C1"), complete_when={"ended_by": ["max_turns"]}))
    assert scored(allowed, rows).completion.value == (1.0 if ended_by == "max_turns" else 0.0)


def test_a_judged_criterion_takes_no_fraction() -> None:
    judged = {**criterion("C1", pass_mark=0.5), "judge": {}}
    del judged["check"]
    table = scored(suite(task("t", judged)), [graded("t", "C1", 0.5, graders=[{"kind": "human"}])])
    assert (cell(table, "t", "C1").status, cell(table, "t", "C1").failure_tag) == ("error", "judge_fraction")


def test_a_task_and_a_slice_where_nothing_was_graded_have_no_value() -> None:
    standard = suite(
        task("a", criterion("C1"), tags={"kind": "x"}), task("b", criterion("C1"), tags={"kind": "y"})
    )
    table = scored(standard, [ungraded("a", "C1", "unknown"), graded("b", "C1", 1)])
    assert table.tasks[0].correctness == {"value": None, "low": 0.0, "high": 1.0}
    assert table.tasks[0].trials[0].dimensions == {"correctness": None}
    assert table.slices["kind"]["x"]["dimensions"]["correctness"] == {
        "value": None, "low": 0.0, "high": 1.0, "n_tasks": 1,
    }  # fmt: skip


def test_the_pass_rate_s_interval_spans_what_is_missing() -> None:
    standard = suite(*(task(f"t{n}", criterion("C1")) for n in range(100)))
    table = scored(standard, [graded(f"t{n}", "C1", int(n < 80)) for n in range(90)])
    ci = table.pass_rate.ci
    assert (
        ci is not None
        and ci.low == pytest.approx(0.7112, abs=5e-5)
        and ci.high == pytest.approx(0.9448, abs=5e-5)
    )


def test_trial_rows_that_differ_only_in_a_measurement_leave_the_ending_alone() -> None:
    rows = [
        graded("a", "C1", 1),
        {"task": "a", "trial": 1, "ended_by": "agent_stop", "measurements": {"seconds": 1}},
        {"task": "a", "trial": 1, "ended_by": "agent_stop", "measurements": {"seconds": 2}},
    ]
    table = scored(suite(task("a", criterion("C1"))), rows)
    assert table.completion.value == 1.0
    assert table.measurements == {}


@pytest.mark.parametrize(
    ("written", "mark", "passes"),
    [
        ("0.99999999999999999999", 1, False),
        ("0.69999999999999999", 0.7, False),
        ("0.70000000000000000000", 0.7, True),
        ("0.33333333333333331", 0.3, True),
    ],
)
def test_scores_stay_on_the_side_of_the_mark_that_was_written(
    written: str, mark: float, passes: bool
) -> None:
    from steelyard.grading.rows import read_row
    from steelyard.scoring import score

    line = f'{{"task": "t", "criterion": "C1", "status": "graded", "score": {written}}}'
    row = read_row("rows:1", line.encode())
    table = score(suite(task("t", criterion("C1", pass_mark=mark))), [row])  # type: ignore[list-item]
    assert (table.completion.value == 1.0) is passes


def test_a_score_just_above_one_is_refused() -> None:
    from steelyard.grading.rows import read_row

    line = b'{"task": "t", "criterion": "C1", "status": "graded", "score": 1.00000000000000000000001}'
    assert read_row("rows:1", line).error == "out_of_range"  # type: ignore[union-attr]


def test_the_order_of_repeated_rows_changes_nothing() -> None:
    standard = suite(task("t", criterion("C1")))
    one, other = graded("t", "C1", 1), graded("t", "C1", 0)
    assert (
        scored(standard, [one, one, other])
        == scored(standard, [one, other, one])
        == scored(standard, [other, one, one])
    )
    first = {"task": "t", "trial": 1, "ended_by": "agent_stop"}
    second = {"task": "t", "trial": 1, "ended_by": "budget"}
    rows = [first, first, second], [first, second, first], [second, first, first]
    assert len({str(scored(standard, [one, *three])) for three in rows}) == 1


def test_a_task_whose_acceptance_asks_nothing_completes_nothing() -> None:
    """The loader refuses such a standard; a record that was built by hand is no pass either."""
    import msgspec

    standard = suite(task("t", criterion("C1"), criterion("G1", "grounding")))
    bare = msgspec.structs.replace(
        standard.tasks[0],
        complete_when=msgspec.structs.replace(standard.tasks[0].complete_when, dimensions=(), gates=False),
    )
    table = scored(
        msgspec.structs.replace(standard, tasks=(bare,)), [graded("t", "C1", 1), graded("t", "G1", 1)]
    )
    assert (table.completion.low, table.completion.high, table.exit_code) == (0.0, 0.0, 1)


def test_only_faulted_trials_are_incomplete_and_not_nothing() -> None:
    fault = {"task": "t", "trial": 1, "ended_by": "infrastructure_fault"}
    assert scored(suite(task("t", criterion("C1"))), [fault]).exit_code == 3
