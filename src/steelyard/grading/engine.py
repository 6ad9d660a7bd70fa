"""Traces under a standard to verdicts: every criterion of every trial gets one, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from steelyard.errors import GraderError, InputError, StoreError
from steelyard.grading.address import Addressing, StateHash
from steelyard.grading.ahead import windows
from steelyard.grading.deadline import Limits
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
from steelyard.grading.notes import Told, Unmatched, exact_tools, strange_tools
from steelyard.grading.recorded import RecordedRows, lost_notices
from steelyard.grading.routes import GraderFor, Route, Routes
from steelyard.grading.rows import Row
from steelyard.model.checks import CallsCheck, RecordedCheck, RuleCheck
from steelyard.model.evidence import agent_calls, resolve
from steelyard.model.standard import Criterion, Suite, Task
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import FAULTS, EndState, Quarantined, Trace
from steelyard.model.verdict import Graded, GraderRef, TrialRow, Verdict
from steelyard.ports.grader import GraderInput
from steelyard.ports.store import Payload, payload_of

UNNUMBERED = -1
"""The trial of a trace whose number is not known yet; no recorded verdict and no state folder belongs to it."""
CHECK_SECONDS = 10.0
"""Time limit of one check on one trial."""

_ABOUT_CALLS = (RuleCheck, CallsCheck)
Attach = Callable[[Trace, str, int], Trace]
"""The trace of a task's trial with the states that stand beside it."""


class Findings(Protocol):
    """Findings that may be used again, by the key of exactly what decided them."""

    def find_many(self, keys: Sequence[bytes]) -> Mapping[bytes, Payload]:
        """Those that are known."""
        ...


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


