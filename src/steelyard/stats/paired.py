"""Comparison of two measurements of the same units."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction

from steelyard.stats.clustered import mean_interval
from steelyard.stats.inputs import checked_between, checked_integer, checked_length
from steelyard.stats.results import Interval, PairedTest
from steelyard.stats.special import betainc

_EXACT_SUM_UP_TO = 1000
_METHOD = "mcnemar_exact"


def mcnemar_exact(gained: int, lost: int) -> PairedTest:
    """Exact two-sided McNemar test from the discordant pairs.

    `gained` pairs turned from no to yes, `lost` pairs from yes to no; pairs that agree do not count. The
    p-value is twice the smaller binomial(1/2) tail, at most 1. Without discordant pairs there is nothing to
    test: p_value None, status `no_discordants`. ValueError on negative or fractional counts.
    """
    gained = checked_integer(gained, "The number of gained pairs")
    lost = checked_integer(lost, "The number of lost pairs")
    if gained + lost == 0:
        return PairedTest(p_value=None, status="no_discordants", method=_METHOD, gained=0, lost=0)
    p_value = min(1.0, 2.0 * _half_tail(min(gained, lost), gained + lost))
    return PairedTest(p_value=p_value, status="ok", method=_METHOD, gained=gained, lost=lost)


def paired_difference(
    before: Sequence[float],
    after: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    strata: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
) -> Interval:
    """t interval of the mean of after - before, two values in [0, 1] per unit, clipped to [-1, 1].

    Equal differences everywhere give `not_estimable`, never an interval without width. Everything else as in
    `mean_interval`.
    """
    checked_length(after, "after", len(before))
    differences = [
        checked_between(new, f"Value {i} of after", 0.0, 1.0)
        - checked_between(old, f"Value {i} of before", 0.0, 1.0)
        for i, (old, new) in enumerate(zip(before, after, strict=True))
    ]
    return mean_interval(
        differences,
        weights=weights,
        strata=strata,
        clusters=clusters,
        confidence=confidence,
        bounds=(-1.0, 1.0),
    )


def _half_tail(successes: int, n: int) -> float:
    """Chance of at most `successes` of n at probability 1/2; whole numbers while they are short."""
    if n <= _EXACT_SUM_UP_TO:
        return float(Fraction(sum(math.comb(n, i) for i in range(successes + 1)), 2**n))
    return betainc(n - successes, successes + 1, 0.5)
