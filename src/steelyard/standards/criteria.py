"""One criterion of the file to one record: defaults, shared rubrics, and what must hold for it alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from steelyard.model.checks import Check, ExprCheck, LaterCheck
from steelyard.model.standard import Criterion, Dimension, Examples, Fact, JudgeUse, View
from steelyard.standards.check_rules import Finding, check_findings, file_findings
from steelyard.standards.expressions import task_findings
from steelyard.standards.problems import Path, Problems, quoted, suggestion
from steelyard.standards.shapes import (
    DEFAULT_LAYERS,
    LATER_STRUCTS,
    CriterionFile,
    JudgeFile,
    RubricFile,
    ViewFile,
)
from steelyard.standards.typed import struct_fields

BESIDE_USE = ("id", "use", "weight", "gate", "needs", "pass_mark", "failure_tag", "layer", "when")
EXTRACT_KINDS = ("integer", "number", "text", "string", "boolean", "array", "object")


@dataclass
class Setting:
    """What the parts of a suite refer to, and where problems go. `damaged`: top-level keys already reported."""

    problems: Problems
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)
    rubrics: Mapping[str, RubricFile] = field(default_factory=dict)
    judges: Mapping[str, Any] = field(default_factory=dict)
    branches: tuple[str, ...] = ()
    folder: str = "."
    damaged: frozenset[str] = frozenset()
    used_rubrics: set[str] = field(default_factory=set)

    def problem(self, path: Path, message: str, row: str | None) -> None:
        self.problems.add(path, message, row=row)


@dataclass(frozen=True)
class Place:
    """Where a part stands, and the table row that made it."""

    path: Path
    row: str | None

    def at(self, *steps: str | int) -> Path:
        return (*self.path, *steps)


def name_fault(text: str) -> str | None:
    """Why a text cannot be an id: ids are any text that can be read and typed, up to their control characters."""
    if not text.strip():
        return "is empty"
    if not text.isprintable() and any(unicodedata.category(c) == "Cc" for c in text):
        return f"holds a control character ({quoted(text)}); an id is one line of text"
    return None


def check_rubrics(setting: Setting) -> None:
    """What must hold for a shared criterion wherever it is used."""
    for name, rubric in setting.rubrics.items():
        place = Place(("rubrics", name), None)
        if name_fault(name):
            setting.problem(place.path, f"the name {name_fault(name)}", None)
        _check_own(setting, place, _rubric_fields(rubric))


def resolve(setting: Setting, place: Place, file: CriterionFile) -> Criterion | None:
    """The record, or None when a key that it cannot do without is missing or refers to nothing."""
    fields = struct_fields(file)
    if file.use is not UNSET:
        fields = _with_rubric(setting, place, fields, file.use)
    else:
        missing = [key for key in ("id", "dimension", "rule") if key not in fields]
        for key in missing:
            hint = " (or `use` a rubric)" if key == "dimension" and setting.rubrics else ""
            setting.problem(place.path, f"the key '{key}' is missing{hint}", place.row)
        if missing:
            return None
        _check_own(setting, place, fields)
    _check_shared(setting, place, fields)
    layer = fields.get("layer") or DEFAULT_LAYERS.get(fields.get("dimension", ""))
    if "dimension" not in fields:
        return None
    if layer is None and fields["dimension"] not in setting.dimensions:
        return None
    if layer is None:
        setting.problem(
            place.path,
            f"the key 'layer' is missing: {fields['dimension']!r} has no default; it is one of outcome, process, "
            "efficiency, risk",
            place.row,
        )
        return None
    return Criterion(
        id=fields["id"],
        dimension=fields["dimension"],
        layer=layer,
        rule=fields["rule"],
        check=record_of_check(fields.get("check")),
        judge=record_of_judge(fields.get("judge", UNSET)),
        rubric=fields.get("rubric"),
        weight=fields.get("weight", Decimal(1)),
        pass_mark=fields.get("pass_mark", Decimal(1)),
        gate=fields.get("gate", False),
        needs=fields.get("needs", ()),
        view=record_of_view(fields.get("view")),
        failure_tag=fields.get("failure_tag"),
    )


def _rubric_fields(rubric: RubricFile) -> dict[str, Any]:
    return {key: value for key, value in struct_fields(rubric).items() if key != "layer" or value is not None}


def _with_rubric(setting: Setting, place: Place, fields: dict[str, Any], name: str) -> dict[str, Any]:
    for key in fields:
        if key not in BESIDE_USE:
            own = f"`{key}` belongs to the rubric {name!r} and cannot be changed beside `use`"
            setting.problem(
                place.at(key), f"{own}; write the criterion out under its own id instead", place.row
            )
    rubric = setting.rubrics.get(name)
    if rubric is None:
        if "rubrics" not in setting.damaged:
            known = suggestion(name, setting.rubrics) or "; the suite declares no rubrics"
            setting.problem(place.at("use"), f"unknown rubric {quoted(name)}{known}", place.row)
        return {}
    setting.used_rubrics.add(name)
    own_keys = {key: value for key, value in fields.items() if key in BESIDE_USE and key != "use"}
    if own_keys.get("layer", UNSET) is None:
        del own_keys["layer"]
    return {"id": name, **_rubric_fields(rubric), **own_keys, "rubric": name}


def _check_own(setting: Setting, place: Place, fields: Mapping[str, Any]) -> None:
    """What stands in the rubric, or in the criterion that uses none."""
    if not fields["rule"].strip():
        setting.problem(place.at("rule"), "is empty; say what MUST or MUST NOT hold", place.row)
    dimension = fields["dimension"]
    if dimension not in setting.dimensions and "dimensions" not in setting.damaged:
        near = suggestion(dimension, setting.dimensions) if dimension != "grounding" else ""
        near = near if "did you mean" in near else ""
        setting.problem(
            place.at("dimension"),
            f"{quoted(dimension)} has no definition; say what it means: "
            f"`dimensions: {{{dimension[:40]}: {{definition: ...}}}}`{near}",
            place.row,
        )
    if fields.get("check") is None and fields.get("judge", UNSET) is UNSET:
        setting.problem(
            place.path, "has neither a check nor a judge, so nothing could ever grade it", place.row
        )
    for steps, message in (*_judge_findings(setting, fields.get("judge", UNSET)), *_check(setting, fields)):
        setting.problem(place.at(*steps), message, place.row)
    view = fields.get("view")
    if view is not None and view.last is not None and view.last < 1:
        setting.problem(place.at("view", "last"), "must be at least 1", place.row)


def _check(setting: Setting, fields: Mapping[str, Any]) -> list[Finding]:
    check = fields.get("check")
    if check is None:
        return []
    found = (*check_findings(check), *file_findings(check, setting.folder))
    return [(("check", *steps), message) for steps, message in found]


def _judge_findings(setting: Setting, judge: JudgeFile | UnsetType | None) -> list[Finding]:
    if judge is UNSET or judge is None:
        return []
    found: list[Finding] = []
    if judge.setup is not None and setting.judges and judge.setup not in setting.judges:
        found.append(
            (
                ("judge", "setup"),
                f"unknown judge {quoted(judge.setup)}{suggestion(judge.setup, setting.judges)}",
            )
        )
    for name, kind in judge.extract.items():
        if not name.isidentifier():
            found.append(
                (
                    ("judge", "extract", name),
                    "is no name that `extracted.NAME` can read; use letters, digits, _",
                )
            )
        if kind not in EXTRACT_KINDS:
            hint = suggestion(kind, EXTRACT_KINDS)
            found.append((("judge", "extract", name), f"unknown type {quoted(kind)}{hint}"))
    return found


def _check_shared(setting: Setting, place: Place, fields: Mapping[str, Any]) -> None:
    """What may be said by the criterion itself, with or without a rubric."""
    fault = name_fault(fields["id"]) if "id" in fields else None
    if fault:
        setting.problem(place.at("id"), fault, place.row)
    weight, mark = fields.get("weight", Decimal(1)), fields.get("pass_mark", Decimal(1))
    if weight < 0:
        setting.problem(place.at("weight"), f"is {weight}; a weight is 0 or more", place.row)
    if not 0 <= mark <= 1:
        setting.problem(
            place.at("pass_mark"),
            f"is a bar of {mark:f} on a scale of 0..1; write one from 0 to 1",
            place.row,
        )
    if fields.get("gate") and mark == 0:
        setting.problem(
            place.path,
            "is a gate with the pass mark 0, which would let the worst score pass; raise the mark or drop `gate`",
            place.row,
        )
    if fields.get("failure_tag") is not None and name_fault(fields["failure_tag"]):
        setting.problem(place.at("failure_tag"), str(name_fault(fields["failure_tag"])), place.row)


def task_findings_of(fields_check: Any, judge: JudgeUse | None, facts: Mapping[str, Fact]) -> list[Finding]:
    """What an expression refers to must exist in the task."""
    if not isinstance(fields_check, ExprCheck):
        return []
    extract = judge.extract if judge is not None else {}
    return [(("check", *steps), message) for steps, message in task_findings(fields_check, facts, extract)]


def record_of_check(check: Any) -> Check | LaterCheck | None:
    """The check of the file as the record that graders get; kinds of later versions keep their settings."""
    if isinstance(check, LATER_STRUCTS):
        settings = msgspec.to_builtins(check, builtin_types=(Decimal,))
        kind = settings.pop("kind")
        return LaterCheck(kind=kind, settings=settings)
    record: Check | None = check
    return record


def record_of_judge(judge: JudgeFile | UnsetType | None) -> JudgeUse | None:
    """`judge:` with nothing behind it asks for a judge with the defaults."""
    if judge is UNSET:
        return None
    if judge is None:
        return JudgeUse()
    examples = Examples(passing=judge.examples.passing, failing=judge.examples.failing)
    return JudgeUse(setup=judge.setup, examples=examples, extract=judge.extract, evidence=judge.evidence)


def record_of_view(view: ViewFile | None) -> View | None:
    """The view as the record that graders get."""
    return None if view is None else View(kinds=view.kinds, tools=view.tools, last=view.last)
