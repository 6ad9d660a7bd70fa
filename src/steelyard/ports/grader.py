"""What a code grader is given and gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from steelyard.model.standard import Criterion, Task
from steelyard.model.trace import Trace
from steelyard.model.verdict import Finding


class GraderInput(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a grader may read: the task with its facts, the criterion, the trace, extracted values.

    `extracted` holds what a judge or person read out of the text; it is empty when the criterion asks for none.
    """

    task: Task
    criterion: Criterion
    trace: Trace
    extracted: Mapping[str, Any] = {}


class Grader(Protocol):
    """One kind of code grader. Deterministic, no network.

    `grade` returns a `Score` (exact fraction in 0..1) or `Undecided`; it raises `GraderError` when no verdict can
    be given. Anything else that it raises or returns becomes an error of that criterion alone.
    """

    @property
    def kind(self) -> str: ...

    @property
    def version(self) -> str: ...

    def reads(self, spec: Any) -> frozenset[str]:
        """The aspects of the trial that decide this check; a verdict is reused only while their content is the same.

        `answer`, `said`, `calls`, `messages`, `results`, `steps`, `measurements`, `external`, `extracted`,
        `state_before`, `state_after`, `facts`; or a part of one alone: `call:TOOL`, `result:TOOL`, `fact:NAME`,
        `measurements:NAME`, and `state_after:files` (`:sqlite`, `:json`; `state_before` likewise).
        """
        ...

    def grade(self, spec: Any, given: GraderInput) -> Finding: ...
