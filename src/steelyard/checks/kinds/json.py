"""`json`: a value fits a JSON Schema, or equals another at a JSON pointer."""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.checks.equality import json_equal
from steelyard.checks.findings import decided, empty_check, failed, missing, passed
from steelyard.checks.jsontext import NotJsonError, parse_json_text
from steelyard.checks.schemas import compiled
from steelyard.checks.selectors import Absent, Found, aspects_of, select
from steelyard.checks.show import show
from steelyard.model.checks import JsonCheck
from steelyard.model.evidence import follow
from steelyard.model.verdict import Finding, Score
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: JsonCheck) -> frozenset[str]:
    """What `of` selects."""
    return aspects_of(spec.of)


def grade(spec: JsonCheck, given: GraderInput) -> Finding:
    """1 when the schema is met and the value at the pointer is equal, whichever of the two are stated; else 0.

    A reply must be one JSON value (a code fence around it is allowed). Raises `GraderError` for schemas that
    cannot be used.
    """
    if spec.schema is msgspec.UNSET and spec.value is msgspec.UNSET:
        raise empty_check("give `schema`, or `pointer` and `value`")
    schema = None if spec.schema is msgspec.UNSET else compiled(spec.schema)
    found = select(spec.of, given)
    if isinstance(found, Absent):
        return missing(found)
    value = found.value
    if found.prose:
        try:
            value = parse_json_text(value)
        except NotJsonError as problem:
            return failed(f"{spec.of} is not JSON: {problem}", found.evidence)
    problem_found = schema.first_problem(value) if schema is not None else ""
    if problem_found:
        return failed(f"{spec.of} does not fit the schema: {problem_found}", found.evidence)
    if spec.value is msgspec.UNSET:
        return passed(f"{spec.of} fits the schema", found.evidence)
    return _at_pointer(spec, value, found)


def _at_pointer(spec: JsonCheck, value: Any, found: Found) -> Score:
    where = f"{spec.of} at {spec.pointer}" if spec.pointer else spec.of
    try:
        standing = follow(value, spec.pointer)
    except LookupError:
        return failed(f"{where} holds nothing, expected {show(spec.value)}", found.evidence)
    same = json_equal(standing, spec.value)
    reason = f"{where} is {show(standing)}"
    return decided(same, reason if same else f"{reason}, expected {show(spec.value)}", found.evidence)
