"""Mean, standard error and t interval over sampling units with weights, strata and clusters.

Source of the variance: the linearised (Taylor) estimator of survey statistics with clusters drawn inside
strata; with equal weights it is the sample standard deviation over the square root of the number of units,
and with `population=True` the clustered standard error of Miller (arXiv 2411.00640).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard.stats.inputs import checked_between, checked_length, checked_nonnegative, checked_open_unit
from steelyard.stats.results import Interval, Status
from steelyard.stats.special import t_quantile

FEW_CLUSTERS = 10
"""Below this (effective) number of clusters an interval is marked `too_few`."""

# Below this effective number one unit carries over four fifths of the weight, its deviation from the mean
# is nearly nil whatever it is, and the estimated error shrinks towards 0.
_DOMINATED = 1.5
# Deviations that cancel leave rounding noise of this size; with bounded values it is never real spread.
_NO_SPREAD = 1e-12


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class _Units(NamedTuple):
    """Units of positive weight. `stratum` and `cluster` are codes; without clusters each unit is its own."""

    value: Floats
    weight: Floats
    stratum: Ints | None
    cluster: Ints | None


class _Spread(NamedTuple):
    """Clusters (real and effective number) and the error of the mean; `se` is None when not estimable."""

    n: int
    n_effective: float
    se: float | None
    df: float | None
    stratified: bool


def weighted_mean(
    values: Sequence[float] | Floats,
    *,
    weights: Sequence[float] | Floats | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> float | None:
    """sum(w x) / sum(w); None when no value has a positive weight. ValueError as in `mean_interval`."""
    units = _units(values, weights, None, None, bounds)
    return _mean(units) if len(units.value) else None


def standard_error(
    values: Sequence[float] | Floats,
    *,
    weights: Sequence[float] | Floats | None = None,
    strata: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    population: bool = False,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> float | None:
    """Standard error of the weighted mean; None where `mean_interval` says `no_data` or `not_estimable`.

    `population=True` leaves out the factor n / (n - 1) of each stratum (a smaller, biased figure that some
    published numbers use). Arguments and errors as in `mean_interval`.
    """
    units = _units(values, weights, strata, clusters, bounds)
    return _spread(units, population=population).se if len(units.value) else None


def mean_interval(
    values: Sequence[float] | Floats,
    *,
    weights: Sequence[float] | Floats | None = None,
    strata: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Student t interval of the weighted mean, clipped to `bounds`.

    `values` within `bounds`, one per unit. `weights` are relative, nonnegative and already contain the shares
    of the strata; units of weight 0 take no part. Units that share a `clusters` label are dependent; a label
    that occurs in several strata makes the variance that of one stratum, with deviations still taken around
    the stratum means. Degrees of freedom: clusters - 1, or Welch-Satterthwaite over several strata.

    `n` of the result counts clusters. Status `no_data`: no unit with a weight. `not_estimable`: fewer than
    two clusters in all or in a stratum, no spread at all, or one cluster that outweighs the rest (Kish
    effective number below 1.5). `too_few`: numbers are given, and n or the effective number is below 10. The
    result does not depend on the order of the units, bit by bit.

    ValueError on values that are not finite or out of bounds, on bad weights, lengths or confidence.
    """
    confidence = checked_open_unit(confidence, "The confidence level")
    units = _units(values, weights, strata, clusters, bounds)
    if not len(units.value):
        return Interval(low=None, high=None, method="t", status="no_data", n=0, confidence=confidence)
    spread = _spread(units, population=False)
    method = "t_stratified" if spread.stratified else "t"
    if spread.se is None or spread.df is None:
        return Interval(
            low=None,
            high=None,
            method=method,
            status="not_estimable",
            n=spread.n,
            n_effective=spread.n_effective,
            confidence=confidence,
        )
    mean = _mean(units)
    half_width = -t_quantile(0.5 * (1.0 - confidence), spread.df) * spread.se
    few = spread.n < FEW_CLUSTERS or spread.n_effective < FEW_CLUSTERS
    status: Status = "too_few" if few else "ok"
    return Interval(
        low=max(bounds[0], mean - half_width),
        high=min(bounds[1], mean + half_width),
        method=method,
        status=status,
        n=spread.n,
        se=spread.se,
        df=spread.df,
        n_effective=spread.n_effective,
        confidence=confidence,
    )


