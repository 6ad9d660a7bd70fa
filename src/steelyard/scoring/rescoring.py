"""What-if without reading the rows again: only the tasks that a change is about are scored anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from steelyard.errors import UsageError
from steelyard.model.columns import ERROR, GRADED, UNKNOWN
from steelyard.model.table import Moved
from steelyard.scoring.averages import GroupScores, GroupTrials, average_group, score_group
from steelyard.scoring.cells import REPLACED, Cells, apply_needs
from steelyard.scoring.completion import Acceptance, accept
from steelyard.scoring.plan import Ints, Plan, with_tasks
from steelyard.scoring.scored import Scored, task_shares
from steelyard.scoring.whatif import Change, changed_suite, verdict_of

Columns = TypeVar("Columns", bound=msgspec.Struct)

_BY_ROWS = ("stated", "stated_score", "place", "given", "kind", "tag", "judged")
_BY_NEEDS = ("status", "score", "passed", "skip_fail")
_BY_STANDARD = ("asked", "weight", "in_rule", "gate")
_CELLS = (
    *_BY_ROWS,
    *_BY_NEEDS,
    *_BY_STANDARD,
    "criterion",
    "dimension",
    "layer",
    "obligation",
    "counted",
    "repeated",
)
_TRIALS = ("task", "number", "ended", "counted", "placeholder", "stand_in", "row")


def rescored(made: Scored, changes: Sequence[Change]) -> Scored | None:
    """What `compute` would find after these changes.

    None where the rows themselves must be read for it: a verdict is set where several rows stand, or in a planned trial
    of which nothing is recorded. UsageError where a change cannot be meant.
    """
    suite = changed_suite(made.plan.suite, changes)
    plan = made.plan
    cells = _copy(made.cells, (*_BY_ROWS, *_BY_NEEDS, *(_BY_STANDARD if suite is not plan.suite else ())))
    if suite is not plan.suite:
        plan = with_tasks(plan, suite, {plan.index[each.task] for each in changes if each.kind != "set"})
        cells.layout = msgspec.structs.replace(cells.layout, plan=plan)
    for change in changes:
        if change.kind == "set" and not _set(cells, plan, change):
            return None
    return _put_together(made, plan, cells, sorted({plan.index[change.task] for change in changes}))


def _copy(cells: Cells, names: Sequence[str]) -> Cells:
    placed = cells.placed
    read = msgspec.structs.replace(
        placed.read, kinds=(*placed.read.kinds, ()), tags=(*placed.read.tags, "what_if")
    )
    fresh: dict[str, Any] = {name: getattr(cells, name).copy() for name in names}
    return msgspec.structs.replace(cells, **fresh, placed=msgspec.structs.replace(placed, read=read))


def _trials_of(cells: Cells, task: int) -> tuple[int, int]:
    first, last = np.searchsorted(cells.layout.task, (task, task + 1)).tolist()
    return first, last


def _set(cells: Cells, plan: Plan, change: Change) -> bool:
    """Put the verdict of a change in the place of those that stand there; false where that takes the rows."""
    task, layout = plan.index[change.task], cells.layout
    position = plan.tasks[task].index[change.criterion or ""]
    first, last = _trials_of(cells, task)
    trials = [trial for trial in range(first, last) if not layout.stand_in[trial]]
    numbers = {layout.numbers[layout.number[trial]]: trial for trial in trials}
    if change.trial is not None:
        if change.trial not in numbers:
            raise UsageError(
                f"{change.text}: task {change.task!r} has no trial {change.trial}; it has {sorted(numbers)}"
            )
        numbers = {change.trial: numbers[change.trial]}
    for number, trial in numbers.items():
        cell = int(cells.offset[trial]) + position
        if layout.placeholder[trial] or cells.repeated[cell]:
            return False
        _replace(cells, plan, cell, change, number)
    return True


def _replace(cells: Cells, plan: Plan, cell: int, change: Change, number: int) -> None:
    code = {"unknown": UNKNOWN, "error": ERROR}.get(change.value, GRADED)
    score = float(change.value) if code == GRADED else 0.0
    fraction = code == GRADED and bool(plan.asked.judged[cells.asked[cell]]) and score not in (0, 1)
    stated = ERROR if fraction else code
    cells.replaced = (*cells.replaced, verdict_of(change, number))
    cells.place[cell] = REPLACED - len(cells.replaced) + 1
    cells.given[cell] = cells.stated[cell] = stated
    cells.stated_score[cell] = score if stated == GRADED else 0.0
    cells.judged[cell] = fraction
    cells.kind[cell] = len(cells.placed.read.kinds) - 1
    cells.tag[cell] = len(cells.placed.read.tags) - 1 if code == ERROR else 0


def _put_together(made: Scored, plan: Plan, cells: Cells, tasks: Sequence[int]) -> Scored:
    accepted_tasks = made.accepted_tasks
    accepted = Acceptance(low=made.accepted.low.copy(), high=made.accepted.high.copy())
    dimensions = {name: group.tasks for name, group in made.dimensions.items()}
    layers = {name: group.tasks for name, group in made.layers.items()}
    dimension_trials, layer_trials = dict(made.dimension_trials), dict(made.layer_trials)
    fresh: set[int] = set()
    for task in tasks:
        first, last = _trials_of(cells, task)
        part, start, stop = _part(cells, plan, first, last)
        apply_needs(plan, part)
        for name in (*_BY_NEEDS, *(_BY_STANDARD if plan is not made.plan else ())):
            getattr(cells, name)[start:stop] = getattr(part, name)
        part_tasks, part_accepted = accept(plan, part)
        own = np.array([task], dtype=np.int64)
        accepted_tasks = _with_part(accepted_tasks, part_tasks, own)
        accepted.low[first:last], accepted.high[first:last] = part_accepted.low, part_accepted.high
        for column, names, groups, trials in (
            (part.dimension, plan.dimensions, dimensions, dimension_trials),
            (part.layer, plan.layers, layers, layer_trials),
        ):
            for place in np.unique(column).tolist():
                name = names[place]
                if id(trials[name]) not in fresh:
                    trials[name] = _copied(trials[name])
                    fresh.add(id(trials[name]))
                scored, by_trial = score_group(plan, part, column == place)
                groups[name] = _with_part(groups[name], scored, own)
                _write(trials[name], by_trial, (first, last), task)
    return Scored(
        plan=plan, cells=cells, accepted_tasks=accepted_tasks, accepted=accepted,
        dimensions=_averaged(plan, dimensions), dimension_trials=dimension_trials,
        layers=_averaged(plan, layers), layer_trials=layer_trials, task_votes=task_shares(plan),
    )  # fmt: skip


def _averaged(plan: Plan, groups: Mapping[str, Any]) -> dict[str, GroupScores]:
    return {name: average_group(plan, tasks) for name, tasks in groups.items()}


def _copied(trials: GroupTrials) -> GroupTrials:
    return GroupTrials(
        low=trials.low.copy(),
        weight=trials.weight.copy(),
        graded=trials.graded.copy(),
        voting=trials.voting.copy(),
    )


def _write(trials: GroupTrials, part: GroupTrials, span: tuple[int, int], task: int) -> None:
    first, last = span
    trials.low[first:last], trials.weight[first:last] = part.low, part.weight
    trials.graded[first:last] = part.graded
    trials.voting[task] = part.voting[task]


def _part(cells: Cells, plan: Plan, first: int, last: int) -> tuple[Cells, int, int]:
    """The trials from `first` to `last`, of one task, as cells of their own; and which cells those are."""
    start = int(cells.offset[first])
    stop = int(cells.offset[last]) if last < len(cells.offset) else len(cells.trial)
    layout = msgspec.structs.replace(
        cells.layout, **{name: getattr(cells.layout, name)[first:last] for name in _TRIALS}
    )
    own: dict[str, Any] = {name: getattr(cells, name)[start:stop] for name in _CELLS}
    asked: Ints = plan.asked.start[plan.shape_of[cells.layout.task[first]]] + own["criterion"]
    own |= {"asked": asked, "weight": plan.asked.weight[asked]}
    own |= {"in_rule": plan.asked.in_rule[asked], "gate": plan.asked.gate[asked]}
    part = msgspec.structs.replace(
        cells,
        layout=layout,
        offset=cells.offset[first:last] - start,
        trial=cells.trial[start:stop] - first,
        **own,
    )
    return part, start, stop


def _with_part(whole: Columns, part: Columns, tasks: Ints) -> Columns:
    """The columns of `whole`, one entry a task, with these tasks as they are in `part`."""
    changed = {}
    for name in whole.__struct_fields__:
        column = getattr(whole, name).copy()
        column[tasks] = getattr(part, name)[tasks]
        changed[name] = column
    return msgspec.structs.replace(whole, **changed)


def moved(before: Scored, after: Scored) -> Moved | None:
    """How many verdicts and trials came out otherwise; None where the two hold different trials."""
    one, two = before.cells, after.cells
    if len(one.status) != len(two.status) or len(one.layout.task) != len(two.layout.task):
        return None
    verdicts = (one.status != two.status) | (one.score != two.score) | (one.passed != two.passed)
    verdicts |= one.gate != two.gate
    trials = (before.accepted.low != after.accepted.low) | (before.accepted.high != after.accepted.high)
    return Moved(verdicts=int(verdicts.sum()), trials=int(trials.sum()))


def headlines(made: Scored) -> dict[str, tuple[float | None, float | None]]:
    """Low and high of completion, and of each dimension as the average over tasks and pooled (`NAME.pooled`)."""
    votes, tasks = made.task_votes, made.accepted_tasks
    found: dict[str, tuple[float | None, float | None]] = {
        "completion": (float((votes * tasks.share_low).sum()), float((votes * tasks.share_high).sum()))
    }
    for name, group in made.dimensions.items():
        found[name] = (group.low, group.high)
        found[f"{name}.pooled"] = (group.pooled_low, group.pooled_high)
    return found
