"""Suite texts for the tests of the standards room."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.errors import StandardError
from steelyard.model.standard import Suite
from steelyard.standards import parse_suite

HEAD = "schema: suite/1\nname: small\nowner: jo@example.com\n"
CHECK = "check: {kind: equals, value: Paris}"
CRITERION = '{id: C1, dimension: correctness, rule: "The answer MUST be Paris.", ' + CHECK + "}"
TASK = f"  - id: t1\n    prompt: Where?\n    criteria:\n      - {CRITERION}\n"


def read(text: str | bytes, form: str = "yaml", folder: str = ".") -> Suite:
    data = text.encode() if isinstance(text, str) else text
    return parse_suite(data, name=f"suite.{form}", format=form, folder=folder)


def problems(text: str | bytes, form: str = "yaml", folder: str = ".") -> tuple[str, ...]:
    with pytest.raises(StandardError) as caught:
        read(text, form, folder)
    return caught.value.problems


def with_suite(keys: str) -> str:
    """A small suite with more suite keys."""
    return f"{HEAD}{keys}\ntasks:\n{TASK}"


def with_task(keys: str) -> str:
    """A small suite with more keys in its task."""
    return f"{HEAD}tasks:\n{TASK}    {keys}\n"


def with_criteria(*criteria: str, head: str = "", task: str = "") -> str:
    """A suite of one task with these criteria."""
    lines = "".join(f"      - {criterion}\n" for criterion in criteria)
    more = f"    {task}\n" if task else ""
    return f"{HEAD}{head}\ntasks:\n  - id: t1\n    prompt: Where?\n{more}    criteria:\n{lines}"


def with_check(check: str, task: str = "", judge: str = "") -> str:
    """A suite of one criterion with this check."""
    more = f", judge: {judge}" if judge else ""
    return with_criteria(
        f"{{id: C1, dimension: correctness, rule: It MUST hold., check: {check}{more}}}", task=task
    )


def plain(**keys: Any) -> dict[str, Any]:
    """The smallest suite as plain data."""
    criterion = {
        "id": "C1", "dimension": "correctness", "rule": "The answer MUST be Paris.",
        "check": {"kind": "equals", "value": "Paris"},
    }  # fmt: skip
    task = {"id": "t1", "prompt": "Where?", "criteria": [criterion]}
    return {"schema": "suite/1", "name": "small", "owner": "jo@example.com", "tasks": [task], **keys}
