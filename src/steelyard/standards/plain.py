"""Tasks that are sound at first sight, at a fraction of the work.

Only what needs no word is taken here; anything else, and anything that could be wrong, goes the whole way
(`tasks.TaskReader`), which decides. The records are the same.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import UNSET

from steelyard.model.checks import (
    ContainsCheck,
    EqualsCheck,
    ExcludesCheck,
    ExprCheck,
    PythonCheck,
    RecordedCheck,
)
from steelyard.model.standard import LAYERS, OBLIGATION, CompleteWhen, Criterion, Fact, Layer, Task
from steelyard.standards.check_rules import check_findings
from steelyard.standards.criteria import Setting, record_of_check
from steelyard.standards.shapes import DEFAULT_LAYERS, CompleteWhenFile, CriterionFile, TaskFile
from steelyard.standards.tasks import MAX_TRIALS

_ELSEWHERE = (ExprCheck, PythonCheck, RecordedCheck)
"""Checks that refer to the task or to files."""
_TEXTS = (ContainsCheck, ExcludesCheck)
_WHOLE = ("answer", "said")
_RULE = CompleteWhen()
_RULE_FILE = CompleteWhenFile()
_ONE = Decimal(1)
_NOTHING: dict[str, Any] = {}
"""One empty mapping for all tasks: a hundred thousand of them take 20 MB."""


class PlainTasks:
    """Reads tasks under one setting."""

    def __init__(self, setting: Setting) -> None:
        self.shared = dict[str, str]().setdefault
        """One text for all that are equal."""
        self.usable = not setting.branches and not setting.damaged
        self.layers: dict[str, Layer | None] = {name: DEFAULT_LAYERS.get(name) for name in setting.dimensions}

    def read(self, file: TaskFile) -> Task | None:
        """The task, or None where it wants the whole way."""
        if file.when is not None or file.branch is not None or file.complete_when != _RULE_FILE:
            return None
        if not self.usable or not _is_name(file.id) or not file.prompt.strip():
            return None
        if file.weight is not None and file.weight < 0:
            return None
        if file.trials is not None and not 1 <= file.trials <= MAX_TRIALS:
            return None
        if file.layers and not all(n in LAYERS and reason.strip() for n, reason in file.layers.items()):
            return None
        criteria = self._criteria(file.criteria)
        if criteria is None:
            return None
        return Task(
            id=file.id,
            prompt=file.prompt,
            criteria=criteria,
            expected_behavior=file.expected_behavior,
            tags=file.tags or _NOTHING,
            facts={n: Fact(text=fact.text, data=fact.data) for n, fact in file.facts.items()} or _NOTHING,
            layers=file.layers or _NOTHING,
            complete_when=_RULE,
            weight=file.weight,
            trials=file.trials,
            reference=file.reference,
            no_op=file.no_op,
        )

    def _criteria(self, files: tuple[CriterionFile, ...]) -> tuple[Criterion, ...] | None:
        """The criteria, of which one decides, or None."""
        found: list[Criterion] = []
        decides = False
        for file in files:
            criterion = self._criterion(file)
            if criterion is None:
                return None
            found.append(criterion)
            decides = decides or criterion.dimension == OBLIGATION or criterion.gate
        if not decides or (len(found) > 1 and len({criterion.id for criterion in found}) < len(found)):
            return None
        return tuple(found)

    def _criterion(self, file: CriterionFile) -> Criterion | None:
        name, dimension, rule, check = file.id, file.dimension, file.rule, file.check
        if not (isinstance(name, str) and isinstance(dimension, str) and isinstance(rule, str)):
            return None
        if file.use is not UNSET or file.judge is not UNSET or file.needs or file.view:
            return None
        if isinstance(file.when, str) or file.failure_tag == "":
            return None
        if dimension not in self.layers or not _is_name(name) or not rule.strip():
            return None
        layer = file.layer or self.layers[dimension]
        weight = _ONE if file.weight is UNSET else file.weight
        mark = _ONE if file.pass_mark is UNSET else file.pass_mark
        tag = file.failure_tag or None
        if layer is None or not weight > 0 or not 0 < mark <= 1 or not (tag is None or _is_name(tag)):
            return None
        if not check or not _is_plain(check):
            return None
        return Criterion(
            id=self.shared(name, name),
            dimension=self.shared(dimension, dimension),
            layer=layer,
            rule=self.shared(rule, rule),
            check=record_of_check(check),
            weight=weight,
            pass_mark=mark,
            gate=file.gate is True,
            failure_tag=tag,
        )


def _is_name(text: str) -> bool:
    return text.isprintable() and bool(text) and not text.isspace()


def _is_plain(check: object) -> bool:
    if isinstance(check, EqualsCheck):
        return check.of in _WHOLE or not check_findings(check)
    if isinstance(check, _TEXTS) and check.of in _WHOLE:
        return bool(check.any or check.all) and "" not in check.any and "" not in check.all
    return not isinstance(check, _ELSEWHERE) and not check_findings(check)
