"""`state`: a JSON state equals a value, or fits a schema."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from steelyard.checks.comparison import differences, said
from steelyard.checks.findings import empty_check, failed, missing, passed
from steelyard.checks.schemas import compiled
from steelyard.checks.selectors import Absent, select
from steelyard.checks.show import show
from steelyard.model.state_checks import StateCheck
from steelyard.model.verdict import Finding
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: StateCheck) -> frozenset[str]:
    """The state that it looks at."""
    return frozenset({"state_after:json" if spec.at == "end" else "state_before:json"})


def grade(spec: StateCheck, given: GraderInput) -> Finding:
    """1 when the value is equal and the schema is met, whichever of the two are stated, else 0 with the differences.

    Undecided where the recording has no JSON state. Raises `GraderError`: `bad_state`, `bad_schema`, `too_large`.
    """
    if spec.value is msgspec.UNSET and spec.schema is msgspec.UNSET:
        raise empty_check("give `value` or `schema`")
    schema = None if spec.schema is msgspec.UNSET else compiled(spec.schema)
    of = f"{'state' if spec.at == 'end' else 'state_before'}#{spec.pointer}"
    found = select(of, given)
    if isinstance(found, Absent):
        return missing(found)
    problem = schema.first_problem(found.value) if schema is not None else ""
    if problem:
        return failed(f"{of} does not fit the schema: {problem}", found.evidence)
    if spec.value is msgspec.UNSET:
        return passed(f"{of} fits the schema", found.evidence)
    unlike = differences(
        found.value,
        spec.value,
        ordered=spec.ordered,
        ordered_at=[_steps(pointer) for pointer in spec.ordered_at],
        abs_tol=Fraction(spec.abs_tol),
    )
    if unlike:
        return failed(said(unlike, of), found.evidence)
    return passed(f"{of} is {show(found.value)}", found.evidence)


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
