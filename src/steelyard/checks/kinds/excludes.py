"""`excludes`: substrings do not stand."""

from __future__ import annotations

from steelyard.checks.findings import empty_check, failed, passed
from steelyard.checks.selectors import Absent, aspects_of, select
from steelyard.checks.show import names, show
from steelyard.checks.texts import standing, texts_of
from steelyard.model.checks import ExcludesCheck
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: ExcludesCheck) -> frozenset[str]:
    """What `of` selects."""
    return aspects_of(spec.of)


def grade(spec: ExcludesCheck, given: GraderInput) -> Finding:
    """0 when one of `any` stands, or every one of `all` together; else 1.

    No text at all (no reply, an absent field, white space) shows nothing either way: undecided, since a pass for
    saying nothing would be worth nothing. An incomplete record without a hit is undecided too.
    """
    if not (spec.any or spec.all) or not all((*spec.any, *spec.all)):
        raise empty_check("give `any` or `all` with texts that are not empty")
    found = select(spec.of, given)
    if isinstance(found, Absent):
        return Undecided(reason=f"{found.reason}, so nothing shows what was not said")
    if all(not text or text.isspace() for text in texts_of(found.value)):
        return Undecided(
            reason=f"{spec.of} is blank, which does not show what was not said", evidence=found.evidence
        )
    stood = standing((*spec.any, *spec.all), texts_of(found.value), case=spec.case)
    hits = [show(word) for word in spec.any if word in stood]
    if hits:
        return failed(f"{spec.of} contains {names(hits)}", found.evidence)
    if spec.all and stood.issuperset(spec.all):
        return failed(f"{spec.of} contains all of {names([show(word) for word in spec.all])}", found.evidence)
    if not given.trace.fidelity.complete:
        return Undecided(
            reason="the record is incomplete, so what it lacks may hold the text", evidence=found.evidence
        )
    avoided = names([show(word) for word in (*spec.any, *spec.all)])
    return passed(f"{spec.of} does not contain {avoided}", found.evidence)
