"""Special functions that the standard library lacks: the incomplete beta family and Student's t quantile.

Agreement with scipy is about 1e-12 relative for shape parameters from 0.05 to 1e6.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from steelyard.stats.inputs import checked_between, checked_open_unit, checked_positive

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SMALLEST_LOG = -690.0
_MAX_FRACTION_TERMS = 200_000
_STANDARD_NORMAL = NormalDist()


class _Root(NamedTuple):
    """A root and its complement to 1; the smaller of the two keeps its full relative precision."""

    x: float
    y: float


def normal_quantile(p: float) -> float:
    """Quantile of the standard normal distribution, 0 < p < 1; ValueError outside."""
    p = checked_open_unit(p, "The probability")
    return _STANDARD_NORMAL.inv_cdf(p) if p <= 0.5 else -_STANDARD_NORMAL.inv_cdf(1.0 - p)


def betainc(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b), the distribution function of Beta(a, b).

    a, b > 0 and 0 <= x <= 1, ValueError otherwise; 0 at x = 0 and 1 at x = 1. Continued fraction of Didonato
    and Morris (1992), scaled by the saddle-point density of Loader (2000).
    """
    a = checked_positive(a, "The first shape")
    b = checked_positive(b, "The second shape")
    x = checked_between(x, "x", 0.0, 1.0)
    return _distribution(a, b, _Root(x, 1.0 - x))


def betaincinv(a: float, b: float, p: float) -> float:
    """The x with I_x(a, b) = p, the quantile of Beta(a, b); a, b > 0 and 0 <= p <= 1, ValueError otherwise.

    A quantile below 1e-299 comes back as 0.
    """
    a = checked_positive(a, "The first shape")
    b = checked_positive(b, "The second shape")
    p = checked_between(p, "The probability", 0.0, 1.0)
    if p in {0.0, 1.0}:
        return p
    return _quantile(a, b, p, 1.0 - p).x


def t_quantile(p: float, df: float) -> float:
    """Quantile of Student's t with df > 0 degrees of freedom (not necessarily whole), 0 < p < 1.

    Solves I_x(df/2, 1/2) = 2 * tail for x = df / (df + t^2). ValueError outside the ranges.
    """
    p = checked_open_unit(p, "The probability")
    df = checked_positive(df, "The degrees of freedom")
    if p == 0.5:
        return 0.0
    root = _quantile(0.5 * df, 0.5, 2.0 * min(p, 1.0 - p), 2.0 * abs(p - 0.5))
    if root.x == 0.0:
        raise ValueError(f"The t quantile at {p} with {df} degrees of freedom is too large for a float.")
    return math.copysign(math.sqrt(df) * math.sqrt(root.y / root.x), p - 0.5)


def _distribution(a: float, b: float, at: _Root) -> float:
    """I_x(a, b), by the side of the mean on which the continued fraction converges fast."""
    if at.x <= 0.0:
        return 0.0
    if at.y <= 0.0:
        return 1.0
    if a * at.y >= b * at.x:
        return min(1.0, _front(a, b, at) * _fraction(a, b, at))
    return max(0.0, 1.0 - _front(a, b, at) * _fraction(b, a, _Root(at.y, at.x)))


def _front(a: float, b: float, at: _Root) -> float:
    """x^a y^b / B(a, b) without the cancellation of three large log-gammas."""
    n = a + b
    exponent = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    exponent -= _deviance(a, n * at.x) + _deviance(b, n * at.y)
    return math.sqrt(a * (b / n) / (2.0 * math.pi)) * math.exp(exponent)


def _stirling_error(z: float) -> float:
    """log Gamma(z + 1) minus its Stirling approximation."""
    if z <= 15.0:
        return math.lgamma(z + 1.0) - (z + 0.5) * math.log(z) + z - _HALF_LOG_TWO_PI
    square = z * z
    inner = 1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / (1188.0 * square)) / square
    return (1.0 / 12.0 - (1.0 / 360.0 - inner / square) / square) / z


def _deviance(count: float, mean: float) -> float:
    """count * log(count / mean) + mean - count, by a series where the two are close."""
    difference = count - mean
    if abs(difference) >= 0.1 * (count + mean):
        return count * (math.log(count) - math.log(mean)) + mean - count
    ratio = difference / (count + mean)
    total = difference * ratio
    term = 2.0 * count * ratio
    order = 1
    while True:
        term *= ratio * ratio
        order += 2
        longer = total + term / order
        if longer == total:
            return total
        total = longer


def _fraction(a: float, b: float, at: _Root) -> float:
    """I_x(a, b) * B(a, b) / (x^a y^b) for x up to the mean a / (a + b), by forward recurrence.

    This is the contracted fraction of Didonato and Morris (1992, eq. 9): written in a y - b x, it does not
    lose digits when one shape is far larger than the other.
    """
    x, y = at
    offset = 1.0 + a * y - b * x
    numerator, denominator = 1.0, offset * a / (a + 1.0)
    numerator_before, denominator_before = 0.0, 1.0
    value = numerator / denominator
    for n in range(1, _MAX_FRACTION_TERMS):
        weight = n * (b - n) * x
        step = a + 2 * n - 1.0
        alpha = (a + n - 1.0) * (a + b + n - 1.0) / step * (weight / step) * x
        beta = n + weight / step + (a + n) / (step + 2.0) * (offset + n * (1.0 + y))
        numerator, numerator_before = alpha * numerator_before + beta * numerator, numerator
        denominator, denominator_before = alpha * denominator_before + beta * denominator, denominator
        before, value = value, numerator / denominator
        if abs(value - before) <= 1e-16 * value:
            return value
        numerator_before /= denominator
        denominator_before /= denominator
        numerator, denominator = value, 1.0
    raise ValueError(f"The incomplete beta function of {a}, {b} does not converge; use smaller counts.")


def _quantile(a: float, b: float, p: float, q: float) -> _Root:
    """Root of I_x(a, b) = p, with q = 1 - p given apart; solved in the smaller tail, which is not rounded."""
    if p <= q:
        return _tail_root(a, b, p)
    y, x = _tail_root(b, a, q)
    return _Root(x, y)


def _tail_root(a: float, b: float, p: float) -> _Root:
    """Root for p <= 1/2 by Newton's method on log I against log x, kept inside a shrinking bracket.

    log I is concave and increasing in log x, so Newton steps from the left of the root cannot overshoot.
    """
    low, high = _SMALLEST_LOG, 0.0
    log_p = math.log(p)
    u = max(low, -math.log1p(b / a))
    for _ in range(200):
        at = _Root(math.exp(u), -math.expm1(u))
        mass = _distribution(a, b, at)
        gap = math.log(mass) - log_p if mass > 0.0 else -math.inf
        low, high = (u, high) if gap < 0.0 else (low, u)
        slope = _front(a, b, at) / (at.y * mass) if mass > 0.0 else 0.0
        following = u - gap / slope if slope > 0.0 else -math.inf
        if abs(following - u) <= -1e-11 * u:
            u = following
            break
        if not low < following < high:
            following = 0.5 * (low + high)
            if following in (low, high):
                break
        u = following
    underflow = u - _SMALLEST_LOG < 1e-6
    return _Root(0.0, 1.0) if underflow else _Root(math.exp(u), -math.expm1(u))
