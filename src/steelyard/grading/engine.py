"""Traces under a standard to verdicts: every criterion of every trial gets one, whatever happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Protocol

import msgspec

from steelyard.errors import GraderError, InputError, StoreError
from steelyard.grading.address import Addressing, StateHash
from steelyard.grading.deadline import call_within
from steelyard.grading.findings import (
    errored,
    extracted_values,
    is_finding,
    narrow,
    nonsense,
    said,
    to_verdict,
)
from steelyard.grading.matching import Matcher
from steelyard.grading.measure import measurements
from steelyard.grading.recorded import MOST_NAMED, RecordedRows, lost_notices
from steelyard.grading.rows import Row
from steelyard.model.checks import CallsCheck, Check, LaterCheck, RecordedCheck, RuleCheck
from steelyard.model.evidence import agent_calls, resolve
from steelyard.model.standard import Criterion, Suite, Task
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import FAULTS, EndState, Quarantined, Trace
from steelyard.model.verdict import Graded, GraderRef, TrialRow, Verdict
from steelyard.ports.grader import Grader, GraderInput
from steelyard.ports.store import Payload, payload_of

UNNUMBERED = -1
"""The trial of a trace whose number is not known yet; no recorded verdict and no state folder belongs to it."""
CHECK_SECONDS = 10.0
"""Time limit of one check on one trial."""

GraderFor = Callable[[Check | LaterCheck], Grader]
Attach = Callable[[Trace, str, int], Trace]
"""The trace of a task's trial with the states that stand beside it."""


class Findings(Protocol):
    """Findings that may be used again, by the key of exactly what decided them."""

    def find(self, key: bytes) -> Payload | None: ...


class GradedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial and its verdicts. `keys` and `payloads` go along with `verdicts`; null where nothing can be reused."""

    row: TrialRow
    verdicts: tuple[Verdict, ...] = ()
    keys: tuple[bytes | None, ...] = ()
    payloads: tuple[Payload | None, ...] = ()


class _Answered(msgspec.Struct, frozen=True, kw_only=True):
    verdict: Verdict
    key: bytes | None = None
    payload: Payload | None = None


def _no_state(state: EndState) -> str:
    raise GraderError("This run was not told how to read end states.", code="bad_state")


class Engine:
    """Grades a stream of traces; after the stream is read, `notices` says what did not fit and `lost` counts records.

    `grader_for` finds the code grader of a check; `recorded` holds verdicts given elsewhere; `cache` findings of
    earlier runs. Nothing that a trace or check does stops the stream: it becomes an error of that criterion alone.
    Traces of `left_out` tasks (tasks of the same standard that were not selected) are passed over.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        grader_for: GraderFor,
        recorded: RecordedRows,
        seconds: float = CHECK_SECONDS,
        left_out: Sequence[Task] = (),
        cache: Findings | None = None,
        attach: Attach | None = None,
        state_hash: StateHash = _no_state,
    ) -> None:
        self.suite = suite
        self.grader_for = grader_for
        self.recorded = recorded
        self.seconds = seconds
        self.left_out = frozenset(task.id for task in left_out)
        self.cache = cache
        self.attach = attach
        self.state_hash = state_hash
        self.matcher = Matcher((*suite.tasks, *left_out))
        self.lost: list[Quarantined] = []
        self.graded_traces = 0
        self.reused = 0
        self.unmatched: Counter[str] = Counter()
        self.first_seen: dict[str, str] = {}
        self.renumbered: list[str] = []
        self.told: dict[str, list[str]] = {}
        self.said: list[ScoreNotice] = []
        """Notices of the caller, about what was given beside the traces."""
        self.called: set[str] = set()

    def grade(self, traces: Iterable[Trace | Quarantined]) -> Iterator[Row]:
        """Rows in the order of the traces: a trial row, then the verdict of each of its criteria."""
        for trial in self.grade_trials(traces):
            yield trial.row
            yield from trial.verdicts

    def grade_trials(self, traces: Iterable[Trace | Quarantined]) -> Iterator[GradedTrial]:
        """Trials in the order of the traces, each with the verdict of every criterion of its task."""
        waiting: list[tuple[Task, Trace, GradedTrial]] = []
        for trace in traces:
            if isinstance(trace, Quarantined):
                self.lost.append(trace)
                continue
            task = self.matcher.task_of(trace)
            if task is None:
                self._unmatched(trace)
            elif task.id not in self.left_out:
                trial = self.matcher.trial_of(task, trace)
                if trial is None:
                    waiting.append((task, trace, self._grade_trace(task, UNNUMBERED, trace)))
                else:
                    yield self._grade_trace(task, trial, trace)
        for task, trace, graded in waiting:
            number = self.matcher.free(task)
            stated = f"{_where(trace)} states {task.id}#{trace.trial}, which is taken"
            self.renumbered.append(f"{stated}, and counts as {task.id}#{number}")
            yield _numbered(graded, number)

    def _unmatched(self, trace: Trace) -> None:
        name = trace.task_id if trace.task_id is not None else ""
        self.unmatched[name] += 1
        self.first_seen.setdefault(name, _where(trace))

    def _grade_trace(self, task: Task, trial: int, trace: Trace) -> GradedTrial:
        self.graded_traces += 1
        if self.attach and trial != UNNUMBERED:
            trace = self.attach(trace, task.id, trial)
        for notice in trace.notices:
            self._tell(notice.code, task, trial, notice.detail)
        self.called.update(step.call.name for step in agent_calls(trace, by="any") if step.call)
        ended_by = trace.outcome.ended_by
        row = TrialRow(
            task=task.id, trial=trial, ended_by=ended_by, measurements=measurements(trace), trace=trace.id
        )
        if ended_by in FAULTS:
            return GradedTrial(row=row)
        addressing = Addressing(task, trace, self.state_hash)
        answered = [self._answer(task, trial, criterion, addressing) for criterion in task.criteria]
        self._tell_empty_passes(task, trial, trace, [entry.verdict for entry in answered])
        return GradedTrial(
            row=row,
            verdicts=tuple(entry.verdict for entry in answered),
            keys=tuple(entry.key for entry in answered),
            payloads=tuple(entry.payload for entry in answered),
        )

    def _answer(self, task: Task, trial: int, criterion: Criterion, addressing: Addressing) -> _Answered:
        try:
            if _is_recorded(criterion):
                return _Answered(verdict=self._recorded(task, trial, criterion, addressing.trace))
            return self._checked(task, trial, criterion, addressing)
        except GraderError as error:
            return _Answered(verdict=errored(task, trial, criterion, error.code, str(error)))
        except StoreError:  # not this criterion's fault
            raise
        except InputError as error:
            return _Answered(verdict=errored(task, trial, criterion, "unreadable_rows", str(error)))
        except (Exception, SystemExit) as error:  # noqa: BLE001 the edge: an error of this criterion alone
            reason = f"{type(error).__name__}: {said(error)}"
            return _Answered(verdict=errored(task, trial, criterion, "check_raised", reason))

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

    def _checked(self, task: Task, trial: int, criterion: Criterion, addressing: Addressing) -> _Answered:
        assert criterion.check is not None  # a criterion without check or judge does not load
        extracted: Mapping[str, Any] = {}
        if criterion.judge and criterion.judge.extract:
            source = self._recorded(task, trial, criterion, addressing.trace)
            if not isinstance(
                source, Graded
            ):  # nobody read a value out; that does not say that there is none
                return _Answered(verdict=source)
            extracted = extracted_values(source, criterion.judge.extract)
        grader = self.grader_for(criterion.check)
        shown = narrow(addressing.trace, criterion)
        given = GraderInput(task=task, criterion=criterion, trace=shown, extracted=extracted)
        ref = GraderRef(kind=f"check:{grader.kind}", version=grader.version)
        key = self._key(addressing, grader, criterion, given)
        payload = self._known(key, addressing.trace, task)
        if payload is not None:
            self.reused += 1
            finding = payload.finding
        else:
            limit = max(self.seconds, getattr(grader, "seconds", None) or 0.0)
            finding = call_within(limit, lambda: grader.grade(criterion.check, given))
            if not is_finding(finding):
                raise nonsense(finding)
            payload = None if key is None else payload_of(finding, graders=(ref,))
        return _Answered(verdict=to_verdict(task, trial, criterion, finding, ref), key=key, payload=payload)

    def _key(
        self, addressing: Addressing, grader: Grader, criterion: Criterion, given: GraderInput
    ) -> bytes | None:
        """None where nothing is kept, and for what cannot be addressed: that is graded anew, store or not."""
        if self.cache is None:
            return None
        try:
            return addressing.key(grader, criterion, given)
        except Exception:  # noqa: BLE001 an unreadable state, absurd depth: the check itself says what is wrong
            return None

    def _known(self, key: bytes | None, trace: Trace, task: Task) -> Payload | None:
        """What an earlier run found. Not where it cites anything that this trial does not hold."""
        payload = None if self.cache is None or key is None else self.cache.find(key)
        if payload is None or any(resolve(ref, trace, task) is None for ref in payload.evidence_refs):
            return None
        return payload

    def _tell(self, code: str, task: Task, trial: int, detail: str) -> None:
        which = task.id if trial == UNNUMBERED else f"{task.id}#{trial}"
        self.told.setdefault(code, []).append(f"{which}: {detail}")

    def _tell_empty_passes(self, task: Task, trial: int, trace: Trace, verdicts: Sequence[Verdict]) -> None:
        """A rule or call check that passes a complete record with no call at all is a pass worth a second look."""
        if not trace.fidelity.has_tool_calls or agent_calls(trace, by="any"):
            return
        for criterion, verdict in zip(task.criteria, verdicts, strict=True):
            about_calls = isinstance(criterion.check, RuleCheck | CallsCheck)
            if about_calls and isinstance(verdict, Graded) and verdict.score >= criterion.pass_mark > 0:
                self._tell("zero_calls", task, trial, f"{criterion.id} passes a record with 0 calls")

    def notices(self) -> tuple[ScoreNotice, ...]:
        """What the reader should know about the traces themselves."""
        found = [
            *self.said,
            *lost_notices(self.lost, "records"),
            *self._unmatched_notices(),
            *self._strange_tools(),
        ]
        if self.renumbered:
            more = f" (and {len(self.renumbered) - 1} more)" if len(self.renumbered) > 1 else ""
            detail = f"{self.renumbered[0]}; a recording that was given twice counts twice{more}"
            found.append(ScoreNotice(code="renumbered_trials", detail=detail))
        for code, details in sorted(self.told.items()):
            more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
            found.append(ScoreNotice(code=code, detail=details[0] + more))
        return (*found, *self.recorded.notices())

    def _strange_tools(self) -> Iterator[ScoreNotice]:
        """A rule on a tool that nobody calls, named almost like one that is called, may be a slip of the pen."""
        rules = ((task, criterion) for task in self.suite.tasks for criterion in task.criteria)
        told: set[str] = set()
        for task, criterion in rules:
            if not isinstance(criterion.check, RuleCheck) or criterion.check.rule.glob:
                continue
            for tool in criterion.check.rule.tool:
                close = get_close_matches(tool, self.called - {tool}, n=1, cutoff=0.8)
                if tool not in self.called and tool not in told and close:
                    told.add(tool)
                    which = f"{task.id}/{criterion.id} is about the tool {tool!r}, which no recording calls"
                    yield ScoreNotice(code="unknown_tool", detail=f"{which}; did you mean {close[0]!r}?")

    def _unmatched_notices(self) -> Iterator[ScoreNotice]:
        ids = [task.id for task in self.suite.tasks]
        for name, count in sorted(self.unmatched.items())[:MOST_NAMED]:
            several = f"{count} traces" if count > 1 else "1 trace"
            close = get_close_matches(name, ids, n=1) if name else []
            hint = f"; did you mean {close[0]!r}?" if close else ""
            whose = f"name the task {name!r}, which" if name else "name no task, and their first user message"
            detail = (
                f"{several} (first: {self.first_seen[name]}) {whose} is not in the standard; not graded{hint}"
            )
            yield ScoreNotice(code="unmatched_trace", detail=detail)
        if len(self.unmatched) > MOST_NAMED:
            detail = f"and {len(self.unmatched) - MOST_NAMED} more task ids"
            yield ScoreNotice(code="unmatched_trace", detail=detail)


def _where(trace: Trace) -> str:
    file = trace.source.file or trace.id
    return f"{file} {trace.source.locator}".strip()


def _numbered(graded: GradedTrial, number: int) -> GradedTrial:
    replace = msgspec.structs.replace
    verdicts = tuple(replace(verdict, trial=number) for verdict in graded.verdicts)
    return replace(graded, row=replace(graded.row, trial=number), verdicts=verdicts)


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
