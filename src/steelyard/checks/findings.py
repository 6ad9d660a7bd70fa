"""Short forms of findings."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from steelyard.checks.selectors import Absent
from steelyard.errors import GraderError
from steelyard.model.verdict import Finding, Score, Undecided

NO_PROPOSAL = "NO_PROPOSAL"
"""The failure tag where a value was to be proposed and none was."""

PASS = Fraction(1)
FAIL = Fraction(0)


def passed(reason: str, evidence: Iterable[str] = ()) -> Score:
    return Score(value=PASS, reason=reason, evidence=tuple(evidence))


def failed(reason: str, evidence: Iterable[str] = (), tag: str | None = None) -> Score:
    return Score(value=FAIL, reason=reason, evidence=tuple(evidence), failure_tag=tag)


def decided(holds: bool, reason: str, evidence: Iterable[str] = ()) -> Score:
    return passed(reason, evidence) if holds else failed(reason, evidence)


def missing(absent: Absent, *, proposal: bool = False) -> Finding:
    """What a value that is not there means: a fail, or unknown where the record cannot show that it is not.

    `proposal`: a call argument or extracted value that is missing was a proposal that nobody made.
    """
    if absent.undecided:
        return Undecided(reason=absent.reason)
    nothing = proposal and not absent.unreadable and absent.source in ("call", "extracted")
    return failed(absent.reason, tag=NO_PROPOSAL if nothing else None)


def empty_check(what: str) -> GraderError:
    """A check that states nothing would pass anything."""
    return GraderError(f"The check states nothing: {what}.", code="empty_check")
