"""The standard as columns: who is asked what, with which weight, and what acceptance needs.

Tasks and criteria stand in the order of their ids, not of the file, so that sums never depend on file order. Tasks that
ask the same of their trials share one shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.model.standard import LAYERS, OBLIGATION, Criterion, Suite, Task

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What several tasks may have in common: criteria by id, which vote in acceptance, and what each needs.

    `order[i]` is the place in the file of the criterion at position i; `display` lists positions in the order of the
    file. `levels[i]` is 0 for a criterion without needs, else one more than the deepest of its needs.
    """

    ids: tuple[str, ...]
    index: Mapping[str, int]
    order: tuple[int, ...]
    display: tuple[int, ...]
    in_rule: tuple[bool, ...]
    needs: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]
    example: Task
    """The first task of this shape."""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria of the example, by id."""
        return tuple(self.example.criteria[place] for place in self.order)


class TaskPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One task with its shape."""

    task: Task
    shape: Shape

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """Criteria in the order of their ids."""
        return tuple(self.task.criteria[place] for place in self.shape.order)

    @property
    def index(self) -> Mapping[str, int]:
        """Position of each criterion by its id."""
        return self.shape.index

    @property
    def display(self) -> tuple[int, ...]:
        """Positions in the order of the file."""
        return self.shape.display

    @property
    def in_rule(self) -> tuple[bool, ...]:
        """Which criteria vote in acceptance."""
        return self.shape.in_rule

    @property
    def needs(self) -> tuple[tuple[int, ...], ...]:
        """Positions of what each criterion needs."""
        return self.shape.needs


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Criteria of all shapes, one after the other: those of shape s are `size[s]` from `start[s]` on."""

    start: Ints
    size: Ints
    weight: Floats
    mark: Floats
    dimension: Ints
    layer: Ints
    obligation: Bools
    in_rule: Bools
    gate: Bools
    judged: Bools
    """Without a check: people and judges answer yes or no."""
    needy: Bools
    weights: tuple[Decimal, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The whole suite. `dimensions` are those in use, correctness first; `layers` always all four.

    `weight` is the raw vote of each task; where votes follow a tag, `group` is the group of each task and `share` that
    of each group.
    """

    suite: Suite
    tasks: tuple[TaskPlan, ...]
    index: Mapping[str, int]
    display: tuple[int, ...]
    dimensions: tuple[str, ...]
    layers: tuple[str, ...]
    shapes: tuple[Shape, ...]
    shape_of: Ints
    asked: Asked
    weight: Floats
    group: Ints | None
    share: Floats | None


def is_in_acceptance(criterion: Criterion, task: Task) -> bool:
    """Whether a criterion belongs to the task's acceptance rule; a pass mark of 0 never does."""
    rule = task.complete_when
    if criterion.pass_mark == 0:
        return False
    named = criterion.dimension in rule.dimensions or criterion.id in rule.criteria
    return named or (criterion.gate and rule.gates)


def plan(suite: Suite) -> Plan:
    """Lay a suite out as columns."""
    ordered = sorted(suite.tasks, key=lambda task: task.id)
    known: dict[Any, int] = {}
    shapes: list[Shape] = []
    shape_of = []
    for task in ordered:
        place = known.setdefault(_shape_key(task), len(shapes))
        if place == len(shapes):
            shapes.append(_shape(task))
        shape_of.append(place)
    tasks = tuple(
        TaskPlan(task=task, shape=shapes[place]) for task, place in zip(ordered, shape_of, strict=True)
    )
    index = {task.id: position for position, task in enumerate(ordered)}
    used = {criterion.dimension for shape in shapes for criterion in shape.example.criteria}
    dimensions = _dimension_order(suite, used)
    group, share = _groups(suite, ordered)
    return Plan(
        suite=suite,
        tasks=tasks,
        index=index,
        display=tuple(index[task.id] for task in suite.tasks),
        dimensions=dimensions,
        layers=LAYERS,
        shapes=tuple(shapes),
        shape_of=np.array(shape_of, dtype=np.int64),
        asked=_asked(shapes, dimensions),
        weight=np.array([1.0 if task.weight is None else float(task.weight) for task in ordered]),
        group=group,
        share=share,
    )


