"""Intervals of one proportion: published bounds, statsmodels, and the laws they obey."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from steelyard.stats import (
    Interval,
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
    wilson,
)

IntervalOf = Callable[..., Interval]
ALL = [wilson, clopper_pearson, clopper_pearson_lower, clopper_pearson_upper]
TWO_SIDED = [wilson, clopper_pearson]

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999])


def bounds(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (19, 20, 0.7639, 0.9911),
        (1, 3, 0.0615, 0.7923),
        (1, 1, 0.2065, 1.0),
        (38, 38, 0.9082, 1.0),
    ],
)
def test_wilson_gives_the_published_bounds(k: int, n: int, low: float, high: float) -> None:
    assert bounds(wilson(k, n)) == pytest.approx((low, high), abs=5.1e-5)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"), [(81, 263, 0.2527, 0.3676), (0, 20, 0.0, 0.1684), (90, 100, 0.8238, 0.9510)]
)
def test_clopper_pearson_gives_the_published_bounds(k: int, n: int, low: float, high: float) -> None:
    assert bounds(clopper_pearson(k, n)) == pytest.approx((low, high), abs=5.1e-5)


@given(counts, levels)
def test_two_sided_bounds_agree_with_statsmodels(count: tuple[int, int], level: float) -> None:
    for function, name in ((wilson, "wilson"), (clopper_pearson, "beta")):
        expected = proportion_confint(*count, alpha=1.0 - level, method=name)
        assert bounds(function(*count, level)) == pytest.approx(expected, rel=1e-10, abs=1e-12)


@given(counts, levels)
def test_a_one_sided_bound_is_the_two_sided_one_at_half_the_error(
    count: tuple[int, int], level: float
) -> None:
    low, high = proportion_confint(*count, alpha=2.0 * (1.0 - level), method="beta")
    assert bounds(clopper_pearson_lower(*count, level)) == pytest.approx((low, 1.0), rel=1e-10, abs=1e-12)
    assert bounds(clopper_pearson_upper(*count, level)) == pytest.approx((0.0, high), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("function", ALL)
@given(count=counts, level=st.floats(0.001, 0.999999))
def test_bounds_enclose_the_rate_and_never_leave_the_unit_interval(
    function: IntervalOf, count: tuple[int, int], level: float
) -> None:
    k, n = count
    # A one-sided bound at a confidence below one half lies on the far side of the rate.
    level = max(level, 0.51)
    low, high = bounds(function(k, n, level))
    assert 0.0 <= low <= k / n <= high <= 1.0
    assert low < high


@pytest.mark.parametrize("function", ALL)
@given(n=st.integers(1, 10_000_000), level=levels)
def test_bounds_are_exact_at_the_edges(function: IntervalOf, n: int, level: float) -> None:
    assert bounds(function(0, n, level))[0] == 0.0
    assert bounds(function(n, n, level))[1] == 1.0


@pytest.mark.parametrize("function", ALL)
@given(n=st.integers(1, 150))
def test_bounds_rise_with_the_number_of_successes(function: IntervalOf, n: int) -> None:
    lows, highs = zip(*(bounds(function(k, n)) for k in range(n + 1)), strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs)


@pytest.mark.parametrize("function", TWO_SIDED)
@given(count=counts)
def test_successes_and_failures_mirror_each_other(function: IntervalOf, count: tuple[int, int]) -> None:
    k, n = count
    low, high = bounds(function(k, n))
    assert bounds(function(n - k, n)) == pytest.approx((1.0 - high, 1.0 - low), abs=1e-12)


@pytest.mark.parametrize("function", ALL)
def test_no_observation_has_no_interval(function: IntervalOf) -> None:
    interval = function(0, 0)
    assert (interval.low, interval.high, interval.status, interval.n) == (None, None, "no_data", 0)


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    ("k", "n", "level"),
    [
        (2, 1, 0.95),
        (-1, 3, 0.95),
        (0, -1, 0.95),
        (0.5, 3, 0.95),
        (True, 3, 0.95),
        (math.nan, 3, 0.95),
        ("1", 3, 0.95),
        (1, 3, 0.0),
        (1, 3, 1.0),
        (1, 3, math.nan),
        (1, 3, 95),
        (1, 3, "0.95"),
        (1, 3, None),
    ],
)
def test_senseless_arguments_are_refused(function: IntervalOf, k: Any, n: Any, level: Any) -> None:
    with pytest.raises(ValueError, match=r"must|cannot"):
        function(k, n, level)


@pytest.mark.parametrize(
    ("low", "high"), [(math.nan, 1.0), (0.0, math.inf), (0.5, None), (None, 0.5), (0.6, 0.5)]
)
def test_an_interval_record_refuses_impossible_bounds(low: float | None, high: float | None) -> None:
    with pytest.raises(ValueError, match=r"finite|both bounds|lies above"):
        Interval(low=low, high=high, method="any", status="ok", n=1)
