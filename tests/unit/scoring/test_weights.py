"""What votes: weights of criteria, tasks and groups, and the intervals that go with them."""

from __future__ import annotations

import pytest

from scored import average, cell, criterion, graded, scored, suite, task


def test_criterion_weights_and_weight_zero() -> None:
    """Q22: 3 pass and 1 fail are 0.75; a weight of 0 is shown and changes nothing."""
    standard = suite(
        task("t", criterion("C1", weight=3), criterion("C2", weight=1), criterion("C3", weight=0))
    )
    rows = [graded("t", "C1", 1), graded("t", "C2", 0), graded("t", "C3", 1)]
    table = scored(standard, rows)
    assert average(table).value == 0.75
    assert (cell(table, "t", "C3").outcome, cell(table, "t", "C3").score) == ("pass", 1.0)
    assert cell(table, "t", "C3").votes["correctness.task_average"] == 0.0
    assert table.dimensions["correctness"].pooled.value == 0.5
    other = scored(standard, [*rows[:2], graded("t", "C3", 0)])
    assert average(other).value == 0.75


def test_shares_by_tag_give_each_group_its_share() -> None:
    """Q15 (b): 50 of 100 and 9 of 10 with equal shares are .700 with SE .0560, not the pooled .536 with .0466."""
    tasks = [task(f"x{n}", criterion("C1"), tags={"kind": "x"}) for n in range(100)]
    tasks += [task(f"y{n}", criterion("C1"), tags={"kind": "y"}) for n in range(10)]
    standard = suite(*tasks, weights={"by": "kind", "shares": {"x": 0.5, "y": 0.5}, "basis": "traffic"})
    rows = [graded(f"x{n}", "C1", int(n < 50)) for n in range(100)] + [
        graded(f"y{n}", "C1", int(n < 9)) for n in range(10)
    ]
    table = scored(standard, rows)
    assert average(table).value == pytest.approx(0.7)
    assert average(table).ci is not None and average(table).ci.se == pytest.approx(0.0560, abs=5e-5)  # type: ignore[union-attr]
    assert table.dimensions["correctness"].pooled.value == pytest.approx(59 / 110)
    assert "kind" in table.weights and "traffic" in table.weights
    assert table.slices["kind"]["x"]["n_tasks"] == 100


def test_shares_renormalise_over_groups_that_have_the_dimension() -> None:
    tasks = [
        task("a", criterion("C1"), criterion("G1", "grounding"), tags={"kind": "x"}),
        task("b", criterion("C1"), tags={"kind": "y"}),
    ]
    standard = suite(*tasks, weights={"by": "kind", "shares": {"x": 0.25, "y": 0.75}})
    table = scored(standard, [graded("a", "C1", 1), graded("a", "G1", 1), graded("b", "C1", 0)])
    assert average(table).value == 0.25
    assert average(table, "grounding").value == 1.0


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (1, 1, 0.2065, 1.0),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (19, 20, 0.7639, 0.9911),
        (38, 38, 0.9082, 1.0),
    ],
)
def test_intervals_of_rates_stay_inside_the_scale(k: int, n: int, low: float, high: float) -> None:
    """Q52: Wilson, exactly inside [0, 1], with no standard error that pretends to know."""
    standard = suite(*(task(f"t{index}", criterion("C1")) for index in range(n)))
    table = scored(standard, [graded(f"t{index}", "C1", int(index < k)) for index in range(n)])
    ci = table.completion.ci
    assert (ci.low, ci.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert ci.low is not None and ci.high is not None and 0.0 <= ci.low <= ci.high <= 1.0
    assert ci.se is None


def test_the_mean_of_one_task_is_not_estimable() -> None:
    """Q52: one task with a fraction has no spread to estimate from."""
    table = scored(
        suite(task("t", criterion("C1"), criterion("C2"))), [graded("t", "C1", 1), graded("t", "C2", 0)]
    )
    ci = average(table).ci
    assert ci is not None and (ci.low, ci.high, ci.se, ci.status) == (None, None, None, "not_estimable")


def test_exact_comparison_at_the_bar() -> None:
    """Thirds that sum to the bar reach it; a bar of 0.7 is reached by 7 of 10."""
    thirds = suite(
        task("a", *(criterion(f"C{n}") for n in range(3))),
        task("b", *(criterion(f"C{n}") for n in range(3))),
        primary="dimension:correctness", at_least=0.5,
    )  # fmt: skip
    rows = [graded("a", f"C{n}", int(n < 1)) for n in range(3)] + [
        graded("b", f"C{n}", int(n < 2)) for n in range(3)
    ]
    assert scored(thirds, rows).exit_code == 0
    standard = suite(*(task(f"t{n}", criterion("C1")) for n in range(10)), at_least=0.7)
    assert scored(standard, [graded(f"t{n}", "C1", int(n < 7)) for n in range(10)]).exit_code == 0
    assert scored(standard, [graded(f"t{n}", "C1", int(n < 6)) for n in range(10)]).exit_code == 1


def test_pass_marks_compare_as_written() -> None:
    standard = suite(task("t", criterion("C1", pass_mark=0.7)))
    assert scored(standard, [graded("t", "C1", 0.7)]).completion.value == 1.0
    assert scored(standard, [graded("t", "C1", 0.6999999)]).completion.value == 0.0


def test_a_pass_mark_of_zero_is_report_only() -> None:
    """Q20: an explicit 0 is kept, shown as report only, and outside acceptance."""
    standard = suite(task("t", criterion("C1"), criterion("C2", pass_mark=0)))
    table = scored(standard, [graded("t", "C1", 1), graded("t", "C2", 0)])
    assert cell(table, "t", "C2").outcome == "report"
    assert not cell(table, "t", "C2").in_acceptance
    assert table.completion.value == 1.0
    assert average(table).value == 0.5


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"), [(5, 2, 1, 0.4), (5, 2, 2, 0.7), (5, 2, 3, 0.9), (5, 2, 4, 1.0)]
)
def test_pass_at_k_is_unbiased(n: int, c: int, k: int, expected: float) -> None:
    standard = suite(task("t", criterion("C1"), trials=n))
    table = scored(standard, [graded("t", "C1", int(trial <= c), trial) for trial in range(1, n + 1)])
    assert table.pass_at_k[str(k)].value == pytest.approx(expected, abs=1e-12)


def test_pass_hat_k_needs_k_trials() -> None:
    table = scored(suite(task("t", criterion("C1"))), [graded("t", "C1", 1)])
    assert (table.pass_hat_k["2"].value, table.pass_hat_k["2"].n_tasks) == (None, 0)
    assert table.pass_hat_k["2"].status == "too_few_trials"
