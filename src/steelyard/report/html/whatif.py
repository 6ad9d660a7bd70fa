"""The model behind what-if in the page: a standard and its verdicts as columns, small enough to be embedded.

`assets/whatif.js` computes every headline from it; the layout of the model is the contract between the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from steelyard.model.standard import Suite
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.scoring.cells import CONFLICT, GRADED, Cells, Trial, tabulate
from steelyard.scoring.cells import ERROR as STATED_ERROR
from steelyard.scoring.cells import SKIPPED as STATED_SKIPPED
from steelyard.scoring.cells import UNKNOWN as STATED_UNKNOWN
from steelyard.scoring.plan import Plan, TaskPlan, plan

MOST_CELLS = 400_000
"""Verdicts up to which the page scores by itself (10,000 trials of 40 criteria); beyond, the command line does."""

ERROR, UNKNOWN, SKIPPED, SCORES = 0, 1, 2, 3
"""Codes of a cell as recorded; from 3 on, places in `scores`."""
COUNTED, ENDED_WELL, OPEN_END, STAND_IN = 1, 2, 4, 8
NAMED, GATE, YES_OR_NO = 1, 2, 4


def whatif_model(
    suite: Suite,
    rows: Iterable[Verdict | TrialRow],
    *,
    run: str = "",
    capped: bool = False,
    before: Sequence[str] = (),
) -> dict[str, Any] | None:
    """Everything that what-if needs of a run, JSON-able; null beyond `MOST_CELLS` verdicts.

    `run` is the kept run's name, for the command line; `capped`: the run is INCOMPLETE at best (records were lost, or
    it was broken off); `before`: the options that led here, where the run is a what-if already. Weights, pass marks and
    the bar are decimal texts, so that they stay exact. Tasks stand by id, criteria in `layouts` by id (`order` is that
    of the file); trials and cells are flat columns in that order: a cell is 0 error, 1 unknown, 2 skipped, or 3 + a
    place in `scores`.
    """
    layout = plan(suite)
    cells = tabulate(layout, rows)
    if len(cells.stated) > MOST_CELLS:
        return None
    places, layouts = _layouts(layout)
    codes, scores = _codes(cells)
    trials = cells.trials
    groups = sorted(suite.weights.shares) if suite.weights else []
    return {
        "run": run,
        "primary": suite.primary,
        "bar": "1" if suite.at_least is None else str(suite.at_least),
        "used": cells.used_rows > 0,
        "capped": capped,
        "before": list(before),
        "dimensions": list(layout.dimensions),
        "by": suite.weights.by if suite.weights else None,
        "shares": [str(suite.weights.shares[group]) for group in groups] if suite.weights else None,
        "layouts": layouts,
        "tasks": {
            "id": [entry.task.id for entry in layout.tasks],
            "weight": [None if e.task.weight is None else str(e.task.weight) for e in layout.tasks],
            "group": [groups.index(e.task.tags[suite.weights.by]) for e in layout.tasks]
            if suite.weights
            else [],
            "layout": places,
        },
        "trials": {
            "task": [trial.task for trial in trials],
            "number": [trial.number for trial in trials],
            "flags": [_trial_flags(trial, layout.tasks[trial.task]) for trial in trials],
        },
        "scores": scores,
        "cells": codes,
    }


def _layouts(layout: Plan) -> tuple[list[int], list[dict[str, Any]]]:
    """Criteria of each task; tasks that ask the same share one."""
    found: dict[bytes, int] = {}
    layouts: list[dict[str, Any]] = []
    places = []
    for entry in layout.tasks:
        one = _layout(entry, layout.dimensions)
        place = found.setdefault(msgspec.json.encode(one), len(layouts))
        if place == len(layouts):
            layouts.append(one)
        places.append(place)
    return places, layouts


def _layout(entry: TaskPlan, dimensions: Sequence[str]) -> dict[str, Any]:
    rule = entry.task.complete_when
    criteria = []
    for criterion, needs in zip(entry.criteria, entry.needs, strict=True):
        named = criterion.dimension in rule.dimensions or criterion.id in rule.criteria
        flags = NAMED * named | GATE * criterion.gate | YES_OR_NO * (criterion.check is None)
        weight, mark = str(criterion.weight), str(criterion.pass_mark)
        criteria.append(
            [criterion.id, dimensions.index(criterion.dimension), weight, mark, flags, list(needs)]
        )
    return {"gates": rule.gates, "order": list(entry.display), "criteria": criteria}


def _trial_flags(trial: Trial, entry: TaskPlan) -> int:
    well = trial.ended_by is None or trial.ended_by in entry.task.complete_when.ended_by
    return (
        COUNTED * trial.counted
        | ENDED_WELL * well
        | OPEN_END * (trial.ended_by == CONFLICT)
        | STAND_IN * trial.stand_in
    )


def _codes(cells: Cells) -> tuple[list[int], list[float]]:
    """Each cell as its rows say, before `needs` are applied."""
    words = {STATED_ERROR: ERROR, STATED_UNKNOWN: UNKNOWN, STATED_SKIPPED: SKIPPED}
    scores: dict[float, int] = {}
    codes = [
        SCORES + scores.setdefault(score, len(scores)) if status == GRADED else words[status]
        for status, score in zip(cells.stated.tolist(), cells.stated_score.tolist(), strict=True)
    ]
    return codes, list(scores)