def _units(
    values: Sequence[float] | Floats,
    weights: Sequence[float] | Floats | None,
    strata: Sequence[Hashable] | None,
    clusters: Sequence[Hashable] | None,
    bounds: tuple[float, float],
) -> _Units:
    """The checked units of positive weight, weights scaled to sum to 1."""
    n = len(values)
    for name, labels in (("weights", weights), ("strata", strata), ("clusters", clusters)):
        checked_length(labels, name, n)
    numbers = _checked_values(values, bounds)
    votes = np.ones(n) if weights is None else _checked_weights(weights)
    largest = votes.max(initial=0.0)
    used = np.flatnonzero(votes > 0.0)
    votes = votes[used] / largest if len(used) else votes[used]
    return _Units(
        value=numbers[used],
        weight=votes / _sum(votes) if len(used) else votes,
        stratum=None if strata is None else _codes(strata)[used],
        cluster=None if clusters is None else _codes(clusters)[used],
    )


def _checked_values(values: Sequence[float] | Floats, bounds: tuple[float, float]) -> Floats:
    if isinstance(values, np.ndarray) and bool(((values >= bounds[0]) & (values <= bounds[1])).all()):
        return values
    return np.array([checked_between(value, f"Value {i}", *bounds) for i, value in enumerate(values)])


def _checked_weights(weights: Sequence[float] | Floats) -> Floats:
    if isinstance(weights, np.ndarray) and bool(((weights >= 0.0) & np.isfinite(weights)).all()):
        return weights
    return np.array([checked_nonnegative(weight, f"Weight {i}") for i, weight in enumerate(weights)])


def _codes(labels: Sequence[Hashable]) -> Ints:
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)


def _sum(numbers: Floats) -> float:
    """Exactly rounded, so that the order of the numbers does not matter."""
    return math.fsum(numbers.tolist())


def _mean(units: _Units) -> float:
    return _sum(units.weight * units.value) / _sum(units.weight)


def _spread(units: _Units, *, population: bool) -> _Spread:
    shares = units.weight if units.cluster is None else np.array(_sums(units.cluster, units.weight))
    n = len(shares)
    n_effective = _effective_number(shares)
    totals, lonely = _cluster_totals(units)
    nothing = _Spread(n, n_effective, None, None, len(totals) > 1)
    if lonely or n_effective < _DOMINATED:
        return nothing
    parts = [(_part(z, population=population), len(z) - 1) for z in totals]
    variance = math.fsum(part for part, _ in parts)
    if variance <= _NO_SPREAD**2:
        return nothing
    if len(parts) == 1:
        df = float(parts[0][1])
    else:
        df = 1.0 / math.fsum((part / variance) ** 2 / free for part, free in parts)
    return _Spread(n, n_effective, math.sqrt(variance), df, len(parts) > 1)


def _effective_number(weights: Floats) -> float:
    """Kish's effective sample size (sum w)^2 / sum w^2, rounded so that equal weights give their number."""
    return round(_sum(weights) ** 2 / _sum(weights * weights), 9)


def _sums(label: Ints, numbers: Floats) -> list[float]:
    """The sum of the numbers of each label."""
    order = np.argsort(label, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.concatenate(([True], np.diff(label[order]) > 0)))
    if len(starts) == len(label):
        return [float(number) for number in ordered]
    return [_sum(part) for part in np.split(ordered, starts[1:])]


def _cluster_totals(units: _Units) -> tuple[list[Floats], bool]:
    """Per variance stratum, the summed weighted deviation of each cluster; and whether a stratum has only one."""
    n = len(units.value)
    stratum = np.zeros(n, dtype=np.int64) if units.stratum is None else units.stratum
    cluster = np.arange(n) if units.cluster is None else units.cluster
    deviation = np.empty(n)
    pairs, lonely = 0, False
    members = [np.flatnonzero(stratum == label) for label in np.unique(stratum).tolist()]
    for own in members:
        mean = _mean(_Units(units.value[own], units.weight[own], None, None))
        deviation[own] = units.weight[own] * (units.value[own] - mean)
        clusters = len(own) if units.cluster is None else len(np.unique(cluster[own]))
        pairs += clusters
        lonely = lonely or clusters < 2
    if units.cluster is None:
        return [deviation[own] for own in members], lonely
    crossing = pairs > len(np.unique(cluster))
    parts = [np.arange(n)] if crossing else members
    return [np.array(_sums(cluster[own], deviation[own])) for own in parts], lonely


def _part(totals: Floats, *, population: bool) -> float:
    """Contribution of one stratum to the variance of the mean."""
    n = len(totals)
    factor = 1.0 if population else n / (n - 1)
    return factor * _sum(totals * totals)
