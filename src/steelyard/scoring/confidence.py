"""How sure an average over tasks is. Tasks (or declared clusters of tasks) are the sampling unit."""

from __future__ import annotations

import numpy as np

from steelyard.model.table import Ci
from steelyard.scoring.plan import Floats, Ints, Plan
from steelyard.stats.clustered import mean_interval
from steelyard.stats.intervals import wilson
from steelyard.stats.results import Interval


def task_interval(plan: Plan, low: Floats, high: Floats, weights: Floats) -> Ci:
    """A 95% interval for the mean of task scores: from the lower bound of low to the upper bound of high.

    Wilson where each task has one equal vote and every score is 0 or 1; else t on the task scores (stratified by the
    tag of declared shares, clustered where declared). `low` and `high` are per task, NaN where a task has no value.
    """
    voting = np.flatnonzero((weights > 0) & ~np.isnan(low))
    if not len(voting):
        return Ci(low=None, high=None, method="none", status="no_data")
    bottom = _interval(plan, voting, low, weights)
    top = bottom if np.array_equal(low, high, equal_nan=True) else _interval(plan, voting, high, weights)
    known = bottom.low is not None and top.high is not None
    return Ci(
        low=bottom.low if known else None,
        high=top.high if known else None,
        method=bottom.method if bottom.method == top.method else f"{bottom.method} and {top.method}",
        status=_worst(bottom.status, top.status),
        se=bottom.se if top is bottom else None,
        n=bottom.n,
    )


def _interval(plan: Plan, voting: Ints, values: Floats, weights: Floats) -> Interval:
    suite = plan.suite
    picked, votes = values[voting], weights[voting]
    tags = (
        [plan.tasks[index].task.tags for index in voting.tolist()] if suite.weights or suite.clusters else []
    )
    strata = [tag[suite.weights.by] for tag in tags] if suite.weights else None
    clusters = [tag[suite.clusters] for tag in tags] if suite.clusters else None
    dependent = clusters is not None and len(set(clusters)) < len(clusters)
    equal = strata is None and votes.max() == votes.min()
    if equal and not dependent and bool(((picked == 0.0) | (picked == 1.0)).all()):
        return wilson(int(picked.sum()), len(picked))
    return mean_interval(picked, weights=votes, strata=strata, clusters=clusters)


def rate_interval(low: int, high: int, n: int) -> Ci:
    """Wilson 95% of n independent trials: the lower bound of `low` of them, the upper of `high`; null when n is 0."""
    bottom, top = wilson(low, n), wilson(high, n)
    return Ci(low=bottom.low, high=top.high, method=bottom.method, status=bottom.status, n=n)


def _worst(one: str, other: str) -> str:
    order = ("ok", "too_few", "not_estimable", "no_data")
    return max(one, other, key=lambda word: order.index(word) if word in order else len(order))
