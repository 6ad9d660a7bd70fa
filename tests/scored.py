"""Small suites and rows for tests, through the real loader and the real row reader."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.grading.rows import Row, read_row
from steelyard.model.standard import Suite
from steelyard.model.table import Average, CriterionScore, ScoreTable
from steelyard.model.trace import Quarantined
from steelyard.scoring import score
from steelyard.standards import parse_suite

DEFINITION = {"definition": "A property that this test declares.", "scope": ""}


def criterion(name: str, dimension: str = "correctness", **settings: Any) -> dict[str, Any]:
    """One criterion whose verdicts are recorded; dimensions without a built-in layer get `process`."""
    built_in = ("correctness", "authority", "process", "efficiency")
    layer = {} if dimension in built_in else {"layer": "process"}
    rule = f"The result MUST satisfy {name}."
    return {
        "id": name,
        "dimension": dimension,
        "rule": rule,
        "check": {"kind": "recorded"},
        **layer,
        **settings,
    }


def task(name: str, *criteria: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """One task."""
    return {"id": name, "prompt": f"Do {name}.", "criteria": list(criteria), **settings}


def suite(*tasks: Mapping[str, Any], folder: str = ".", **settings: Any) -> Suite:
    """A suite through the loader; every dimension without a built-in definition is declared."""
    built_in = ("correctness", "authority", "process", "efficiency")
    used = {entry["dimension"] for each in tasks for entry in each["criteria"]}
    dimensions = {name: DEFINITION for name in sorted(used) if name not in built_in}
    value = {
        "schema": "suite/1",
        "name": "test",
        "owner": "jo@example.com",
        "dimensions": dimensions,
        "tasks": list(tasks),
    }
    text = json.dumps({**value, **settings})
    return parse_suite(text.encode(), name="test.json", format="json", folder=folder)


def graded(task: str, criterion: str, score: Any, trial: int = 1, **more: Any) -> dict[str, Any]:
    """A graded row as a person would write it."""
    return {"task": task, "trial": trial, "criterion": criterion, "status": "graded", "score": score, **more}


def ungraded(task: str, criterion: str, status: str, trial: int = 1) -> dict[str, Any]:
    """A row without a score: unknown, error or skipped."""
    return {"task": task, "trial": trial, "criterion": criterion, "status": status}


def read(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows through the reader; a row that it cannot place fails the test that wrote it."""
    found = [read_row(f"rows.jsonl:{number}", json.dumps(row).encode()) for number, row in enumerate(rows, 1)]
    assert not [row for row in found if isinstance(row, Quarantined)]
    return [row for row in found if not isinstance(row, Quarantined)]


def scored(standard: Suite, rows: Sequence[Mapping[str, Any]]) -> ScoreTable:
    """The score table of plain rows."""
    return score(standard, read(rows))


def average(table: ScoreTable, dimension: str = "correctness") -> Average:
    """The task average of a dimension."""
    return table.dimensions[dimension].task_average


def cell(table: ScoreTable, task: str, criterion: str, trial: int = 1) -> CriterionScore:
    """One criterion as scored."""
    return next(
        entry
        for each in table.tasks
        if each.id == task
        for run in each.trials
        if run.trial == trial
        for entry in run.criteria
        if entry.id == criterion
    )
