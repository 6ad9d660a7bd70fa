"""From what a check found to a verdict, and from what a criterion asks for to what a check is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeGuard

import msgspec

from steelyard.errors import GraderError
from steelyard.grading.jsonline import clean
from steelyard.model.checks import RuleCheck
from steelyard.model.standard import Criterion, Task, View
from steelyard.model.trace import Step, Trace
from steelyard.model.verdict import Errored, Finding, Graded, GraderRef, Score, Undecided, Unknown, Verdict


def narrow(trace: Trace, criterion: Criterion) -> Trace:
    """The steps that the criterion's view shows. `tools` keeps calls of these tools with their results, and all else.

    A view that hides a call which the check is about leaves an incomplete record: that nothing is seen there shows
    nothing.
    """
    view = criterion.view
    if view is None:
        return trace
    tools = {step.id: step.call.name for step in trace.steps if step.call is not None}
    steps = [
        step
        for step in trace.steps
        if (not view.kinds or step.kind in view.kinds) and (not view.tools or _is_of(step, tools, view.tools))
    ]
    if view.last is not None:
        steps = steps[len(steps) - min(view.last, len(steps)) :]
    shown = {step.id for step in steps}
    hidden = [step for step in trace.steps if step.call is not None and step.id not in shown]
    complete = trace.fidelity.complete and not any(_concerns(criterion.check, step, view) for step in hidden)
    fidelity = msgspec.structs.replace(trace.fidelity, complete=complete)
    return msgspec.structs.replace(trace, steps=tuple(steps), fidelity=fidelity)


def _concerns(check: object, step: Step, view: View) -> bool:
    """Whether a hidden call is one that the check would have to see. `tools` of a view may leave other tools out."""
    if step.call is None:
        return False
    if isinstance(check, RuleCheck):
        names = check.rule.tool
        return any(
            name in ("*", step.call.name) or (check.rule.glob and fnmatchcase(step.call.name, name))
            for name in names
        )
    return not view.tools or step.call.name in view.tools


def _is_of(step: Step, tools: Mapping[str, str], wanted: Sequence[str]) -> bool:
    if step.call is not None:
        return step.call.name in wanted
    return step.result is None or tools.get(step.result.call_step_id or "") in wanted


def extracted_values(row: Graded, wanted: Mapping[str, str]) -> dict[str, Any]:
    """The values that the criterion asks for, as far as they were read out. GraderError for one of another type."""
    found = {name: row.extracted[name] for name in wanted if row.extracted.get(name) is not None}
    for name, value in found.items():
        if not _fits(value, wanted[name]):
            message = f"extracted {name} is {_shortly(value)}, and the criterion asks for {wanted[name]}"
            raise GraderError(message, code="bad_extraction")
    return found


def _fits(value: Any, kind: str) -> bool:
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    if kind == "integer":
        return isinstance(value, int)
    if kind == "number":
        return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if kind == "boolean":
        return isinstance(value, bool)
    return isinstance(value, str) if kind in ("text", "string") else True


def to_verdict(task: Task, trial: int, criterion: Criterion, finding: Finding, ref: GraderRef) -> Verdict:
    """The finding as a verdict under the criterion's pass mark."""
    reason = finding.reason if finding.reason.isascii() else clean(finding.reason)
    evidence = finding.evidence
    if evidence and not all(map(str.isascii, evidence)):
        evidence = tuple(clean(evidence))
    if isinstance(finding, Undecided):
        return Unknown(
            task=task.id, trial=trial, criterion=criterion.id, reason=reason, evidence_refs=evidence,
            graders=(ref,),
        )  # fmt: skip
    score, failed = under_mark(finding.value, criterion.pass_mark)
    return Graded(
        task=task.id, trial=trial, criterion=criterion.id, reason=reason, evidence_refs=evidence,
        failure_tag=(finding.failure_tag or criterion.failure_tag) if failed else None, graders=(ref,),
        score=score,
    )  # fmt: skip


def under_mark(value: Fraction, pass_mark: Decimal) -> tuple[float, bool]:
    """The value as a float on its own side of the mark, and whether it fails."""
    above, below = value.numerator, value.denominator
    mark, most = _ratio(pass_mark)
    failed = above * mark[1] < mark[0] * below
    score = above / below
    if failed and score >= most:  # just below the mark, and nearer to it than to the next number below
        score = math.nextafter(most, 0.0)
    return score, failed


@lru_cache(maxsize=256)
def _ratio(pass_mark: Decimal) -> tuple[tuple[int, int], float]:
    return pass_mark.as_integer_ratio(), float(pass_mark)


def nonsense(finding: object) -> GraderError:
    """What a check gave back is no finding, or a value outside 0..1."""
    return GraderError(f"the check returned {_shortly(finding)}, which is no score in 0..1", code="nonsense")


def is_finding(finding: object) -> TypeGuard[Finding]:
    """Records do not check their own types, and what a check gives back may be anything."""
    if isinstance(finding, Undecided):
        return _is_worded(finding.reason, finding.evidence)
    if not isinstance(finding, Score) or not isinstance(finding.failure_tag, _TAG):
        return False
    value = finding.value
    decided = isinstance(value, Fraction) and 0 <= value.numerator <= value.denominator
    return decided and _is_worded(finding.reason, finding.evidence)


_TAG = (str, type(None))


def _is_worded(reason: object, evidence: object) -> bool:
    if not isinstance(reason, str) or not isinstance(evidence, tuple):
        return False
    for ref in evidence:  # noqa: SIM110 a loop, since this is asked of every finding
        if not isinstance(ref, str):
            return False
    return True


def _shortly(value: object) -> str:
    try:
        return repr(value)[:200]
    except Exception:  # noqa: BLE001 what a check gives back need not be able to show itself
        return f"a {type(value).__name__}"


def said(error: BaseException) -> str:
    """The message of any exception, even one that cannot show itself."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 an exception need not be able to show itself
        return "(its message cannot be read)"


def errored(task: Task, trial: int, criterion: Criterion, code: str, reason: str) -> Errored:
    """No verdict, and why."""
    return Errored(task=task.id, trial=trial, criterion=criterion.id, error=code, reason=clean(reason)[:500])
