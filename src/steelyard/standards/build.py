"""Standards written in Python: plain functions that give the same records as a file, through the same checks.

    from steelyard.standards import build

    capitals = build.suite(
        name="capitals",
        owner="jo@example.com",
        tasks=[
            build.task(
                id="france",
                prompt="What is the capital of France? Answer with the name only.",
                criteria=[
                    build.criterion(
                        id="C1",
                        dimension="correctness",
                        rule="The answer MUST be Paris.",
                        check=build.check("equals", value="Paris"),
                    )
                ],
            )
        ],
    )

The keys are those of the suite file. Numbers may be int, float or Decimal; a record of the library may stand for its
mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.model.standard import Suite
from steelyard.standards.nodes import from_python
from steelyard.standards.parse import suite_of_nodes
from steelyard.standards.problems import Problems
from steelyard.standards.shapes import SCHEMA


def suite(*, name: str, owner: str, tasks: Sequence[Any] = (), folder: str = ".", **keys: Any) -> Suite:
    """A validated suite. `keys` are the other keys of the file. Raises `StandardError` with every problem."""
    fields = {"schema": SCHEMA, "name": name, "owner": owner, **keys}
    if tasks or "tasks_from" not in keys:
        fields["tasks"] = list(tasks)
    return suite_of(fields, folder=folder)


def suite_of(fields: Mapping[str, Any], *, name: str = "suite", folder: str = ".") -> Suite:
    """A validated suite from the mapping that a file would hold. `name` is how messages call it."""
    problems = Problems()
    return suite_of_nodes(from_python(fields, problems), problems, name=name, folder=folder)


def task(*, id: str, prompt: str, criteria: Sequence[Any], **keys: Any) -> dict[str, Any]:
    """One task; `keys` are the other keys of a task in the file."""
    return {"id": id, "prompt": prompt, "criteria": list(criteria), **keys}


def criterion(*, id: str, dimension: str, rule: str, **keys: Any) -> dict[str, Any]:
    """One criterion; `keys` are the other keys of a criterion in the file."""
    return {"id": id, "dimension": dimension, "rule": rule, **keys}


def use(rubric: str, **keys: Any) -> dict[str, Any]:
    """A shared criterion by the name of its rubric."""
    return {"use": rubric, **keys}


def check(kind: str, **parameters: Any) -> dict[str, Any]:
    """A check of a kind."""
    return {"kind": kind, **parameters}
