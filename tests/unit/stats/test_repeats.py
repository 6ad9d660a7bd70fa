"""pass@k and pass^k: published values, exactness, and the laws between them."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k

counts = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def test_five_trials_with_two_passes() -> None:
    values = [pass_at_k(5, 2, k) for k in range(1, 6)]
    assert values == [Fraction(2, 5), Fraction(7, 10), Fraction(9, 10), 1, 1]
    assert [pass_hat_k(5, 2, k) for k in range(1, 6)] == [Fraction(2, 5), Fraction(1, 10), 0, 0, 0]


def test_the_airline_runs_give_the_published_curve(shared_dir: Path) -> None:
    rows = json.loads((shared_dir / "data/taubench/gpt-4o-airline.json").read_text(encoding="utf-8"))
    trials = Counter(row["task_id"] for row in rows)
    passes = Counter(row["task_id"] for row in rows if row["reward"] == 1.0)
    pairs = [(n, passes[task]) for task, n in trials.items()]
    hat = [mean_pass_hat_k(pairs, k) for k in range(1, 6)]
    at = [mean_pass_at_k(pairs, k) for k in range(1, 5)]
    assert [rate.value for rate in hat[:4]] == pytest.approx([0.42, 0.2733333333, 0.22, 0.2], abs=1e-9)
    assert [rate.value for rate in at] == pytest.approx([0.42, 0.5666666667, 0.66, 0.72], abs=1e-9)
    assert (hat[0].n, hat[0].n_short, hat[0].status) == (50, 0, "ok")
    assert (hat[4].value, hat[4].n, hat[4].n_short, hat[4].status) == (None, 0, 50, "not_estimable")


@given(counts, st.integers(1, 12))
def test_both_equal_the_share_of_all_subsets(pair: tuple[int, int], k: int) -> None:
    n, c = pair
    if k > n:
        assert (pass_at_k(n, c, k), pass_hat_k(n, c, k)) == (None, None)
        return
    subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == Fraction(sum(any(s) for s in subsets), len(subsets))
    assert pass_hat_k(n, c, k) == Fraction(sum(all(s) for s in subsets), len(subsets))


@given(counts, st.integers(1, 12))
def test_failing_always_mirrors_passing_once(pair: tuple[int, int], k: int) -> None:
    n, c = pair
    at, hat = pass_at_k(n, c, k), pass_hat_k(n, n - c, k)
    if at is None or hat is None:
        assert k > n
    else:
        assert at == 1 - hat


@given(st.lists(counts, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_mean_does_not_depend_on_the_order(pairs: list[tuple[int, int]], random: Any) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert mean_pass_hat_k(pairs, 2) == mean_pass_hat_k(shuffled, 2)
    assert mean_pass_at_k(pairs, 2) == mean_pass_at_k(shuffled, 2)


def test_units_with_too_few_trials_leave_the_mean_and_are_counted() -> None:
    rate = mean_pass_hat_k([(4, 4), (4, 2), (1, 1)], 2)
    assert (rate.value, rate.n, rate.n_short) == (pytest.approx((1 + 1 / 6) / 2), 2, 1)


def test_weights_are_relative_and_zero_takes_no_part() -> None:
    pairs = [(1, 1), (1, 0), (1, 0)]
    assert mean_pass_at_k(pairs, 1, weights=[0.5, 1.5, 0]).value == 0.25
    assert mean_pass_at_k(pairs, 1, weights=[Fraction(1, 3), Fraction(2, 3), 0]).value == 1 / 3
    nothing = mean_pass_at_k(pairs, 1, weights=[0, 0, 0])
    assert (nothing.value, nothing.status, nothing.n) == (None, "no_data", 0)


def test_no_unit_has_no_value() -> None:
    assert (mean_pass_at_k([], 1).value, mean_pass_at_k([], 1).status) == (None, "no_data")
    assert pass_at_k(0, 0, 1) is None


@pytest.mark.parametrize(
    ("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (-1, 0, 1), (3, 1, 0), (3, 1, -1), (3, 0.5, 1)]
)
def test_impossible_counts_are_refused(n: int, c: Any, k: int) -> None:
    for estimator in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=r"must|cannot"):
            estimator(n, c, k)
    with pytest.raises(ValueError, match=r"must|cannot"):
        mean_pass_at_k([(n, c)], k)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, math.nan], [1.0, math.inf]])
def test_bad_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match=r"must|needs"):
        mean_pass_hat_k([(2, 1), (2, 2)], 1, weights=weights)
