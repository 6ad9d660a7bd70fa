"""Repeated trials of the same unit: the unbiased estimators pass@k and pass^k."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from steelyard.stats.inputs import checked_counts, checked_integer, checked_nonnegative
from steelyard.stats.results import RepeatRate


def pass_at_k(n: int, c: int, k: int) -> Fraction | None:
    """Chance that at least one of k trials passes, from c passes in n: 1 - C(n-c, k) / C(n, k).

    Exact. None when k > n. ValueError unless 0 <= c <= n and k >= 1. Source: Chen et al. 2021 (HumanEval).
    """
    c, n = checked_counts(c, n)
    k = checked_integer(k, "k", minimum=1)
    return None if k > n else 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


def pass_hat_k(n: int, c: int, k: int) -> Fraction | None:
    """Chance that all of k trials pass, from c passes in n: C(c, k) / C(n, k).

    Exact. None when k > n. ValueError unless 0 <= c <= n and k >= 1. Source: Yao et al. 2024 (tau-bench).
    """
    c, n = checked_counts(c, n)
    k = checked_integer(k, "k", minimum=1)
    return None if k > n else Fraction(math.comb(c, k), math.comb(n, k))


def mean_pass_at_k(
    counts: Iterable[tuple[int, int]], k: int, *, weights: Sequence[float | Fraction] | None = None
) -> RepeatRate:
    """Mean of `pass_at_k` over the units that have at least k trials; see `mean_pass_hat_k`."""
    return _mean(pass_at_k, counts, k, weights)


def mean_pass_hat_k(
    counts: Iterable[tuple[int, int]], k: int, *, weights: Sequence[float | Fraction] | None = None
) -> RepeatRate:
    """Mean of `pass_hat_k` over the units that have at least k trials.

    `counts` holds one pair (trials, passes) per unit; `weights` are relative and nonnegative, and units of
    weight 0 take no part. No unit: status `no_data`; no unit with k trials: `not_estimable`; value None in
    both. The sum is exact, so the order of the units does not matter. ValueError on bad counts or weights.
    """
    return _mean(pass_hat_k, counts, k, weights)


def _mean(
    estimator: Callable[[int, int, int], Fraction | None],
    counts: Iterable[tuple[int, int]],
    k: int,
    weights: Sequence[float | Fraction] | None,
) -> RepeatRate:
    k = checked_integer(k, "k", minimum=1)
    pairs = list(counts)
    if weights is not None and len(weights) != len(pairs):
        raise ValueError(f"weights needs one entry per unit: {len(pairs)} units, {len(weights)} entries.")
    alike: Counter[tuple[int, int, Fraction]] = Counter()
    for i, (n, c) in enumerate(pairs):
        alike[n, c, Fraction(1) if weights is None else _exact_weight(weights[i], i)] += 1
    total, votes, used, short = Fraction(0), Fraction(0), 0, 0
    for (n, c, vote), units in alike.items():
        estimate = estimator(n, c, k)
        if vote == 0:
            continue
        if estimate is None:
            short += units
            continue
        used += units
        votes += vote * units
        total += vote * units * estimate
    if used:
        return RepeatRate(value=float(total / votes), status="ok", k=k, n=used, n_short=short)
    return RepeatRate(value=None, status="not_estimable" if short else "no_data", k=k, n=0, n_short=short)


def _exact_weight(weight: float | Fraction, position: int) -> Fraction:
    checked_nonnegative(weight, f"Weight {position}")
    return Fraction(weight)
