"""`number`: a number in a field or argument, or a reply that is exactly one. Never dug out of prose."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from steelyard.checks.findings import NO_PROPOSAL, decided, empty_check, failed, missing
from steelyard.checks.numbers import exact, number_text, within
from steelyard.checks.selectors import Absent, Found, aspects_of, select
from steelyard.checks.show import show, show_number
from steelyard.errors import GraderError
from steelyard.model.checks import NumberCheck
from steelyard.model.verdict import Finding
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: NumberCheck) -> frozenset[str]:
    """What `of` selects."""
    return aspects_of(spec.of)


def grade(spec: NumberCheck, given: GraderInput) -> Finding:
    """1 when every bound that is stated holds, else 0; bounds and tolerances are exact and inclusive."""
    value, low, high = _bound(spec.value, "value"), _bound(spec.min, "min"), _bound(spec.max, "max")
    if value is None and low is None and high is None:
        raise empty_check("give `value`, or `min` or `max`")
    abs_tol, rel_tol = _tolerance(spec.abs_tol, "abs_tol"), _tolerance(spec.rel_tol, "rel_tol")
    found = select(spec.of, given)
    if isinstance(found, Absent):
        return missing(found, proposal=True)
    if found.value is None and found.source in ("call", "extracted"):
        return failed(f"{spec.of} is null", found.evidence, NO_PROPOSAL)
    number = _number(found, spec.unit)
    if number is None:
        unit = f" in {spec.unit}" if spec.unit else ""
        return failed(f"{spec.of} is {show(found.value)}, which is not a number{unit}", found.evidence)
    problems: list[str] = []
    if value is not None and not within(number, value, abs_tol, rel_tol):
        problems.append(f"not {show_number(value)}{_margin(spec)}")
    if low is not None and number < low:
        problems.append(f"below {show_number(low)}")
    if high is not None and number > high:
        problems.append(f"above {show_number(high)}")
    reason = f"{spec.of} is {show_number(number)}"
    return decided(not problems, ", ".join([reason, *problems]), found.evidence)


def _number(found: Found, unit: str | None) -> Fraction | None:
    """A reply is a number when it is nothing else; a field when it is a JSON number, or text with the unit."""
    if isinstance(found.value, str):
        if found.prose:
            return number_text(found.value, unit)
        return number_text(found.value, unit, unit_required=True) if unit else None
    return exact(found.value)


def _bound(stated: Decimal | None, name: str) -> Fraction | None:
    if stated is None:
        return None
    number = exact(stated)
    if number is None:
        raise GraderError(
            f"`{name}` of the number check is {stated}, which is no finite number.", code="non_finite"
        )
    return number


def _tolerance(stated: Decimal, name: str) -> Fraction:
    number = exact(stated)
    if number is None or number < 0:
        raise GraderError(
            f"`{name}` of the number check must be a number from 0, not {stated}.", code="bad_check"
        )
    return number


def _margin(spec: NumberCheck) -> str:
    stated = [
        f"{name} {value}" for name, value in (("abs_tol", spec.abs_tol), ("rel_tol", spec.rel_tol)) if value
    ]
    return f" ({', '.join(stated)})" if stated else ""