class _Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check that is still to be made, unless its key is known."""

    route: Route
    given: GraderInput
    key: bytes | None


class _Read(NamedTuple):
    """A trace with its task, and the number of the trial (null: not known yet)."""

    task: Task
    trial: int | None
    trace: Trace


class _Prepared(NamedTuple):
    """A trial as far as it stands before anything is looked up or checked."""

    read: _Read
    row: TrialRow
    parts: Sequence[_Answered | _Check]


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
        self.recorded = recorded
        self.routes = Routes(grader_for, seconds=seconds, keyed=cache is not None)
        self.left_out = frozenset(task.id for task in left_out)
        self.cache = cache
        self.attach = attach
        self.state_hash = state_hash
        self.matcher = Matcher((*suite.tasks, *left_out))
        self.lost: list[Quarantined] = []
        self.graded_traces = 0
        self.reused = 0
        self.unread = Unmatched()
        self.renumbered: list[str] = []
        self.told = Told()
        self.said: list[ScoreNotice] = []
        """Notices of the caller, about what was given beside the traces."""
        self.ruled = exact_tools(suite)
        self.called: set[str] = set()

    @property
    def unmatched(self) -> Mapping[str, int]:
        """How many traces named each task that is not there (empty: named none)."""
        return self.unread.times

    def grade(self, traces: Iterable[Trace | Quarantined]) -> Iterator[Row]:
        """Rows in the order of the traces: a trial row, then the verdict of each of its criteria."""
        for trial in self.grade_trials(traces):
            yield trial.row
            yield from trial.verdicts

    def grade_trials(self, traces: Iterable[Trace | Quarantined]) -> Iterator[GradedTrial]:
        """Trials in the order of the traces, each with the verdict of every criterion of its task."""
        waiting: list[tuple[Task, str, GradedTrial]] = []
        with Limits() as limits:
            for window in self._windows(traces):
                prepared = [self._prepare(read) for read in window]
                known = self._known(prepared)
                for trial in prepared:
                    graded = self._graded(trial, known, limits)
                    task, number, trace = trial.read
                    if number is None:
                        waiting.append((task, f"{_where(trace)} states {task.id}#{trace.trial}", graded))
                    else:
                        yield graded
        for task, stated, graded in waiting:
            number = self.matcher.free(task)
            self.renumbered.append(f"{stated}, which is taken, and counts as {task.id}#{number}")
            yield _numbered(graded, number)

    def _windows(self, traces: Iterable[Trace | Quarantined]) -> Iterator[Sequence[_Read]]:
        if self.cache is None:
            return ([read] for read in self._read(traces))
        return windows(self._read(traces), size=lambda read: len(read.trace.steps))

    def _read(self, traces: Iterable[Trace | Quarantined]) -> Iterator[_Read]:
        for trace in traces:
            if isinstance(trace, Quarantined):
                self.lost.append(trace)
                continue
            task = self.matcher.task_of(trace)
            if task is None:
                self.unread.add(trace.task_id if trace.task_id is not None else "", _where(trace))
            elif task.id not in self.left_out:
                yield _Read(task, self.matcher.trial_of(task, trace), trace)

    def _prepare(self, read: _Read) -> _Prepared:
        task, number, trace = read
        self.graded_traces += 1
        trial = UNNUMBERED if number is None else number
        if self.attach and number is not None:
            trace = self.attach(trace, task.id, trial)
            read = _Read(task, number, trace)
        for notice in trace.notices:
            self._tell(notice.code, task, trial, notice.detail)
        if self.ruled:
            self.called.update(step.call.name for step in agent_calls(trace, by="any") if step.call)
        ended_by = trace.outcome.ended_by
        row = TrialRow(
            task=task.id, trial=trial, ended_by=ended_by, measurements=measurements(trace), trace=trace.id
        )
        parts: list[_Answered | _Check] = []
        if ended_by not in FAULTS:
            addressing = Addressing(task, trace, self.state_hash)
            parts = [self._asked(task, trial, criterion, addressing) for criterion in task.criteria]
        return _Prepared(read, row, parts)

    def _known(self, prepared: Sequence[_Prepared]) -> dict[bytes, Payload]:
        """What earlier runs found. What this one finds meanwhile is added to it."""
        if self.cache is None:
            return {}
        keys = {
            part.key: None
            for trial in prepared
            for part in trial.parts
            if isinstance(part, _Check) and part.key is not None
        }
        return dict(self.cache.find_many(list(keys))) if keys else {}

    def _graded(self, trial: _Prepared, known: dict[bytes, Payload], limits: Limits) -> GradedTrial:
        task, _, trace = trial.read
        if not trial.parts:
            return GradedTrial(row=trial.row)
        number = trial.row.trial
        verdicts: list[Verdict] = []
        keys: list[bytes | None] = []
        payloads: list[Payload | None] = []
        for part in trial.parts:
            entry = part if isinstance(part, _Answered) else self._checked(part, number, known, limits, trace)
            verdicts.append(entry.verdict)
            keys.append(entry.key)
            payloads.append(entry.payload)
        self._tell_empty_passes(task, number, trace, verdicts)
        return GradedTrial(
            row=trial.row, verdicts=tuple(verdicts), keys=tuple(keys), payloads=tuple(payloads)
        )

    def _asked(
        self, task: Task, trial: int, criterion: Criterion, addressing: Addressing
    ) -> _Answered | _Check:
        """A verdict that was given elsewhere, or what has to be checked."""
        try:
            if _is_recorded(criterion):
                return _Answered(verdict=self._recorded(task, trial, criterion, addressing.trace))
            extracted: Mapping[str, Any] = {}
            if criterion.judge and criterion.judge.extract:
                source = self._recorded(task, trial, criterion, addressing.trace)
                if not isinstance(source, Graded):
                    # Nobody read a value out; that does not say that there is none.
                    return _Answered(verdict=source)
                extracted = extracted_values(source, criterion.judge.extract)
            route = self.routes(criterion)
            shown = narrow(addressing.trace, criterion)
            given = GraderInput(task=task, criterion=criterion, trace=shown, extracted=extracted)
            return _Check(route=route, given=given, key=_key(addressing, route, given))
        except (Exception, SystemExit) as error:  # noqa: BLE001 the edge: an error of this criterion alone
            return _Answered(verdict=_failed(error, task, trial, criterion))

    def _checked(
        self, check: _Check, trial: int, known: dict[bytes, Payload], limits: Limits, trace: Trace
    ) -> _Answered:
        route, given, key = check.route, check.given, check.key
        task, criterion = given.task, given.criterion
        try:
            payload = known.get(key) if key is not None else None
            if payload is not None and _stands(payload, trace, task):
                self.reused += 1
                finding = payload.finding
            else:
                finding = limits.call(route.seconds, lambda: route.grader.grade(criterion.check, given))
                if not is_finding(finding):
                    raise nonsense(finding)
                payload = None
                if key is not None:
                    payload = known[key] = payload_of(finding, graders=(route.ref,))
            verdict = to_verdict(task, trial, criterion, finding, route.ref)
        except (Exception, SystemExit) as error:  # noqa: BLE001 the edge: an error of this criterion alone
            return _Answered(verdict=_failed(error, task, trial, criterion))
        return _Answered(verdict=verdict, key=key, payload=payload)

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

    def _tell(self, code: str, task: Task, trial: int, detail: str) -> None:
        which = task.id if trial == UNNUMBERED else f"{task.id}#{trial}"
        self.told.add(code, f"{which}: {detail}")

    def _tell_empty_passes(self, task: Task, trial: int, trace: Trace, verdicts: Sequence[Verdict]) -> None:
        """A rule or call check that passes a complete record with no call at all is a pass worth a second look."""
        for position, criterion in enumerate(task.criteria):
            verdict = verdicts[position]
            if not isinstance(criterion.check, _ABOUT_CALLS) or not isinstance(verdict, Graded):
                continue
            if not trace.fidelity.has_tool_calls or agent_calls(trace, by="any"):
                return
            if verdict.score >= criterion.pass_mark > 0:
                self._tell("zero_calls", task, trial, f"{criterion.id} passes a record with 0 calls")

    def notices(self) -> tuple[ScoreNotice, ...]:
        """What the reader should know about the traces themselves."""
        found = [
            *self.said,
            *lost_notices(self.lost, "records"),
            *self.unread.notices(task.id for task in self.suite.tasks),
            *strange_tools(self.ruled, self.called),
        ]
        if self.renumbered:
            more = f" (and {len(self.renumbered) - 1} more)" if len(self.renumbered) > 1 else ""
            detail = f"{self.renumbered[0]}; a recording that was given twice counts twice{more}"
            found.append(ScoreNotice(code="renumbered_trials", detail=detail))
        return (*found, *self.told.notices(), *self.recorded.notices())


def _failed(error: BaseException, task: Task, trial: int, criterion: Criterion) -> Verdict:
    """The error of the criterion. A store that cannot be read is not its fault: that is raised again."""
    match error:
        case StoreError():
            raise error
        case GraderError():
            return errored(task, trial, criterion, error.code, str(error))
        case InputError():
            return errored(task, trial, criterion, "unreadable_rows", str(error))
        case _:
            reason = f"{type(error).__name__}: {said(error)}"
            return errored(task, trial, criterion, "check_raised", reason)


def _key(addressing: Addressing, route: Route, given: GraderInput) -> bytes | None:
    """None where nothing is kept, and for what cannot be addressed: that is graded anew, store or not."""
    if route.asked is None:
        return None
    try:
        return addressing.key_of(route.asked, given)
    except Exception:  # noqa: BLE001 an unreadable state, absurd depth: the check itself says what is wrong
        return None


def _stands(payload: Payload, trace: Trace, task: Task) -> bool:
    """Whether the trial holds everything that the payload cites."""
    return all(resolve(ref, trace, task) is not None for ref in payload.evidence_refs)


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
