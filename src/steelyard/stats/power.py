"""Sample sizes: how many units a comparison or a certificate needs before anything is run."""

from __future__ import annotations

import math

from steelyard.stats.inputs import (
    checked_integer,
    checked_nonnegative,
    checked_open_unit,
    checked_positive,
)
from steelyard.stats.intervals import clopper_pearson_lower
from steelyard.stats.special import normal_quantile


def sample_size(
    delta: float,
    *,
    omega2: float,
    sigma2_a: float = 0.0,
    sigma2_b: float = 0.0,
    repeats_a: int = 1,
    repeats_b: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float | None:
    """Units needed to detect a mean paired difference `delta`, before rounding up.

    n = (z_{alpha/2} + z_{power})^2 (omega2 + sigma2_a / repeats_a + sigma2_b / repeats_b) / delta^2, with
    omega2 the variance over units of the true difference and sigma2 the variance between repeats of one unit
    (Miller, arXiv 2411.00640). None when all variances are 0: the formula then says nothing. ValueError on a
    delta that is not above 0, a negative variance, fewer than one repeat, alpha or power outside (0, 1), or a
    power that is not above alpha / 2.
    """
    delta = checked_positive(delta, "delta")
    variance = _variance(omega2, sigma2_a, sigma2_b, repeats_a, repeats_b)
    needed = variance * (_quantile_sum(alpha, power) / delta) ** 2
    return needed if needed > 0.0 else None


def minimum_detectable_effect(
    n: int,
    *,
    omega2: float,
    sigma2_a: float = 0.0,
    sigma2_b: float = 0.0,
    repeats_a: int = 1,
    repeats_b: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float | None:
    """Smallest mean paired difference that `n` units detect; the inverse of `sample_size`.

    In the unit of the values; above their range it means that no possible difference is detectable. None when
    n is 0 or all variances are 0. ValueError as in `sample_size`.
    """
    n = checked_integer(n, "n")
    variance = _variance(omega2, sigma2_a, sigma2_b, repeats_a, repeats_b)
    quantiles = _quantile_sum(alpha, power)
    return quantiles * math.sqrt(variance / n) if n and variance > 0.0 else None


def certifying_sample_size(target: float, failures: int = 0, confidence: float = 0.95) -> int:
    """Fewest observations, `failures` of them failed, whose exact one-sided lower bound reaches `target`.

    ValueError on a target or confidence outside (0, 1) and on a negative number of failures.
    """
    target = checked_open_unit(target, "target")
    failures = checked_integer(failures, "The number of failures")
    confidence = checked_open_unit(confidence, "The confidence level")
    enough = failures + 1
    while not _certifies(enough, failures, target, confidence):
        enough *= 2
    short = failures
    while enough - short > 1:
        middle = (short + enough) // 2
        if _certifies(middle, failures, target, confidence):
            enough = middle
        else:
            short = middle
    return enough


def _certifies(n: int, failures: int, target: float, confidence: float) -> bool:
    low = clopper_pearson_lower(n - failures, n, confidence).low
    return low is not None and low >= target


def _variance(omega2: float, sigma2_a: float, sigma2_b: float, repeats_a: int, repeats_b: int) -> float:
    return math.fsum(
        (
            checked_nonnegative(omega2, "omega2"),
            checked_nonnegative(sigma2_a, "sigma2_a") / checked_integer(repeats_a, "repeats_a", minimum=1),
            checked_nonnegative(sigma2_b, "sigma2_b") / checked_integer(repeats_b, "repeats_b", minimum=1),
        )
    )


def _quantile_sum(alpha: float, power: float) -> float:
    alpha = checked_open_unit(alpha, "alpha")
    power = checked_open_unit(power, "power")
    if power <= 0.5 * alpha:
        raise ValueError(f"power must be above alpha / 2; got power {power} and alpha {alpha}.")
    return normal_quantile(power) - normal_quantile(0.5 * alpha)
