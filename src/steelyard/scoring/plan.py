"""The standard as columns: who is asked what, with which weight, and what acceptance needs.

Tasks and criteria stand in the order of their ids, not of the file, so that sums never depend on file order.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from steelyard.model.standard import LAYERS, OBLIGATION, Criterion, Suite, Task


class TaskPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One task: its criteria by id, where each stands, which votes in acceptance, and what it needs.

    `display` lists criterion positions in the order of the file. `levels[i]` is 0 for a criterion without needs,
    else one more than the deepest of its needs.
    """

    task: Task
    criteria: tuple[Criterion, ...]
    index: Mapping[str, int]
    display: tuple[int, ...]
    in_rule: tuple[bool, ...]
    needs: tuple[tuple[int, ...], ...]
    levels: tuple[int, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The whole suite. `dimensions` are those in use, correctness first; `layers` always all four."""

    suite: Suite
    tasks: tuple[TaskPlan, ...]
    index: Mapping[str, int]
    display: tuple[int, ...]
    dimensions: tuple[str, ...]
    layers: tuple[str, ...]


def is_in_acceptance(criterion: Criterion, task: Task) -> bool:
    """Whether a criterion belongs to the task's acceptance rule; a pass mark of 0 never does."""
    rule = task.complete_when
    if criterion.pass_mark == 0:
        return False
    named = criterion.dimension in rule.dimensions or criterion.id in rule.criteria
    return named or (criterion.gate and rule.gates)


def plan(suite: Suite) -> Plan:
    """Lay a suite out as columns."""
    tasks = tuple(_task_plan(task) for task in sorted(suite.tasks, key=lambda task: task.id))
    index = {entry.task.id: position for position, entry in enumerate(tasks)}
    used = {criterion.dimension for task in suite.tasks for criterion in task.criteria}
    return Plan(
        suite=suite,
        tasks=tasks,
        index=index,
        display=tuple(index[task.id] for task in suite.tasks),
        dimensions=_dimension_order(suite, used),
        layers=LAYERS,
    )


def _dimension_order(suite: Suite, used: set[str]) -> tuple[str, ...]:
    """Correctness first, then as declared, then the rest by name."""
    declared = [name for name in suite.dimensions if name in used]
    rest = sorted(used - set(declared))
    return tuple(sorted(dict.fromkeys([*declared, *rest]), key=lambda name: name != OBLIGATION))


def _task_plan(task: Task) -> TaskPlan:
    criteria = tuple(sorted(task.criteria, key=lambda criterion: criterion.id))
    index = {criterion.id: position for position, criterion in enumerate(criteria)}
    needs = tuple(tuple(index[need] for need in criterion.needs) for criterion in criteria)
    levels = [0] * len(criteria)
    for criterion in task.criteria:  # file order: needs point to earlier criteria
        position = index[criterion.id]
        levels[position] = 1 + max((levels[need] for need in needs[position]), default=-1)
    return TaskPlan(
        task=task,
        criteria=criteria,
        index=index,
        display=tuple(index[criterion.id] for criterion in task.criteria),
        in_rule=tuple(is_in_acceptance(criterion, task) for criterion in criteria),
        needs=needs,
        levels=tuple(levels),
    )


def task_weights(suite: Suite, tasks: tuple[TaskPlan, ...], voting: tuple[bool, ...]) -> list[float]:
    """The relative vote of each task among those that `voting` marks; 0 for the others.

    One vote a task; or its declared weight; or, by a tag, its group's share divided equally inside the group, with
    the shares renormalised over the groups that have a voting task.
    """
    if suite.weights is not None:
        shares, tag = suite.weights.shares, suite.weights.by
        sizes: dict[str, int] = {}
        for entry, vote in zip(tasks, voting, strict=True):
            if vote:
                sizes[entry.task.tags[tag]] = sizes.get(entry.task.tags[tag], 0) + 1
        return [
            float(shares[entry.task.tags[tag]]) / sizes[entry.task.tags[tag]] if vote else 0.0
            for entry, vote in zip(tasks, voting, strict=True)
        ]
    return [
        float(_raw_weight(entry.task)) if vote else 0.0 for entry, vote in zip(tasks, voting, strict=True)
    ]


def _raw_weight(task: Task) -> Decimal:
    return Decimal(1) if task.weight is None else task.weight
