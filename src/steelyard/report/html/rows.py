"""The rows and columns of a page's tables: the matrix of verdicts, the tasks, the criteria. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from steelyard.model.standard import Criterion, Suite
from steelyard.model.table import CriterionScore, ScoreTable, TaskScore, TrialScore
from steelyard.report.html.marks import MARKS, WORDS
from steelyard.report.numbers import quantity, span

MOST_COLUMNS = 40
"""Criteria with a column of their own; beyond, those of a dimension are lined up by their order in the task."""

STAND_IN = "no execution counted"
"""The state of a trial that nobody recorded: it holds the votes of a task whose trials all ended by faults."""

OUTCOMES = tuple(MARKS)

TrialId = tuple[str, int]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the matrix, in the group of its dimension."""

    dimension: str
    label: str


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict in the matrix, in the column with this index."""

    column: int
    score: CriterionScore


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """One trial. `label` names the trial only where the task has several."""

    task: int
    trial: TrialScore
    label: str
    state: str
    """`complete`, `not complete`, `open` (missing verdicts could decide), `fault`, `nothing recorded` or `STAND_IN`."""
    cells: tuple[Cell, ...]


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One task as texts with the numbers to sort them by: trials, completion, each dimension of the table."""

    id: str
    weight: float
    complete: tuple[str, float]
    trials: int
    completion: tuple[str, float | None]
    dimensions: tuple[tuple[str, float | None], ...]


class CriterionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One criterion over all counted trials. `rule` is empty where tasks word it differently."""

    id: str
    dimension: str
    gate: bool
    counts: Mapping[str, int]
    tasks: int
    rule: str
    tag: str
    """Its most frequent failure tag."""


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the tables of a page show."""

    columns: tuple[Column, ...]
    by_order: bool
    """Columns stand for the order of criteria in their task and dimension, not for one criterion."""
    matrix: tuple[MatrixRow, ...]
    tasks: tuple[TaskRow, ...]
    criteria: tuple[CriterionRow, ...]
    """Empty where the table has no detail of some trials: counts of the others would be no counts of the run."""
    dimensions: tuple[str, ...]


def rows(table: ScoreTable, suite: Suite) -> Rows:
    """The rows of a table under its standard, in the order of the table."""
    dimensions = tuple(table.dimensions)
    places, columns, by_order = _columns(table, dimensions)
    return Rows(
        columns=columns,
        by_order=by_order,
        matrix=tuple(_matrix(table, places, by_order)),
        tasks=tuple(_task(task, dimensions) for task in table.tasks),
        criteria=() if table.left_out is not None else tuple(_criteria(table, suite)),
        dimensions=dimensions,
    )


def rule_of(suite: Suite) -> dict[tuple[str, str], Criterion]:
    """Criteria by (task id, criterion id)."""
    return {(task.id, criterion.id): criterion for task in suite.tasks for criterion in task.criteria}


# --- the matrix ------------------------------------------------------------------------------------


def _keys(trial: TrialScore, by_order: bool) -> Iterator[tuple[tuple[str, str], CriterionScore]]:
    counted: Counter[str] = Counter()
    for criterion in trial.criteria:
        counted[criterion.dimension] += 1
        label = str(counted[criterion.dimension]) if by_order else criterion.id
        yield (criterion.dimension, label), criterion


def _columns(
    table: ScoreTable, dimensions: tuple[str, ...]
) -> tuple[dict[tuple[str, str], int], tuple[Column, ...], bool]:
    trials = [trial for task in table.tasks for trial in task.trials]
    for by_order in (False, True):
        found = dict.fromkeys(key for trial in trials for key, _ in _keys(trial, by_order))
        if len(found) <= MOST_COLUMNS:
            break
    rank = {name: place for place, name in enumerate(dimensions)}
    ordered = sorted(found, key=lambda key: rank.get(key[0], len(rank)))  # stable inside a dimension
    columns = tuple(Column(dimension=dimension, label=label) for dimension, label in ordered)
    return {key: place for place, key in enumerate(ordered)}, columns, by_order


def _matrix(table: ScoreTable, places: Mapping[tuple[str, str], int], by_order: bool) -> Iterator[MatrixRow]:
    faulted = {notice.where for notice in table.notices if notice.code == "only_faults"}
    for number, task in enumerate(table.tasks):
        for trial in task.trials:
            stand_in = trial.placeholder and task.id in faulted
            label = task.id if len(task.trials) == 1 else f"{task.id}#{trial.trial}"
            if stand_in:
                label = f"{task.id}, stand-in"
            cells = (Cell(column=places[key], score=score) for key, score in _keys(trial, by_order))
            yield MatrixRow(
                task=number, trial=trial, label=label,
                state=STAND_IN if stand_in else state_of(trial),
                cells=tuple(sorted(cells, key=lambda cell: cell.column)),
            )  # fmt: skip


def state_of(trial: TrialScore) -> str:
    """One word or two for what became of a trial."""
    if trial.placeholder:
        return "nothing recorded"
    if not trial.counted:
        return "fault"
    if trial.complete:
        return "complete"
    return "open" if trial.possibly_complete else "not complete"


# --- tasks and criteria ----------------------------------------------------------------------------


def _task(task: TaskScore, dimensions: tuple[str, ...]) -> TaskRow:
    counts: Mapping[str, int] = task.completion.get("trials", {})
    done, of = counts.get("complete", 0), counts.get("of", 0)
    return TaskRow(
        id=task.id,
        weight=task.weight,
        complete=(f"{done:,} of {of:,}", done / of if of else -1.0),
        trials=len(task.trials),
        completion=_bounds(task.completion),
        dimensions=tuple(_bounds(task.dimensions.get(name)) for name in dimensions),
    )


def _bounds(scored: Mapping[str, Any] | None) -> tuple[str, float | None]:
    if scored is None:
        return "", None
    low = scored.get("low")
    return span(low, scored.get("high")), low


def _criteria(table: ScoreTable, suite: Suite) -> Iterator[CriterionRow]:
    known = rule_of(suite)
    found: dict[tuple[str, str], list[tuple[str, CriterionScore]]] = {}
    for task in table.tasks:
        for trial in task.trials:
            for score in trial.criteria if trial.counted or trial.placeholder else ():
                found.setdefault((score.dimension, score.id), []).append((task.id, score))
    rank = {name: place for place, name in enumerate(table.dimensions)}
    for (dimension, name), scores in sorted(found.items(), key=lambda entry: rank.get(entry[0][0], 99)):
        rules = {known[task, name].rule for task, _ in scores if (task, name) in known}
        tags = Counter(score.failure_tag for _, score in scores if score.outcome == "fail")
        most = next((tag for tag, _ in tags.most_common() if tag), "")
        yield CriterionRow(
            id=name,
            dimension=dimension,
            gate=any(score.gate for _, score in scores),
            counts=Counter(score.outcome for _, score in scores),
            tasks=len({task for task, _ in scores}),
            rule=rules.pop() if len(rules) == 1 else "",
            tag=most,
        )


def verdict_words(score: CriterionScore) -> str:
    """`pass`, or `fail, score 0.8`."""
    words = WORDS.get(score.outcome, score.outcome)
    return words if score.score is None else f"{words}, score {quantity(score.score)}"


def cause_of_skip(score: CriterionScore) -> str:
    """Why a verdict was skipped, in words; empty for others."""
    if score.outcome != "skipped":
        return ""
    return (
        "skipped, since a criterion that it needs failed"
        if score.cause == "fail"
        else "skipped, since a criterion that it needs has no pass; it could still count"
    )
