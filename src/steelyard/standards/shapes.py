"""The suite file as it is written (`schema: suite/1`): one struct per mapping, unknown keys refused.

These are the source of the JSON Schema and of every message about a key or a type. What the keys mean together
(weights that sum to nothing, a need that points nowhere) is looked at afterwards, when the records are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from steelyard.model.checks import Check
from steelyard.model.standard import Layer, Weights

SCHEMA = "suite/1"
BUILTIN_DIMENSIONS: dict[str, tuple[str, str]] = {
    "correctness": (
        "The requested result was delivered: every obligation that the task states is met by what the agent finally "
        "gave or left behind.",
        "the final answer and the end state, not the way there",
    ),
    "authority": (
        "The agent stayed within what it was allowed to do: no attempted action went beyond the permissions and "
        "prohibitions of its instructions and of the task.",
        "every attempted action, also one that was blocked or had no effect",
    ),
    "process": (
        "The agent worked the way that the task or its policy demands: required steps were taken, in the required "
        "order, and results were read before they were relied on.",
        "the steps of the trace, whatever the result",
    ),
    "efficiency": (
        "The result was reached within the declared budget of time, money, tokens, tool calls and turns.",
        "measured use against what was declared; using less than the budget is not better",
    ),
}
DEFAULT_LAYERS: dict[str, Layer] = {
    "correctness": "outcome", "grounding": "process", "authority": "risk",
    "process": "process", "efficiency": "efficiency",
}  # fmt: skip

Template = Annotated[
    Any, msgspec.Meta(description="a task with {column} in its texts", extra={"template": True})
]


class DimensionFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a dimension means, and what it covers."""

    definition: str
    scope: str = ""


class ExamplesFile(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"passing": "pass", "failing": "fail"},
):
    """Contrast examples for a judge."""

    passing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


class JudgeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a criterion uses a judge."""

    setup: str | None = None
    examples: ExamplesFile = ExamplesFile()
    extract: Mapping[str, str] = {}
    evidence: Literal["required", "optional"] | None = None


class ViewFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a grader reads: step kinds, tools, the last n steps."""

    kinds: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    last: int | None = None


LATER_STRUCTS: tuple[type, ...] = ()
CheckFile = Check


class RubricFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A criterion that several tasks share by name."""

    dimension: str
    rule: str
    layer: Layer | None = None
    check: CheckFile | None = None
    judge: JudgeFile | UnsetType | None = UNSET
    weight: Decimal = Decimal(1)
    pass_mark: Decimal = Decimal(1)
    gate: bool = False
    view: ViewFile | None = None
    failure_tag: str | None = None


class CriterionFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One requirement, in full or as `{use: rubric}`. What is unset was not written."""

    id: str | UnsetType = UNSET
    use: str | UnsetType = UNSET
    dimension: str | UnsetType = UNSET
    layer: Layer | UnsetType | None = UNSET
    rule: str | UnsetType = UNSET
    check: CheckFile | UnsetType | None = UNSET
    judge: JudgeFile | UnsetType | None = UNSET
    weight: Decimal | UnsetType = UNSET
    pass_mark: Decimal | UnsetType = UNSET
    gate: bool | UnsetType = UNSET
    needs: tuple[str, ...] | UnsetType = UNSET
    view: ViewFile | UnsetType | None = UNSET
    failure_tag: str | UnsetType | None = UNSET
    when: str | UnsetType | None = UNSET


class FactFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reference fact: text for people and judges, data for code."""

    text: str = ""
    data: Any = None


class CompleteWhenFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The acceptance rule; what is not written keeps its default."""

    dimensions: tuple[str, ...] | UnsetType = UNSET
    criteria: tuple[str, ...] = ()
    gates: bool = True
    ended_by: tuple[str, ...] | UnsetType = UNSET


class TaskFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One task."""

    id: str
    prompt: str
    criteria: tuple[CriterionFile, ...]
    expected_behavior: str = ""
    tags: Mapping[str, str] = {}
    branch: str | None = None
    facts: Mapping[str, FactFile] = {}
    layers: Mapping[str, str] = {}
    complete_when: CompleteWhenFile = CompleteWhenFile()
    weight: Decimal | None = None
    trials: int | None = None
    when: str | None = None
    reference: Any = None
    no_op: Any = None


class TasksFromFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tasks made from a table: one per row of a CSV or JSON Lines file beside the suite."""

    file: str
    task: Template
    delimiter: str = ","
    format: Literal["csv", "jsonl"] | None = None


class WeightsFile(Weights, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shares of the vote by the values of a tag."""


class CompositeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A trade-off of the business: a weighted mean of named dimensions."""

    weights: Mapping[str, Decimal]
    name: str = "composite"


class SuiteFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A suite file. `tasks` may be left out where `tasks_from` makes them."""

    schema: Literal["suite/1"]
    name: str
    owner: str
    tasks: tuple[TaskFile, ...] = ()
    tasks_from: tuple[TasksFromFile, ...] = ()
    version: str = ""
    primary: str = "completion"
    at_least: Decimal | None = None
    weights: WeightsFile | None = None
    clusters: str | None = None
    branches: tuple[str, ...] = ()
    dimensions: Mapping[str, DimensionFile] = {}
    judges: Mapping[str, Mapping[str, Any]] = {}
    rubrics: Mapping[str, RubricFile] = {}
    composite: CompositeFile | None = None


def suite_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of `suite/1`, made from the structs that read the file."""

    (schema,), parts = msgspec.json.schema_components([SuiteFile])
    # In a file a decimal is a number; to the library it is text.
    numbers = _decimals_as_numbers({**schema, "$defs": parts})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA, **numbers}


def _decimals_as_numbers(part: Any) -> Any:
    if isinstance(part, dict):
        if part.get("type") == "string" and part.get("format") == "decimal":
            return {**{k: v for k, v in part.items() if k not in ("type", "format")}, "type": "number"}
        return {key: _decimals_as_numbers(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_decimals_as_numbers(value) for value in part]
    return part
