"""Numbers by the values of each tag, each with its own count of tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.scoring.averages import GroupScores
from steelyard.scoring.completion import AcceptedTasks
from steelyard.scoring.plan import Plan
from steelyard.stats.intervals import wilson

MOST_VALUES = 50
"""A tag with more values than this names single tasks rather than groups, and is left out."""


def slices(plan: Plan, accepted: AcceptedTasks, dimensions: Mapping[str, GroupScores]) -> dict[str, Any]:
    """By tag and value: `{n_tasks, completion: {value, low, high, ci?}, dimensions: {name: {value, low, high, ...}}}`.

    Tasks vote equally inside a slice. A dimension that no task of the slice has is null.
    """
    found: dict[str, Any] = {}
    for tag in sorted({tag for entry in plan.tasks for tag in entry.task.tags}):
        groups: dict[str, list[int]] = {}
        for index, entry in enumerate(plan.tasks):
            if tag in entry.task.tags:
                groups.setdefault(entry.task.tags[tag], []).append(index)
        if len(groups) <= MOST_VALUES:
            single = plan.suite.clusters is None  # tasks of one cluster are no independent samples
            found[tag] = {
                name: _slice(members, accepted, dimensions, single)
                for name, members in sorted(groups.items())
            }
    return found


def _slice(
    members: list[int], accepted: AcceptedTasks, dimensions: Mapping[str, GroupScores], independent: bool
) -> dict[str, Any]:
    low, high = accepted.share_low[members], accepted.share_high[members]
    completion: dict[str, Any] = {
        "value": float(low.mean()),
        "low": float(low.mean()),
        "high": float(high.mean()),
    }
    if independent and np.array_equal(low, high) and bool(np.isin(low, (0.0, 1.0)).all()):
        found = wilson(int(low.sum()), len(members))
        completion["ci"] = {"low": found.low, "high": found.high, "method": found.method}
    return {
        "n_tasks": len(members),
        "completion": completion,
        "dimensions": {name: _mean(group, members) for name, group in dimensions.items()},
    }


def _mean(group: GroupScores, members: list[int]) -> dict[str, Any]:
    low, high = group.tasks.low[members], group.tasks.high[members]
    known = ~np.isnan(low)
    if not known.any():
        return {"value": None, "low": None, "high": None, "n_tasks": 0}
    floor = float(low[known].mean())
    graded = bool(group.tasks.graded[members].any())
    return {
        "value": floor if graded else None,
        "low": floor,
        "high": float(high[known].mean()),
        "n_tasks": int(known.sum()),
    }
