"""Where gradings are kept: verdicts that are never overwritten, and findings that may be used again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, Protocol, Self

import msgspec

from steelyard.model.standard import Suite
from steelyard.model.table import Primary, ScoreNotice
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Attempt, Finding, GraderRef, Score, TrialRow, Undecided, Verdict

Status = Literal["running", "done"]


class Payload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a grader decided, without whom it was about and without any threshold.

    `score` is the exact fraction as text (`4/5`, `1/1`), null with `unknown`. `failure_tag` is the tag that the finding
    itself gave (`NO_PROPOSAL`), not the criterion's.
    """

    status: Literal["graded", "unknown"]
    score: str | None = None
    reason: str = ""
    evidence_refs: tuple[str, ...] = ()
    failure_tag: str | None = None
    graders: tuple[GraderRef, ...] = ()
    extracted: Mapping[str, Any] = {}
    attempts: tuple[Attempt, ...] = ()
    cost_usd: float | None = None

    @property
    def finding(self) -> Finding:
        """The finding as the grader gave it: exact. ValueError when the payload holds no score in 0..1."""
        if self.status == "unknown":
            return Undecided(reason=self.reason, evidence=self.evidence_refs)
        value = Fraction(self.score or "")
        if not 0 <= value <= 1:
            raise ValueError(f"{self.score} is no score in 0..1")
        return Score(
            value=value, reason=self.reason, evidence=self.evidence_refs, failure_tag=self.failure_tag
        )


def payload_of(
    finding: Finding,
    *,
    graders: Sequence[GraderRef] = (),
    extracted: Mapping[str, Any] | None = None,
    attempts: Sequence[Attempt] = (),
    cost_usd: float | None = None,
) -> Payload:
    """The payload that gives `finding` back, with who decided it and what that took."""
    graded = isinstance(finding, Score)
    return Payload(
        status="graded" if graded else "unknown",
        score=f"{finding.value.numerator}/{finding.value.denominator}"
        if isinstance(finding, Score)
        else None,
        reason=finding.reason,
        evidence_refs=finding.evidence,
        failure_tag=finding.failure_tag if isinstance(finding, Score) else None,
        graders=tuple(graders),
        extracted=extracted or {},
        attempts=tuple(attempts),
        cost_usd=cost_usd,
    )


class GradingRef(msgspec.Struct, frozen=True, kw_only=True):
    """A grading in a store: `id` grows in the order of beginning, `name` is what people type (`2026-11-30-2`)."""

    id: int
    name: str


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list of runs. Metric, bounds and decision are null or empty until the grading is finished.

    `trials` counts different trials that are kept, `planned` those that were meant (null: not said). `selected` says
    that only some tasks of the standard were graded.
    """

    name: str
    suite: str
    version: str
    hash: str
    created_at: str
    status: Status
    trials: int
    planned: int | None = None
    metric: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    bar: float | None = None
    decision: str | None = None
    selected: bool = False


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A grading as it was kept, enough to score it again without any other file.

    `rows` holds each trial row followed by its verdicts, in the order of first writing. A trial that was graded several
    times stands once: its last trial row and, for each criterion, the verdict of the last attempt, with the earlier
    ones under `attempts` and the cost of all of them.
    """

    name: str
    suite: Suite
    rows: Sequence[Verdict | TrialRow]
    status: Status
    created_at: str
    planned: int | None = None
    options: Mapping[str, Any] = {}
    lost: tuple[Quarantined, ...] = ()
    notices: tuple[ScoreNotice, ...] = ()
    primary: Primary | None = None
    decision: str | None = None


class Store(Protocol):
    """A store of gradings. A context manager; used by the thread that opened it.

    Every method raises `StoreError` when the store cannot be used (locked, full, read-only, damaged), with what to do
    next; what was committed before stays. Verdicts are added and never changed.
    """

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...

    def begin(self, suite: Suite, *, planned: int | None, options: Mapping[str, Any]) -> GradingRef:
        """Start a grading and commit that it exists. `options` (JSON values) tell it from others for `unfinished`."""
        ...

    def put_trial(
        self,
        grading: GradingRef,
        trial: TrialRow,
        verdicts: Sequence[Verdict],
        keys: Sequence[bytes | None] = (),
        payloads: Sequence[Payload | None] = (),
    ) -> None:
        """Keep a trial with all its verdicts, together or not at all. Buffered: `flush` says when it is on disk.

        `keys` and `payloads` are empty or go along with `verdicts`: where both stand, the payload can be found again by
        that key. Errors and skips are never found again. The same trial once more is a further attempt.
        ValueError for a score outside 0..1, a key without a payload, or lengths that differ.
        """
        ...

    def flush(self) -> None:
        """Commit what is buffered. After an error it is still buffered, so that it can be tried again."""
        ...

    def finish(
        self,
        grading: GradingRef,
        lost: Sequence[Quarantined] = (),
        notices: Sequence[ScoreNotice] = (),
        *,
        primary: Primary | None = None,
        decision: str | None = None,
    ) -> None:
        """Commit everything and mark the grading done, with the headline that the list of runs shows."""
        ...

    def committed(self, grading: GradingRef) -> frozenset[tuple[str, int]]:
        """(task, trial) of every trial of the grading that is on disk."""
        ...

    def unfinished(self, suite_hash: str, options: Mapping[str, Any]) -> GradingRef | None:
        """The latest grading of this standard with equal options that was begun and not finished.

        It is then worked on by this store alone, until it is finished or the store is closed. StoreError where every
        such grading is being worked on by another one.
        """
        ...

    def skip_kept(self, grading: GradingRef) -> None:
        """From now on a trial of this grading that is put as its last attempt was kept is not written again."""
        ...

    def find(self, key: bytes) -> Payload | None:
        """What was decided under this key, buffered or on disk; the first one stays."""
        ...

    def find_many(self, keys: Sequence[bytes]) -> Mapping[bytes, Payload]:
        """`find` for many keys at once; those that are not known are absent."""
        ...

    def runs(self) -> Sequence[RunSummary]:
        """Every grading, oldest first, in the order of beginning (whatever the clock said)."""
        ...

    def load(self, name: str) -> StoredRun:
        """A grading by its name, the only one that begins so, or `latest`. UsageError when there is no such one."""
        ...

    def columns(self, name: str) -> StoredRun:
        """`load` for scoring: `rows` is a `CompactRows` whose columns were read, and which reads the rows when asked,
        from a store that was closed meanwhile too. StoreError where that cannot be done any more.
        """
        ...

    def restore(self, run: StoredRun, *, origin: str) -> str:
        """Add a run that was kept elsewhere, whole or not at all, and return its name here.

        `origin` identifies it: the same origin again adds nothing and returns the name it has. A name that is taken
        by another run gets `-imported` (then `-imported-2`, ...) added.
        """
        ...
