"""Everything computed on the way from rows to a table, kept together so that no number is computed twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np

from steelyard.model.standard import Suite
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.scoring.averages import GroupScores, GroupTrials, average_group, score_group
from steelyard.scoring.cells import Cells, tabulate
from steelyard.scoring.completion import Acceptance, AcceptedTasks, accept
from steelyard.scoring.plan import Floats, Plan, plan, task_weights


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with its cells, averages and acceptance. `task_votes` are the votes of the tasks in completion."""

    plan: Plan
    cells: Cells
    accepted_tasks: AcceptedTasks
    accepted: Acceptance
    dimensions: Mapping[str, GroupScores]
    dimension_trials: Mapping[str, GroupTrials]
    layers: Mapping[str, GroupScores]
    layer_trials: Mapping[str, GroupTrials]
    task_votes: Floats


def compute(suite: Suite, rows: Iterable[Verdict | TrialRow]) -> Scored:
    """Lay out, fill, apply needs, average, accept."""
    layout = plan(suite)
    cells = tabulate(layout, rows)
    accepted_tasks, accepted = accept(layout, cells)
    dimensions = {
        name: score_group(layout, cells, cells.dimension == place)
        for place, name in enumerate(layout.dimensions)
    }
    layers = {
        name: score_group(layout, cells, cells.layer == place) for place, name in enumerate(layout.layers)
    }
    return Scored(
        plan=layout,
        cells=cells,
        accepted_tasks=accepted_tasks,
        accepted=accepted,
        dimensions={name: average_group(layout, tasks) for name, (tasks, _) in dimensions.items()},
        dimension_trials={name: trials for name, (_, trials) in dimensions.items()},
        layers={name: average_group(layout, tasks) for name, (tasks, _) in layers.items()},
        layer_trials={name: trials for name, (_, trials) in layers.items()},
        task_votes=task_shares(layout),
    )


def task_shares(layout: Plan) -> Floats:
    """The share of each task in a mean over all tasks."""
    weights = task_weights(layout, np.ones(len(layout.tasks), dtype=np.bool_))
    shares: Floats = weights / weights.sum()
    return shares
