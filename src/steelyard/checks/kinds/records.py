"""`records`: k of n expected records are there; the score is k/n."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from steelyard.checks.equality import json_equal, json_type
from steelyard.checks.findings import empty_check, failed, missing
from steelyard.checks.jsontext import NotJsonError, parse_json_text
from steelyard.checks.matching import adjacency, best_matching, longest_in_order
from steelyard.checks.selectors import Absent, aspects_of, select
from steelyard.checks.show import names, show
from steelyard.errors import GraderError
from steelyard.model.checks import RecordsCheck
from steelyard.model.verdict import Finding, Score
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: RecordsCheck) -> frozenset[str]:
    """What `of` selects."""
    return aspects_of(spec.of)


def grade(spec: RecordsCheck, given: GraderInput) -> Finding:
    """k/n for k of n expected records found equal (4 of 5 = 4/5, which is no pass at the default pass mark).

    Each actual record serves one expected one. `ordered`: the most that stand in the expected order. `key` says
    which actual record an expected one is compared with where none is equal. Records beyond the expected ones are
    named in the reason and do not change the score; state a length elsewhere where they must not be there.
    """
    if not spec.expected:
        raise empty_check("give `expected` records")
    _check_keys(spec)
    found = select(spec.of, given)
    if isinstance(found, Absent):
        return missing(found)
    value = found.value
    if found.prose:
        try:
            value = parse_json_text(value)
        except NotJsonError as problem:
            return failed(f"{spec.of} is not JSON: {problem}", found.evidence)
    if json_type(value) != "list":
        return failed(f"{spec.of} is {show(value)}, not a list of records", found.evidence)
    actual: Sequence[Any] = value
    fitting = adjacency(len(spec.expected), len(actual), lambda e, a: json_equal(spec.expected[e], actual[a]))
    matching = best_matching(fitting)
    count = longest_in_order(fitting, len(actual)) if spec.ordered else len(matching)
    reason = _reason(spec, actual, matching, count)
    return Score(value=Fraction(count, len(spec.expected)), reason=reason, evidence=found.evidence)


def _check_keys(spec: RecordsCheck) -> None:
    for record in spec.expected if spec.key else ():
        if json_type(record) != "object" or any(name not in record for name in spec.key):
            raise GraderError(
                f"The expected record {show(record)} lacks a key field ({', '.join(spec.key)}).",
                code="bad_check",
            )


def _reason(spec: RecordsCheck, actual: Sequence[Any], matching: dict[int, int], count: int) -> str:
    order = " in order" if spec.ordered else ""
    said = [f"{count} of {len(spec.expected)} records{order}"]
    lacking = [e for e in range(len(spec.expected)) if e not in matching]
    if lacking:
        said.append("missing " + names([_lack(spec, e, actual) for e in lacking], 3))
    extra = len(actual) - len(matching)
    if extra:
        said.append(f"{extra} not expected (no effect on the score)")
    return "; ".join(said)


def _lack(spec: RecordsCheck, index: int, actual: Sequence[Any]) -> str:
    expected = spec.expected[index]
    if not spec.key:
        return show(expected)
    for record in actual:
        if json_type(record) == "object" and all(
            name in record and json_equal(record[name], expected[name]) for name in spec.key
        ):
            return f"{_key_of(spec, expected)} ({_difference(expected, record)})"
    return f"{_key_of(spec, expected)} (no record with this key)"


def _key_of(spec: RecordsCheck, record: Any) -> str:
    return ", ".join(f"{name} {show(record[name], 30)}" for name in spec.key)


def _difference(expected: Any, record: Any) -> str:
    for name in expected:
        if name not in record:
            return f"{name} is missing"
        if not json_equal(record[name], expected[name]):
            return f"{name} is {show(record[name], 30)}, expected {show(expected[name], 30)}"
    return next((f"{name} is not expected" for name in record if name not in expected), "taken by another")