def with_tasks(layout: Plan, suite: Suite, places: Iterable[int]) -> Plan:
    """The plan of a standard that differs in these tasks only: in weights, and in which criteria are gates."""
    changed = {task.id: task for task in suite.tasks}
    tasks, shapes = list(layout.tasks), list(layout.shapes)
    shape_of, weight = layout.shape_of.copy(), layout.weight.copy()
    for place in places:
        task = changed[layout.tasks[place].task.id]
        shape_of[place] = len(shapes)
        shapes.append(_shape(task))
        tasks[place] = TaskPlan(task=task, shape=shapes[-1])
        weight[place] = 1.0 if task.weight is None else float(task.weight)
    return msgspec.structs.replace(
        layout, suite=suite, tasks=tuple(tasks), shapes=tuple(shapes), shape_of=shape_of, weight=weight,
        asked=_asked(shapes, layout.dimensions),
    )  # fmt: skip


def _groups(suite: Suite, tasks: Sequence[Task]) -> tuple[Ints | None, Floats | None]:
    if suite.weights is None:
        return None, None
    places = {name: place for place, name in enumerate(suite.weights.shares)}
    group = np.array([places[task.tags[suite.weights.by]] for task in tasks], dtype=np.int64)
    return group, np.array([float(share) for share in suite.weights.shares.values()])


def _dimension_order(suite: Suite, used: set[str]) -> tuple[str, ...]:
    """Correctness first, then as declared, then the rest by name."""
    declared = [name for name in suite.dimensions if name in used]
    rest = sorted(used - set(declared))
    return tuple(sorted(dict.fromkeys([*declared, *rest]), key=lambda name: name != OBLIGATION))


def _shape_key(task: Task) -> Any:
    """Equal where two tasks ask the same of a trial, as far as scoring can tell."""
    return task.complete_when, tuple(
        (each.id, each.dimension, each.layer, each.weight, each.pass_mark, each.gate, each.needs, each.check is None)
        for each in task.criteria
    )  # fmt: skip


def _shape(task: Task) -> Shape:
    order = tuple(sorted(range(len(task.criteria)), key=lambda place: task.criteria[place].id))
    criteria = tuple(task.criteria[place] for place in order)
    index = {criterion.id: position for position, criterion in enumerate(criteria)}
    needs = tuple(tuple(index[need] for need in criterion.needs) for criterion in criteria)
    levels = [0] * len(criteria)
    for criterion in task.criteria:  # file order: needs point to earlier criteria
        position = index[criterion.id]
        levels[position] = 1 + max((levels[need] for need in needs[position]), default=-1)
    return Shape(
        ids=tuple(criterion.id for criterion in criteria),
        index=index,
        order=order,
        display=tuple(index[criterion.id] for criterion in task.criteria),
        in_rule=tuple(is_in_acceptance(criterion, task) for criterion in criteria),
        needs=needs,
        levels=tuple(levels),
        example=task,
    )


def _asked(shapes: Sequence[Shape], dimensions: Sequence[str]) -> Asked:
    criteria = [criterion for shape in shapes for criterion in shape.criteria]
    size = np.array([len(shape.ids) for shape in shapes], dtype=np.int64)
    places = {name: place for place, name in enumerate(dimensions)}
    layers = {name: place for place, name in enumerate(LAYERS)}
    return Asked(
        start=np.cumsum(size) - size,
        size=size,
        weight=np.array([float(each.weight) for each in criteria]),
        mark=np.array([float(each.pass_mark) for each in criteria]),
        dimension=np.array([places[each.dimension] for each in criteria], dtype=np.int64),
        layer=np.array([layers[each.layer] for each in criteria], dtype=np.int64),
        obligation=np.array([each.dimension == OBLIGATION for each in criteria], dtype=np.bool_),
        in_rule=np.array([flag for shape in shapes for flag in shape.in_rule], dtype=np.bool_),
        gate=np.array([each.gate for each in criteria], dtype=np.bool_),
        judged=np.array([each.check is None for each in criteria], dtype=np.bool_),
        needy=np.array([bool(needs) for shape in shapes for needs in shape.needs], dtype=np.bool_),
        weights=tuple(each.weight for each in criteria),
    )


def task_weights(layout: Plan, voting: Bools) -> Floats:
    """The relative vote of each task among those that `voting` marks; 0 for the others.

    One vote a task; or its declared weight; or, by a tag, its group's share divided equally inside the group, with
    the shares renormalised over the groups that have a voting task.
    """
    if layout.group is None or layout.share is None:
        return np.where(voting, layout.weight, 0.0)
    sizes = np.bincount(layout.group[voting], minlength=len(layout.share))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(voting, (layout.share / sizes)[layout.group], 0.0)
