"""The standard: a suite of tasks, fixed before any run. Frozen; built by the `standards` room or in Python."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import msgspec

from steelyard.model.checks import Check, LaterCheck

Layer = Literal["outcome", "process", "efficiency", "risk"]
LAYERS: tuple[Layer, ...] = ("outcome", "process", "efficiency", "risk")
OBLIGATION = "correctness"
"""The one dimension of obligations; every other one is auxiliary (separately reported)."""


class Dimension(msgspec.Struct, frozen=True, kw_only=True):
    """A property that is scored on its own. The name alone does not say which definition was used."""

    name: str
    definition: str
    scope: str = ""


class Examples(msgspec.Struct, frozen=True, kw_only=True, rename={"passing": "pass", "failing": "fail"}):
    """Contrast examples for a judge."""

    passing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


class JudgeUse(msgspec.Struct, frozen=True, kw_only=True):
    """How a criterion uses a judge. In this version its verdicts come from recorded rows."""

    setup: str | None = None
    examples: Examples = Examples()
    extract: Mapping[str, str] = {}
    evidence: Literal["required", "optional"] | None = None


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Narrows what a grader reads: step kinds, tools, the last n steps. Never silently."""

    kinds: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    last: int | None = None


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement. `weight` >= 0 (0: shown, no vote); `pass_mark` in 0..1 (0: report only).

    `needs` names earlier criteria of the same task. `rubric` is the shared rubric's name, if it came from one.
    """

    id: str
    dimension: str
    layer: Layer
    rule: str
    check: Check | LaterCheck | None = None
    judge: JudgeUse | None = None
    rubric: str | None = None
    weight: Decimal = Decimal(1)
    pass_mark: Decimal = Decimal(1)
    gate: bool = False
    needs: tuple[str, ...] = ()
    view: View | None = None
    failure_tag: str | None = None


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A reference fact of a task: text for people and judges, data (any JSON) for code."""

    text: str = ""
    data: Any = None


class CompleteWhen(msgspec.Struct, frozen=True, kw_only=True):
    """The acceptance rule: these dimensions whole, these criteria, every gate, and how the trial ended."""

    dimensions: tuple[str, ...] = (OBLIGATION,)
    criteria: tuple[str, ...] = ()
    gates: bool = True
    ended_by: tuple[str, ...] = ("agent_stop", "user_stop")


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task. `weight` null: one vote. `trials`: how many were planned (null: as many as are recorded)."""

    id: str
    prompt: str
    criteria: tuple[Criterion, ...]
    expected_behavior: str = ""
    tags: Mapping[str, str] = {}
    branch: str | None = None
    facts: Mapping[str, Fact] = {}
    layers: Mapping[str, str] = {}
    complete_when: CompleteWhen = CompleteWhen()
    weight: Decimal | None = None
    trials: int | None = None
    reference: Any = None
    no_op: Any = None


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the vote by the values of a tag; tasks vote equally inside their group."""

    by: str
    shares: Mapping[str, Decimal]
    basis: str = ""
    source: str = ""


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """A task or criterion that a declared `when` left out before any run."""

    task: str
    criterion: str | None
    when: str


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """A validated standard.

    `primary` is `completion` or `dimension:<name>`; `at_least` its bar in 0..1 (null: 1). `hash` is the SHA-256 of
    the content, the same whatever file format or comments it was written with. `folder` is where relative files of
    the suite are looked up; it is not part of the content. `notices` are lint findings and declared parts that this
    version does not use.
    """

    name: str
    owner: str
    tasks: tuple[Task, ...]
    dimensions: Mapping[str, Dimension]
    version: str = ""
    primary: str = "completion"
    at_least: Decimal | None = None
    weights: Weights | None = None
    clusters: str | None = None
    branches: tuple[str, ...] = ()
    judges: Mapping[str, Any] = {}
    composite: Any = None
    excluded: tuple[Excluded, ...] = ()
    hash: str = ""
    folder: str = "."
    notices: tuple[str, ...] = ()
