"""Traces under a standard to rows: every criterion of every trial gets one verdict, whatever happens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeGuard

import msgspec

from steelyard.errors import GraderError, InputError
from steelyard.grading.deadline import call_within
from steelyard.grading.jsonline import clean
from steelyard.grading.matching import Matcher
from steelyard.grading.measure import measurements
from steelyard.grading.recorded import MOST_NAMED, RecordedRows, lost_notices
from steelyard.grading.rows import Row
from steelyard.model.checks import Check, LaterCheck, RecordedCheck
from steelyard.model.evidence import resolve
from steelyard.model.standard import Criterion, Suite, Task, View
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import FAULTS, Quarantined, Step, Trace
from steelyard.model.verdict import (
    Errored,
    Finding,
    Graded,
    GraderRef,
    Score,
    TrialRow,
    Undecided,
    Unknown,
    Verdict,
)
from steelyard.ports.grader import Grader, GraderInput

CHECK_SECONDS = 10.0
"""Time limit of one check on one trial."""

GraderFor = Callable[[Check | LaterCheck], Grader]


class Engine:
    """Grades a stream of traces; after the stream is read, `notices` says what did not fit and `lost` counts records.

    `grader_for` finds the code grader of a check; `recorded` holds verdicts given elsewhere. Nothing that a trace or
    check does stops the stream: it becomes an error of that criterion alone. Traces of `left_out` tasks (tasks of the
    same standard that were not selected) are passed over.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        grader_for: GraderFor,
        recorded: RecordedRows,
        seconds: float = CHECK_SECONDS,
        left_out: Sequence[Task] = (),
    ) -> None:
        self.suite = suite
        self.grader_for = grader_for
        self.recorded = recorded
        self.seconds = seconds
        self.left_out = frozenset(task.id for task in left_out)
        self.matcher = Matcher((*suite.tasks, *left_out))
        self.lost: list[Quarantined] = []
        self.graded_traces = 0
        self.unmatched: Counter[str] = Counter()
        self.trace_notices: dict[str, list[str]] = {}

    def grade(self, traces: Iterable[Trace | Quarantined]) -> Iterator[Row]:
        """Rows in the order of the traces: a trial row, then the verdict of each of its criteria."""
        for trace in traces:
            if isinstance(trace, Quarantined):
                self.lost.append(trace)
                continue
            task = self.matcher.task_of(trace)
            if task is None:
                self.unmatched[trace.task_id if trace.task_id is not None else "(no task id)"] += 1
            elif task.id not in self.left_out:
                yield from self._grade_trace(task, self.matcher.trial_of(task, trace), trace)

    def _grade_trace(self, task: Task, trial: int, trace: Trace) -> Iterator[Row]:
        self.graded_traces += 1
        for notice in trace.notices:
            self.trace_notices.setdefault(notice.code, []).append(f"{task.id}#{trial}: {notice.detail}")
        ended_by = trace.outcome.ended_by
        yield TrialRow(
            task=task.id, trial=trial, ended_by=ended_by, measurements=measurements(trace), trace=trace.id
        )
        if ended_by in FAULTS:
            return
        for criterion in task.criteria:
            yield self._verdict(task, trial, criterion, trace)

    def _verdict(self, task: Task, trial: int, criterion: Criterion, trace: Trace) -> Verdict:
        try:
            if _is_recorded(criterion):
                return self._recorded(task, trial, criterion, trace)
            return self._checked(task, trial, criterion, trace)
        except GraderError as error:
            return _error(task, trial, criterion, error.code, str(error))
        except InputError as error:
            return _error(task, trial, criterion, "unreadable_rows", str(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 the edge: an error of this criterion alone
            return _error(task, trial, criterion, "check_raised", f"{type(error).__name__}: {_said(error)}")

    def _recorded(self, task: Task, trial: int, criterion: Criterion, trace: Trace) -> Verdict:
        file = criterion.check.file if isinstance(criterion.check, RecordedCheck) else None
        row = self.recorded.find(task.id, trial, criterion.id, file=file)
        if row is None:
            raise GraderError(_no_row(criterion, file), code="missing_row")
        for ref in row.evidence_refs:
            if resolve(ref, trace, task) is None:
                message = f"the recorded verdict cites {ref!r}, which is not in the trace or the task's facts"
                raise GraderError(message, code="bad_evidence")
        if isinstance(row, Graded) and not row.evidence_refs and _needs_evidence(criterion):
            message = "the recorded verdict cites no evidence, and the criterion says `evidence: required`"
            raise GraderError(message, code="no_evidence")
        if row.graders:
            return row
        return msgspec.structs.replace(row, graders=(GraderRef(kind="recorded"),))

    def _checked(self, task: Task, trial: int, criterion: Criterion, trace: Trace) -> Verdict:
        assert criterion.check is not None  # a criterion without check or judge does not load
        extracted: Mapping[str, Any] = {}
        if criterion.judge and criterion.judge.extract:
            source = self._recorded(task, trial, criterion, trace)
            if not isinstance(
                source, Graded
            ):  # nobody read a value out, which is not to say that there is none
                return source
            extracted = _extracted(source, criterion.judge.extract)
        grader = self.grader_for(criterion.check)
        narrowed = _narrow(trace, criterion.view)
        given = GraderInput(task=task, criterion=criterion, trace=narrowed, extracted=extracted)
        finding = call_within(self.seconds, lambda: grader.grade(criterion.check, given))
        ref = GraderRef(kind=f"check:{grader.kind}", version=grader.version)
        return _to_verdict(task, trial, criterion, finding, ref)

    def notices(self) -> tuple[ScoreNotice, ...]:
        """What the reader should know about the traces themselves."""
        found = lost_notices(self.lost, "records")
        for name, count in sorted(self.unmatched.items())[:MOST_NAMED]:
            detail = f"{count} trace(s) of task {name!r} match no task of the standard; they are not graded"
            found.append(ScoreNotice(code="unmatched_trace", detail=detail))
        if len(self.unmatched) > MOST_NAMED:
            detail = f"and {len(self.unmatched) - MOST_NAMED} more task ids"
            found.append(ScoreNotice(code="unmatched_trace", detail=detail))
        if self.matcher.renumbered:
            repeated = f"{self.matcher.renumbered} traces repeat a trial number of their task"
            detail = f"{repeated} and were given the next free one"
            found.append(ScoreNotice(code="renumbered_trials", detail=detail))
        for code, details in sorted(self.trace_notices.items()):
            more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
            found.append(ScoreNotice(code=code, detail=details[0] + more))
        return (*found, *self.recorded.notices())


def _is_recorded(criterion: Criterion) -> bool:
    """Whether the verdict comes from rows: judged criteria without a check, and `recorded` checks without a score."""
    if criterion.check is None:
        return True
    return isinstance(criterion.check, RecordedCheck) and criterion.check.score is None


def _no_row(criterion: Criterion, file: str | None) -> str:
    if file is not None:
        return f"{file} has no verdict for this criterion and trial"
    why = " (judges are not run in this version)" if criterion.judge else ""
    return f"no row was given for this criterion; add its verdict with --recorded FILE{why}"


def _needs_evidence(criterion: Criterion) -> bool:
    return criterion.judge is not None and criterion.judge.evidence == "required"


def _narrow(trace: Trace, view: View | None) -> Trace:
    """The steps that the view shows. `tools` keeps the calls of these tools with their results, and what is no call."""
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
    return msgspec.structs.replace(trace, steps=tuple(steps))


def _is_of(step: Step, tools: Mapping[str, str], wanted: Sequence[str]) -> bool:
    if step.call is not None:
        return step.call.name in wanted
    return step.result is None or tools.get(step.result.call_step_id or "") in wanted


def _extracted(row: Graded, wanted: Mapping[str, str]) -> dict[str, Any]:
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


def _to_verdict(task: Task, trial: int, criterion: Criterion, finding: Finding, ref: GraderRef) -> Verdict:
    """The finding as a verdict; anything that is no finding, or a value outside 0..1, is nonsense and an error."""
    if not _is_finding(finding):
        message = f"the check returned {_shortly(finding)}, which is no score in 0..1"
        raise GraderError(message, code="nonsense")
    common: dict[str, Any] = {
        "task": task.id, "trial": trial, "criterion": criterion.id, "reason": clean(finding.reason),
        "evidence_refs": tuple(clean(finding.evidence)), "graders": (ref,),
    }  # fmt: skip
    if isinstance(finding, Undecided):
        return Unknown(**common)
    mark = Fraction(criterion.pass_mark)
    failed = finding.value < mark
    score = float(finding.value)
    if failed and score >= float(mark):  # just below the mark, and nearer to it than to the next number below
        score = math.nextafter(float(mark), 0.0)
    tag = (finding.failure_tag or criterion.failure_tag) if failed else None
    return Graded(**common, score=score, failure_tag=tag)


def _is_finding(finding: object) -> TypeGuard[Finding]:
    """Records do not check their own types, and what a check gives back may be anything."""
    if isinstance(finding, Undecided):
        return _is_worded(finding.reason, finding.evidence)
    if not isinstance(finding, Score) or not isinstance(finding.failure_tag, str | None):
        return False
    decided = isinstance(finding.value, Fraction) and 0 <= finding.value <= 1
    return decided and _is_worded(finding.reason, finding.evidence)


def _is_worded(reason: object, evidence: object) -> bool:
    return (
        isinstance(reason, str)
        and isinstance(evidence, tuple)
        and all(isinstance(ref, str) for ref in evidence)
    )


def _shortly(value: object) -> str:
    try:
        return repr(value)[:200]
    except Exception:  # noqa: BLE001 what a check gives back need not be able to show itself
        return f"a {type(value).__name__}"


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 an exception need not be able to show itself
        return "(its message cannot be read)"


def _error(task: Task, trial: int, criterion: Criterion, code: str, reason: str) -> Errored:
    return Errored(task=task.id, trial=trial, criterion=criterion.id, error=code, reason=clean(reason)[:500])
