"""Confidence intervals for one proportion: Wilson for showing, Clopper-Pearson for bounds that must hold."""

from __future__ import annotations

import math

from steelyard.stats.inputs import checked_counts, checked_open_unit
from steelyard.stats.results import Interval
from steelyard.stats.special import betaincinv, normal_quantile


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a proportion (Wilson 1927; Newcombe 1998, method 3).

    `successes` of `n` independent yes/no observations. Bounds lie in [0, 1]; the lower one is exactly 0 at no
    success, the upper one exactly 1 at no failure. n = 0: no bounds, status `no_data`. ValueError on counts
    that are not 0 <= successes <= n and on a confidence outside (0, 1).
    """
    k, n = checked_counts(successes, n)
    confidence = checked_open_unit(confidence, "The confidence level")
    if n == 0:
        return _no_data("wilson", confidence)
    z = -normal_quantile(0.5 * (1.0 - confidence))
    p = k / n
    centre = p + z * z / (2 * n)
    half_width = z * math.sqrt((p * ((n - k) / n) + z * z / (4 * n)) / n)
    # The product of the two roots is p^2 / (1 + z^2/n): no subtraction, hence an exact 0 at k = 0.
    low = p * p / (centre + half_width) if k else 0.0
    high = (centre + half_width) / (1.0 + z * z / n) if k < n else 1.0
    return Interval(
        low=min(low, p),
        high=min(1.0, max(high, p)),
        method="wilson",
        status="ok",
        n=n,
        confidence=confidence,
    )


def clopper_pearson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Two-sided exact interval of a proportion (Clopper and Pearson 1934), equal tails.

    Same arguments, degenerate cases and errors as `wilson`.
    """
    k, n = checked_counts(successes, n)
    confidence = checked_open_unit(confidence, "The confidence level")
    if n == 0:
        return _no_data("clopper_pearson", confidence)
    tail = 0.5 * (1.0 - confidence)
    low, high = _exact_low(k, n, tail), _exact_high(k, n, tail)
    return Interval(low=low, high=high, method="clopper_pearson", status="ok", n=n, confidence=confidence)


def clopper_pearson_lower(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """One-sided exact lower bound of a proportion: the whole error rate lies below `low`, and `high` is 1.

    Same arguments, degenerate cases and errors as `wilson`.
    """
    k, n = checked_counts(successes, n)
    confidence = checked_open_unit(confidence, "The confidence level")
    method = "clopper_pearson_lower"
    if n == 0:
        return _no_data(method, confidence)
    low = _exact_low(k, n, 1.0 - confidence)
    return Interval(low=low, high=1.0, method=method, status="ok", n=n, confidence=confidence)


def clopper_pearson_upper(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """One-sided exact upper bound of a proportion: the whole error rate lies above `high`, and `low` is 0.

    Same arguments, degenerate cases and errors as `wilson`.
    """
    k, n = checked_counts(successes, n)
    confidence = checked_open_unit(confidence, "The confidence level")
    method = "clopper_pearson_upper"
    if n == 0:
        return _no_data(method, confidence)
    high = _exact_high(k, n, 1.0 - confidence)
    return Interval(low=0.0, high=high, method=method, status="ok", n=n, confidence=confidence)


def _exact_low(k: int, n: int, tail: float) -> float:
    """The proportion at which k or more successes have probability `tail`."""
    if k == 0:
        return 0.0
    if k == n:
        return math.exp(math.log(tail) / n)
    return betaincinv(k, n - k + 1, tail)


def _exact_high(k: int, n: int, tail: float) -> float:
    """The proportion at which k or fewer successes have probability `tail`."""
    if k == n:
        return 1.0
    if k == 0:
        return -math.expm1(math.log(tail) / n)
    return 1.0 - betaincinv(n - k, k + 1, tail)


def _no_data(method: str, confidence: float) -> Interval:
    return Interval(low=None, high=None, method=method, status="no_data", n=0, confidence=confidence)
