"""Errors of a mean over units with weights, strata and clusters."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.stats import mean_interval, standard_error, weighted_mean

GROUPS = [1.0] * 50 + [0.0] * 50 + [1.0] * 9 + [0.0]
GROUP_NAMES = ["large"] * 100 + ["small"] * 10
EQUAL_SHARES = [0.5 / 100] * 100 + [0.5 / 10] * 10

scores = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 0.9, 1.0]) | st.floats(0.0, 1.0)
votes = st.sampled_from([0.0, 0.1, 1.0, 2.5]) | st.floats(0.01, 100.0)
labels = st.sampled_from("abc")
units = st.lists(st.tuples(scores, votes, labels, st.integers(0, 12)), min_size=1, max_size=40)
Unit = tuple[float, float, str, int]


def columns(rows: list[Unit]) -> tuple[list[float], dict[str, Any]]:
    values, weights, strata, clusters = (list(column) for column in zip(*rows, strict=True))
    return values, {"weights": weights, "strata": strata, "clusters": clusters}


@pytest.fixture(scope="module")
def airline(shared_dir: Path) -> list[tuple[int, float]]:
    rows = json.loads((shared_dir / "data/taubench/gpt-4o-airline.json").read_text(encoding="utf-8"))
    return [(row["task_id"], row["reward"]) for row in rows]


def test_the_airline_runs_clustered_by_task(airline: list[tuple[int, float]]) -> None:
    ids, rewards = [i for i, _ in airline], [reward for _, reward in airline]
    assert weighted_mean(rewards) == pytest.approx(0.42, abs=1e-12)
    assert standard_error(rewards, population=True) == pytest.approx(0.0348998567, abs=1e-9)
    assert standard_error(rewards, clusters=ids) == pytest.approx(0.0522161911, abs=1e-9)
    assert standard_error(rewards, clusters=ids, population=True) == pytest.approx(0.0516913919, abs=1e-9)
    interval = mean_interval(rewards, clusters=ids)
    assert (interval.n, interval.df, interval.status, interval.method) == (50, 49.0, "ok", "t")
    assert interval.low == pytest.approx(0.42 - scipy.stats.t.ppf(0.975, 49) * 0.0522161911, abs=1e-8)


def test_task_means_give_what_clustered_trials_give(airline: list[tuple[int, float]]) -> None:
    by_task: dict[int, list[float]] = defaultdict(list)
    for task, reward in airline:
        by_task[task].append(reward)
    means = [statistics.fmean(rewards) for rewards in by_task.values()]
    assert standard_error(means) == pytest.approx(0.0522161911, abs=1e-9)
    assert standard_error(means) == pytest.approx(statistics.stdev(means) / math.sqrt(50), rel=1e-12)


def test_equal_shares_of_unequal_groups_are_stratified_not_reweighted() -> None:
    interval = mean_interval(GROUPS, weights=EQUAL_SHARES, strata=GROUP_NAMES)
    by_hand = math.sqrt(
        0.25 * statistics.variance(GROUPS[:100]) / 100 + 0.25 * statistics.variance(GROUPS[100:]) / 10
    )
    assert weighted_mean(GROUPS, weights=EQUAL_SHARES) == pytest.approx(0.7, abs=1e-12)
    assert interval.se == pytest.approx(by_hand, rel=1e-12)
    assert interval.se == pytest.approx(0.0560, abs=5e-5)
    assert (interval.n, interval.method, interval.status) == (110, "t_stratified", "ok")


def test_declared_weights_without_strata_use_the_linearised_form() -> None:
    values, weights = [1.0, 0.0, 0.5, 1.0], [1.0, 2.0, 3.0, 4.0]
    shares = [w / 10 for w in weights]
    mean = sum(w * x for w, x in zip(shares, values, strict=True))
    terms = [(w * (x - mean)) ** 2 for w, x in zip(shares, values, strict=True)]
    assert standard_error(values, weights=weights) == pytest.approx(math.sqrt(4 / 3 * sum(terms)), rel=1e-12)
    assert standard_error(values, weights=weights, population=True) == pytest.approx(math.sqrt(sum(terms)))


@given(st.lists(scores, min_size=2, max_size=60))
def test_unweighted_units_agree_with_scipy(values: list[float]) -> None:
    assume(statistics.stdev(values) > 1e-6)
    interval = mean_interval(values)
    assert interval.se == pytest.approx(float(scipy.stats.sem(values)), rel=1e-9)
    low, high = scipy.stats.t.interval(0.95, len(values) - 1, statistics.fmean(values), interval.se)
    assert (interval.low, interval.high) == pytest.approx((max(0.0, low), min(1.0, high)), rel=1e-9)


@given(units)
def test_weighted_clusters_agree_with_statsmodels(rows: list[Unit]) -> None:
    rows = [row for row in rows if row[1] > 0.0]
    assume(len({cluster for *_, cluster in rows}) >= 2)
    values, given_columns = columns(rows)
    del given_columns["strata"]
    error = standard_error(values, **given_columns)
    assume(error is not None and error > 1e-6)
    model = sm.WLS(values, np.ones(len(values)), weights=np.array(given_columns["weights"]))
    groups = np.array(given_columns["clusters"])
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True})
    assert error == pytest.approx(float(fit.bse[0]), rel=1e-7)
    assert weighted_mean(values, weights=given_columns["weights"]) == pytest.approx(float(fit.params[0]))


@given(st.lists(scores, min_size=2, max_size=20), st.lists(scores, min_size=2, max_size=20))
def test_two_equal_strata_have_the_degrees_of_freedom_of_welch(
    first: list[float], second: list[float]
) -> None:
    assume(statistics.stdev(first) + statistics.stdev(second) > 1e-3)
    interval = mean_interval(
        first + second,
        weights=[1 / len(first)] * len(first) + [1 / len(second)] * len(second),
        strata=[1] * len(first) + [2] * len(second),
    )
    welch_variance = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    parts = [(statistics.variance(group) / len(group), len(group) - 1) for group in (first, second)]
    welch_df = welch_variance**2 / sum(part**2 / free for part, free in parts)
    assert interval.se == pytest.approx(math.sqrt(welch_variance) / 2, rel=1e-9)
    assert interval.df == pytest.approx(welch_df, rel=1e-9)


def test_welch_degrees_of_freedom_against_scipy() -> None:
    first, second = [0.1, 0.4, 0.35, 0.8], [0.9, 0.7, 1.0, 0.95, 0.6, 0.99]
    expected = scipy.stats.ttest_ind(first, second, equal_var=False).df
    interval = mean_interval(
        first + second, weights=[1 / 4] * 4 + [1 / 6] * 6, strata=["first"] * 4 + ["second"] * 6
    )
    assert interval.df == pytest.approx(float(expected), rel=1e-12)


@given(units, st.randoms(use_true_random=False))
def test_the_order_of_units_changes_no_bit(rows: list[Unit], random: Any) -> None:
    values, given_columns = columns(rows)
    shuffled = list(rows)
    random.shuffle(shuffled)
    other_values, other_columns = columns(shuffled)
    assert mean_interval(values, **given_columns) == mean_interval(other_values, **other_columns)
    assert weighted_mean(values, weights=given_columns["weights"]) == weighted_mean(
        other_values, weights=other_columns["weights"]
    )


@given(units, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_every_number_is_finite_and_in_range(rows: list[Unit], confidence: float) -> None:
    values, given_columns = columns(rows)
    interval = mean_interval(values, confidence=confidence, **given_columns)
    mean = weighted_mean(values, weights=given_columns["weights"])
    if interval.status in {"ok", "too_few"}:
        assert interval.low is not None
        assert interval.high is not None
        assert mean is not None
        assert 0.0 <= interval.low <= mean <= interval.high <= 1.0
        assert interval.low < interval.high
    else:
        assert (interval.low, interval.high, interval.se, interval.df) == (None, None, None, None)
    assert interval.se == standard_error(values, **given_columns)


@given(units, st.floats(1e-6, 1e6))
def test_only_relative_weights_matter(rows: list[Unit], factor: float) -> None:
    values, given_columns = columns(rows)
    before = mean_interval(values, **given_columns)
    given_columns["weights"] = [weight * factor for weight in given_columns["weights"]]
    after = mean_interval(values, **given_columns)
    assume(before.status == after.status)  # rounding may cross the effective number 10 itself
    assert (after.n, after.low, after.high) == pytest.approx((before.n, before.low, before.high), abs=1e-9)


@given(units, st.floats(0.0, 1.0))
def test_a_unit_of_weight_zero_takes_no_part(rows: list[Unit], value: float) -> None:
    values, given_columns = columns(rows)
    expected = mean_interval(values, **given_columns)
    more_values, more_columns = columns([*rows, (value, 0.0, "z", 99)])
    assert mean_interval(more_values, **more_columns) == expected


@given(st.lists(st.tuples(scores, st.integers(0, 5)), min_size=2, max_size=30))
def test_names_of_strata_and_clusters_do_not_matter(rows: list[tuple[float, int]]) -> None:
    values = [value for value, _ in rows]
    clusters = [cluster for _, cluster in rows]
    renamed = [("cluster", -cluster) for cluster in clusters]
    assert mean_interval(values, clusters=clusters, strata=["x"] * len(rows)) == mean_interval(
        values, clusters=renamed
    )


def test_positively_correlated_trials_make_the_error_larger() -> None:
    values, tasks = [1.0, 1.0, 0.0, 0.0] * 3, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    clustered, naive = standard_error(values, clusters=tasks), standard_error(values)
    assert clustered is not None
    assert naive is not None
    assert clustered > 1.4 * naive


def test_a_cluster_across_strata_makes_one_stratum_of_the_variance() -> None:
    values = [1.0, 0.0, 1.0, 0.0, 0.5, 0.5, 1.0]
    strata = ["a", "a", "a", "b", "b", "b", "b"]
    clusters = [1, 2, 3, 1, 4, 5, 6]
    mean_a, mean_b = 2 / 3, 0.5
    totals = [(1 - mean_a) + (0 - mean_b), 0 - mean_a, 1 - mean_a, 0.5 - mean_b, 0.5 - mean_b, 1 - mean_b]
    expected = math.sqrt(6 / 5 * sum((z / 7) ** 2 for z in totals))
    interval = mean_interval(values, strata=strata, clusters=clusters)
    assert interval.se == pytest.approx(expected, rel=1e-12)
    assert (interval.n, interval.df, interval.method, interval.status) == (6, 5.0, "t", "too_few")


@pytest.mark.parametrize(
    ("values", "options", "n"),
    [
        ([0.5], {}, 1),
        ([1.0, 0.0], {"clusters": ["same", "same"]}, 1),
        ([1.0, 0.0], {"weights": [1.0, 0.0]}, 1),
        ([0.4, 0.4, 0.4], {}, 3),
        ([0.1] * 30, {}, 30),
        ([1.0] * 30, {}, 30),
        ([0.0, 0.3, 0.1, 0.2], {"clusters": ["x", "x", "y", "y"]}, 2),
        ([1.0, 0.0, 1.0], {"strata": ["a", "a", "alone"]}, 3),
        ([1.0, 0.0, 1.0, 0.5], {"strata": ["a", "a", "b", "b"], "clusters": [1, 2, 3, 3]}, 3),
        ([1.0, 0.0, 1.0], {"strata": ["a", "a", "alone"], "clusters": [1, 2, 1]}, 2),
        ([1.0, 0.0, 0.5], {"weights": [1.0, 1e-9, 1e-9]}, 3),
    ],
)
def test_what_cannot_be_estimated_says_so(values: list[float], options: dict[str, Any], n: int) -> None:
    interval = mean_interval(values, **options)
    assert (interval.low, interval.high, interval.se, interval.df) == (None, None, None, None)
    assert (interval.status, interval.n) == ("not_estimable", n)
    assert standard_error(values, **options) is None


@pytest.mark.parametrize(("values", "options"), [([], {}), ([0.5, 1.0], {"weights": [0.0, 0.0]})])
def test_no_unit_with_a_weight_is_no_data(values: list[float], options: dict[str, Any]) -> None:
    interval = mean_interval(values, **options)
    assert (interval.low, interval.high, interval.status, interval.n) == (None, None, "no_data", 0)
    assert weighted_mean(values, **options) is None
    assert standard_error(values, **options) is None


def test_fewer_than_ten_clusters_are_too_few_but_have_numbers() -> None:
    nine, ten = mean_interval([0.0, 1.0, 0.5] * 3), mean_interval([0.0, 1.0, 0.5] * 3 + [0.5])
    assert (nine.status, ten.status) == ("too_few", "ok")
    assert nine.low is not None
    assert nine.n_effective == pytest.approx(9.0)


def test_few_effective_units_are_too_few_however_many_there_are() -> None:
    interval = mean_interval([0.0, 1.0, 0.5] * 10, weights=[10.0] * 3 + [0.01] * 27)
    assert (interval.status, interval.n) == ("too_few", 30)
    assert interval.n_effective == pytest.approx(3.0, abs=0.1)


def test_weights_of_any_size_are_taken() -> None:
    huge = mean_interval([0.0, 1.0, 0.5, 0.25], weights=[1e308] * 4)
    assert huge == mean_interval([0.0, 1.0, 0.5, 0.25], weights=[1e-300] * 4)
    assert huge.se == pytest.approx(float(scipy.stats.sem([0.0, 1.0, 0.5, 0.25])))


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([0.5, math.nan], {}),
        ([0.5, math.inf], {}),
        ([0.5, 1.1], {}),
        ([0.5, -0.1], {}),
        ([0.5, "1"], {}),
        ([0.5, None], {}),
        ([0.5, 1.0], {"weights": [1.0, -1.0]}),
        ([0.5, 1.0], {"weights": [1.0, math.nan]}),
        ([0.5, 1.0], {"weights": [1.0, math.inf]}),
        ([0.5, 1.0], {"weights": [1.0]}),
        ([0.5, 1.0], {"strata": ["a"]}),
        ([0.5, 1.0], {"clusters": ["a", "b", "c"]}),
    ],
)
def test_bad_input_is_refused(values: list[Any], options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|needs"):
        mean_interval(values, **options)
    with pytest.raises(ValueError, match=r"must|needs"):
        standard_error(values, **options)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, math.nan])
def test_a_confidence_outside_the_open_unit_interval_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence level"):
        mean_interval([0.0, 1.0], confidence=confidence)
