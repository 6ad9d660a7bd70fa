"""Paired comparisons: exact McNemar and the mean difference."""

from __future__ import annotations

import math
from typing import Any

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from steelyard.stats import mcnemar_exact, paired_difference

scores = st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [(6, 0, 0.03125), (5, 0, 0.0625), (4, 0, 0.125), (1, 0, 1.0), (1, 1, 1.0), (0, 6, 0.03125)],
)
def test_mcnemar_reference_values(gained: int, lost: int, p: float) -> None:
    result = mcnemar_exact(gained, lost)
    assert (result.p_value, result.status, result.gained, result.lost) == (p, "ok", gained, lost)


@given(st.integers(0, 600), st.integers(0, 600))
def test_mcnemar_agrees_with_statsmodels_and_is_symmetric(gained: int, lost: int) -> None:
    result = mcnemar_exact(gained, lost)
    assert result.p_value == mcnemar_exact(lost, gained).p_value
    if gained + lost == 0:
        assert (result.p_value, result.status) == (None, "no_discordants")
    else:
        expected = float(mcnemar([[5, gained], [lost, 5]], exact=True).pvalue)
        assert result.p_value == pytest.approx(min(1.0, expected), rel=1e-9)


def test_large_counts_agree_with_the_exact_binomial_test() -> None:
    for gained, lost in ((510, 491), (60_000, 59_000), (10_000, 10_000), (0, 3000)):
        expected = float(scipy.stats.binomtest(gained, gained + lost).pvalue)
        assert mcnemar_exact(gained, lost).p_value == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_without_discordant_pairs_there_is_no_p_value() -> None:
    result = mcnemar_exact(0, 0)
    assert (result.p_value, result.status) == (None, "no_discordants")


@pytest.mark.parametrize(("gained", "lost"), [(-1, 2), (2, -1), (1.5, 0), (True, 0), (math.nan, 1), ("1", 1)])
def test_counts_that_are_no_counts_are_refused(gained: Any, lost: Any) -> None:
    with pytest.raises(ValueError, match="must"):
        mcnemar_exact(gained, lost)


@given(scores)
def test_the_difference_agrees_with_the_paired_t_test(pairs: list[tuple[float, float]]) -> None:
    before, after = [old for old, _ in pairs], [new for _, new in pairs]
    interval = paired_difference(before, after)
    if interval.se is None or interval.se < 1e-9:
        return
    expected = scipy.stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx(
        (max(-1.0, expected.low), min(1.0, expected.high)), rel=1e-8, abs=1e-12
    )


@given(scores)
def test_swapping_the_sides_mirrors_the_interval(pairs: list[tuple[float, float]]) -> None:
    before, after = [old for old, _ in pairs], [new for _, new in pairs]
    forth, back = paired_difference(before, after), paired_difference(after, before)
    assert (back.status, back.se) == (forth.status, forth.se)
    if forth.low is not None and forth.high is not None:
        assert (back.low, back.high) == (-forth.high, -forth.low)


@pytest.mark.parametrize("after", [[0.5, 0.5, 0.5], [0.9, 0.9, 0.9]])
def test_equal_differences_give_no_interval_without_width(after: list[float]) -> None:
    interval = paired_difference([0.5, 0.5, 0.5], after)
    assert (interval.low, interval.high, interval.status) == (None, None, "not_estimable")


def test_bad_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="one entry per value"):
        paired_difference([0.5], [0.5, 0.6])
    with pytest.raises(ValueError, match="Value 1 of after"):
        paired_difference([0.5, 0.5], [0.5, math.nan])
    with pytest.raises(ValueError, match="Value 0 of before"):
        paired_difference([-0.5, 0.5], [0.5, 0.5])
