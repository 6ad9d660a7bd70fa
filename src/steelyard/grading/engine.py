"""Traces under a standard to rows: every criterion of every trial gets one verdict, whatever happens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeGuard

import msgspec

from steelyard.errors import GraderError
from steelyard.grading.deadline import call_within
from steelyard.grading.matching import Matcher
from steelyard.grading.measure import measurements
from steelyard.grading.recorded import RecordedRows
from steelyard.grading.rows import Row
from steelyard.model.checks import Check, LaterCheck, RecordedCheck
from steelyard.model.evidence import resolve
from steelyard.model.standard import Criterion, Suite, Task, View
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import FAULTS, Quarantined, Trace
from steelyard.model.verdict import Errored, Finding, Graded, GraderRef, Score, TrialRow, Undecided, Unknown, Verdict
from steelyard.ports.grader import Grader, GraderInput

CHECK_SECONDS = 10.0
"""Time limit of one check on one trial."""

GraderFor = Callable[[Check | LaterCheck], Grader]


class Engine:
    """Grades a stream of traces; after the stream is read, `notices` says what did not fit and `lost` counts records.

    `grader_for` finds the code grader of a check; `recorded` holds verdicts given elsewhere. Nothing that a trace or
    check does stops the stream: it becomes an error of that criterion alone. Traces of `left_out` tasks (not
    selected on purpose) are passed over.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        grader_for: GraderFor,
        recorded: RecordedRows,
        seconds: float = CHECK_SECONDS,
        left_out: frozenset[str] = frozenset(),
    ) -> None:
        self.suite = suite
        self.grader_for = grader_for
        self.recorded = recorded
        self.seconds = seconds
        self.left_out = left_out
        self.matcher = Matcher(suite)
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
            if trace.task_id in self.left_out:
                continue
            task = self.matcher.task_of(trace)
            if task is None:
                self.unmatched[trace.task_id if trace.task_id is not None else "(no task id)"] += 1
                continue
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
        except Exception as error:  # noqa: BLE001 the edge: whatever a check raises is an error of this criterion alone
            return _error(task, trial, criterion, "check_raised", f"{type(error).__name__}: {error}"[:500])

    def _recorded(self, task: Task, trial: int, criterion: Criterion, trace: Trace) -> Verdict:
        file = criterion.check.file if isinstance(criterion.check, RecordedCheck) else None
        row = self.recorded.find(task.id, trial, criterion.id, file=file)
        if row is None:
            raise GraderError(_no_row(criterion, file), code="missing_row")
        for ref in row.evidence_refs:
            if resolve(ref, trace, task) is None:
                message = f"the recorded verdict cites {ref!r}, which is not in the trace or the task's facts"
                raise GraderError(message, code="bad_evidence")
        if row.graders:
            return row
        return msgspec.structs.replace(row, graders=(GraderRef(kind="recorded"),))

    def _checked(self, task: Task, trial: int, criterion: Criterion, trace: Trace) -> Verdict:
        assert criterion.check is not None  # a criterion without check or judge does not load
        grader = self.grader_for(criterion.check)
        given = GraderInput(
            task=task,
            criterion=criterion,
            trace=_narrow(trace, criterion.view),
            extracted=self._extracted(task, trial, criterion, trace),
        )
        finding = call_within(self.seconds, lambda: grader.grade(criterion.check, given))
        ref = GraderRef(kind=f"check:{grader.kind}", version=grader.version)
        return _to_verdict(task, trial, criterion, finding, ref)

    def _extracted(self, task: Task, trial: int, criterion: Criterion, trace: Trace) -> Mapping[str, Any]:
        wanted = criterion.judge.extract if criterion.judge else {}
        if not wanted:
            return {}
        row = self._recorded(task, trial, criterion, trace)
        if isinstance(row, Errored):
            raise GraderError(f"the recorded extraction is an error: {row.reason}", code=row.error)
        found = {name: row.extracted[name] for name in wanted if row.extracted.get(name) is not None}
        for name, value in found.items():
            if not _fits(value, wanted[name]):
                message = f"extracted {name} is {value!r}, and the criterion asks for {wanted[name]}"
                raise GraderError(message[:500], code="bad_extraction")
        return found

    def notices(self) -> tuple[ScoreNotice, ...]:
        """What the reader should know about the traces themselves."""
        found = [ScoreNotice(code="quarantined", detail=f"{lost.where}: {lost.reason}") for lost in self.lost[:20]]
        if len(self.lost) > 20:
            found.append(ScoreNotice(code="quarantined", detail=f"and {len(self.lost) - 20} more records"))
        for name, count in sorted(self.unmatched.items())[:20]:
            detail = f"{count} trace(s) of task {name!r} match no task of the standard; they are not graded"
            found.append(ScoreNotice(code="unmatched_trace", detail=detail))
        if len(self.unmatched) > 20:
            found.append(ScoreNotice(code="unmatched_trace", detail=f"and {len(self.unmatched) - 20} more task ids"))
        if self.matcher.renumbered:
            detail = f"{self.matcher.renumbered} traces repeat a trial number of their task and were given the next free one"
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
    kind = "judges are not run in this version" if criterion.judge else "its verdict is recorded elsewhere"
    return f"no verdict: {kind}; give rows with --recorded FILE"


def _narrow(trace: Trace, view: View | None) -> Trace:
    if view is None:
        return trace
    steps = [
        step
        for step in trace.steps
        if (not view.kinds or step.kind in view.kinds)
        and (not view.tools or step.call is None or step.call.name in view.tools)
    ]
    if view.last is not None:
        steps = steps[len(steps) - min(view.last, len(steps)) :]
    return msgspec.structs.replace(trace, steps=tuple(steps))


def _fits(value: Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind == "boolean":
        return isinstance(value, bool)
    return isinstance(value, str) if kind in ("text", "string") else True


def _to_verdict(task: Task, trial: int, criterion: Criterion, finding: Finding, ref: GraderRef) -> Verdict:
    """The finding as a verdict; anything that is no finding, or a value outside 0..1, is nonsense and an error."""
    if isinstance(finding, Undecided):
        return Unknown(
            task=task.id, trial=trial, criterion=criterion.id, reason=finding.reason,
            evidence_refs=finding.evidence, graders=(ref,),
        )  # fmt: skip
    if not _is_score(finding):
        raise GraderError(f"the check returned {str(finding)[:200]}, which is no score in 0..1", code="nonsense")
    failed = finding.value < Fraction(criterion.pass_mark)
    return Graded(
        task=task.id, trial=trial, criterion=criterion.id, score=float(finding.value), reason=finding.reason,
        evidence_refs=finding.evidence, graders=(ref,),
        failure_tag=(finding.failure_tag or criterion.failure_tag) if failed else None,
    )  # fmt: skip


def _is_score(finding: object) -> TypeGuard[Score]:
    return isinstance(finding, Score) and isinstance(finding.value, Fraction) and 0 <= finding.value <= 1


def _error(task: Task, trial: int, criterion: Criterion, code: str, reason: str) -> Errored:
    return Errored(task=task.id, trial=trial, criterion=criterion.id, error=code, reason=reason)
