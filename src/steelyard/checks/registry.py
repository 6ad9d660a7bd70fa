"""From a check to its grader. A kind's module, and the library behind it, loads when the kind is first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import msgspec

from steelyard.checks.policy import Policy
from steelyard.checks.show import clean
from steelyard.errors import GraderError
from steelyard.model.checks import (
    BudgetCheck,
    CallsCheck,
    Check,
    ContainsCheck,
    EqualsCheck,
    ExcludesCheck,
    ExprCheck,
    JsonCheck,
    LaterCheck,
    NumberCheck,
    PythonCheck,
    RecordedCheck,
    RecordsCheck,
    RegexCheck,
    RuleCheck,
)
from steelyard.model.state_checks import CsvCheck, FilesCheck, ProvenanceCheck, SqlCheck, StateCheck
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import Grader, GraderInput

_KINDS: dict[type[Any], str] = {
    EqualsCheck: "equals",
    ContainsCheck: "contains",
    ExcludesCheck: "excludes",
    RegexCheck: "regex",
    NumberCheck: "number",
    JsonCheck: "json",
    RecordsCheck: "records",
    CallsCheck: "calls",
    BudgetCheck: "budget",
    ExprCheck: "expr",
    RecordedCheck: "recorded",
    RuleCheck: "rule",
    CsvCheck: "csv",
    FilesCheck: "files",
    SqlCheck: "sql",
    StateCheck: "state",
    ProvenanceCheck: "provenance",
}


MAX_REASON = 2_000
"""Characters of a reason; names of tools and arguments are the agent's and have any length."""


class KindGrader:
    """The grader of one kind: runs its `grade`, and lets only sound findings out."""

    def __init__(
        self,
        kind: str,
        version: str,
        grade: Callable[[Any, GraderInput], Finding],
        reads: Callable[[Any], frozenset[str]],
        seconds: float | None = None,
    ) -> None:
        self.seconds = seconds
        """How long one call of `grade` may take by the check's own settings; None: they do not say."""
        self._kind = kind
        self._version = version
        self._grade = grade
        self._reads = reads

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def version(self) -> str:
        return self._version

    def reads(self, spec: Any) -> frozenset[str]:
        """What of the trial decides the check; see `ports.Grader`."""
        return self._reads(spec)

    def grade(self, spec: Any, given: GraderInput) -> Finding:
        """The finding of the check; raises `GraderError` when it can give none."""
        try:
            finding = self._grade(spec, given)
        except RecursionError:
            raise GraderError(
                f"The {self._kind} check met a value nested too deeply to be read.", code="too_deep"
            ) from None
        return _sound(finding, self._kind)


class LaterGrader:
    """Stands for a kind that suites may already state and that this version does not grade."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def version(self) -> str:
        return "0"

    def reads(self, spec: Any) -> frozenset[str]:
        """Nothing: it never grades."""
        return frozenset()

    def grade(self, spec: Any, given: GraderInput) -> Finding:
        """Raises `GraderError` with code `not_yet`, always: what is not graded is no pass."""
        raise GraderError(
            f"Checks of kind {self._kind!r} are not graded by this version; give this criterion a recorded verdict, "
            "or another check.",
            code="not_yet",
        )


def grader_for(spec: Check | LaterCheck, policy: Policy = Policy()) -> Grader:  # noqa: B008 a frozen record
    """The grader of a check. Raises `GraderError` (code `unknown_kind`) for what is no check.

    The grader of a `python` check belongs to that check: its version holds the hash of the script.
    """
    if isinstance(spec, LaterCheck):
        return LaterGrader(spec.kind)
    if isinstance(spec, PythonCheck):
        return _of_script(spec, policy)
    kind = _KINDS.get(type(spec))
    if kind is None:
        raise GraderError(f"{type(spec).__name__} is not a known kind of check.", code="unknown_kind")
    return _load(kind)


def _of_script(spec: PythonCheck, policy: Policy) -> KindGrader:
    from steelyard.checks.kinds.python import PythonGrader

    grader = PythonGrader(spec, policy)
    return KindGrader(
        grader.kind,
        grader.version,
        grader.grade,
        grader.reads,
        seconds=grader.seconds,
    )


@cache
def _load(kind: str) -> KindGrader:
    module = importlib.import_module(f"steelyard.checks.kinds.{kind}")
    return KindGrader(kind, module.VERSION, module.grade, module.reads)


def _sound(finding: Finding, kind: str) -> Finding:
    """The finding with text that can be written anywhere; a score off the scale is refused, never clamped."""
    reason = clean(finding.reason[:MAX_REASON])
    if isinstance(finding, Undecided):
        return finding if reason == finding.reason else msgspec.structs.replace(finding, reason=reason)
    value = finding.value
    if not isinstance(value, Fraction) or not 0 <= value.numerator <= value.denominator:
        raise GraderError(f"The {kind} check gave a score that is not in 0..1.", code="out_of_range")
    return finding if reason == finding.reason else msgspec.structs.replace(finding, reason=reason)
