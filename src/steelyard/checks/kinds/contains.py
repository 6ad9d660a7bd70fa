"""`contains`: substrings stand."""

from __future__ import annotations

from steelyard.checks.findings import decided, empty_check, missing
from steelyard.checks.selectors import Absent, aspects_of, select
from steelyard.checks.show import names, show
from steelyard.checks.texts import as_text, standing, texts_of
from steelyard.model.checks import ContainsCheck
from steelyard.model.verdict import Finding
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: ContainsCheck) -> frozenset[str]:
    """What `of` selects."""
    return aspects_of(spec.of)


def grade(spec: ContainsCheck, given: GraderInput) -> Finding:
    """1 when all of `all` and at least one of `any` stand, else 0. Structures are read leaf by leaf."""
    if not (spec.any or spec.all) or not all((*spec.any, *spec.all)):
        raise empty_check("give `any` or `all` with texts that are not empty")
    found = select(spec.of, given)
    if isinstance(found, Absent):
        return missing(found)
    texts = texts_of(found.value)
    if spec.drop:
        texts = iter([as_text(found.value).translate(dict.fromkeys(map(ord, spec.drop)))])
    stood_there = standing((*spec.all, *spec.any), texts, case=spec.case)
    lacking = [show(wanted) for wanted in spec.all if wanted not in stood_there]
    one = next((wanted for wanted in spec.any if wanted in stood_there), None)
    if lacking:
        return decided(False, f"{spec.of} does not contain {names(lacking)}", found.evidence)
    if spec.any and one is None:
        listed = names([show(wanted) for wanted in spec.any])
        return decided(False, f"{spec.of} contains none of {listed}", found.evidence)
    stood = [show(wanted) for wanted in (*spec.all, *([one] if one else []))]
    return decided(True, f"{spec.of} contains {names(stood)}", found.evidence)
