"""Mean, standard error and t interval over sampling units with weights, strata and clusters.

Source of the variance: the linearised (Taylor) estimator of survey statistics with clusters drawn inside
strata; with equal weights it is the sample standard deviation over the square root of the number of units,
and with `population=True` the clustered standard error of Miller (arXiv 2411.00640).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

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


class _Unit(NamedTuple):
    value: float
    weight: float
    stratum: Hashable
    cluster: Hashable


class _Spread(NamedTuple):
    """Clusters (real and effective number) and the error of the mean; `se` is None when not estimable."""

    n: int
    n_effective: float
    se: float | None
    df: float | None
    stratified: bool


def weighted_mean(
    values: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> float | None:
    """sum(w x) / sum(w); None when no value has a positive weight. ValueError as in `mean_interval`."""
    units = _units(values, weights, None, None, bounds)
    return _mean(units) if units else None


def standard_error(
    values: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
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
    return _spread(units, population=population).se if units else None


def mean_interval(
    values: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
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
    if not units:
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
    values: Sequence[float],
    weights: Sequence[float] | None,
    strata: Sequence[Hashable] | None,
    clusters: Sequence[Hashable] | None,
    bounds: tuple[float, float],
) -> list[_Unit]:
    """The checked units of positive weight, weights scaled to sum to 1."""
    n = len(values)
    for name, labels in (("weights", weights), ("strata", strata), ("clusters", clusters)):
        checked_length(labels, name, n)
    numbers = [checked_between(value, f"Value {i}", *bounds) for i, value in enumerate(values)]
    votes = [1.0] * n
    if weights is not None:
        votes = [checked_nonnegative(weight, f"Weight {i}") for i, weight in enumerate(weights)]
    largest = max(votes, default=0.0)
    if largest == 0.0:
        return []
    votes = [weight / largest for weight in votes]
    total = math.fsum(votes)
    return [
        _Unit(
            value=numbers[i],
            weight=votes[i] / total,
            stratum=None if strata is None else strata[i],
            cluster=i if clusters is None else clusters[i],
        )
        for i in range(n)
        if votes[i] > 0.0
    ]


def _mean(units: Sequence[_Unit]) -> float:
    return math.fsum(u.weight * u.value for u in units) / math.fsum(u.weight for u in units)


def _spread(units: Sequence[_Unit], *, population: bool) -> _Spread:
    by_stratum: dict[Hashable, list[_Unit]] = defaultdict(list)
    shares: dict[Hashable, list[float]] = defaultdict(list)
    for unit in units:
        by_stratum[unit.stratum].append(unit)
        shares[unit.cluster].append(unit.weight)
    n = len(shares)
    n_effective = _effective_number([math.fsum(parts) for parts in shares.values()])
    lonely = any(len({u.cluster for u in members}) < 2 for members in by_stratum.values())
    totals = _cluster_totals(by_stratum)
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


def _effective_number(weights: Sequence[float]) -> float:
    """Kish's effective sample size (sum w)^2 / sum w^2, rounded so that equal weights give their number."""
    return round(math.fsum(weights) ** 2 / math.fsum(weight * weight for weight in weights), 9)


def _cluster_totals(by_stratum: dict[Hashable, list[_Unit]]) -> list[list[float]]:
    """Per variance stratum, the summed weighted deviation of each of its clusters."""
    deviations: dict[tuple[Hashable, Hashable], list[float]] = defaultdict(list)
    for stratum, members in by_stratum.items():
        mean = _mean(members)
        for unit in members:
            deviations[stratum, unit.cluster].append(unit.weight * (unit.value - mean))
    crossing = len(deviations) > len({cluster for _, cluster in deviations})
    collected: dict[Hashable, dict[Hashable, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (stratum, cluster), parts in deviations.items():
        collected[None if crossing else stratum][cluster].extend(parts)
    return [[math.fsum(parts) for parts in clusters.values()] for clusters in collected.values()]


def _part(totals: Sequence[float], *, population: bool) -> float:
    """Contribution of one stratum to the variance of the mean."""
    n = len(totals)
    factor = 1.0 if population else n / (n - 1)
    return factor * math.fsum(z * z for z in totals)
