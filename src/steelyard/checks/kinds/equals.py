"""`equals`: the same text, or the same JSON value and type."""

from __future__ import annotations

from typing import Any

from steelyard.checks.equality import equal
from steelyard.checks.findings import decided, failed, missing
from steelyard.checks.jsontext import NotJsonError, parse_json_text
from steelyard.checks.selectors import Absent, aspects_of, select
from steelyard.checks.show import show
from steelyard.model.checks import EqualsCheck
from steelyard.model.verdict import Finding
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: EqualsCheck) -> frozenset[str]:
    """What `of` selects."""
    return aspects_of(spec.of)


def grade(spec: EqualsCheck, given: GraderInput) -> Finding:
    """1 or 0. A reply is read as JSON when the expected value is no text; a field is compared as it is."""
    found = select(spec.of, given)
    if isinstance(found, Absent):
        return missing(found)
    value: Any = found.value
    if found.prose and not isinstance(spec.value, str):
        try:
            value = parse_json_text(value)
        except NotJsonError as problem:
            expected = show(spec.value)
            return failed(f"{spec.of} is not the JSON value {expected}: {problem}", found.evidence)
    same = equal(value, spec.value, strip=spec.strip, case=spec.case, composed=spec.nfc)
    reason = f"{spec.of} is {show(value)}"
    return decided(same, reason if same else f"{reason}, expected {show(spec.value)}", found.evidence)
