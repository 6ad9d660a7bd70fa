"""One grading: the standard, its rows, and the scores that follow from them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steelyard.model.columns import CompactRows, compact
from steelyard.model.standard import Suite
from steelyard.model.table import ScoreNotice, ScoreTable
from steelyard.model.trace import Quarantined, Trace
from steelyard.model.verdict import TrialRow, Verdict

if TYPE_CHECKING:
    from steelyard.scoring import Change
    from steelyard.scoring.scored import Scored

MOST_DETAIL = 10_000
"""Verdicts up to which the score table lists every one of them."""
MOST_REPORTED = 2_000_000
"""Rows up to which every verdict stands in an HTML report; beyond, only those of trials that are not complete."""


class Run:
    """A graded run. `scores` is computed once, from `suite` and `rows` alone.

    `lost` are records that could not be read: with any of them a run is INCOMPLETE at best, since what they held
    could have failed. `notices` are about the traces and rows; those about scoring are added in `scores`. `name` is
    what a kept run is called; `unfinished` one that was begun and broken off; `reused` counts findings that were
    taken from earlier runs; `problem` says why the run could not be kept.
    """

    def __init__(
        self,
        *,
        suite: Suite,
        rows: Sequence[Verdict | TrialRow],
        lost: Sequence[Quarantined] = (),
        notices: Sequence[ScoreNotice] = (),
        full: bool = False,
        name: str = "",
        unfinished: bool = False,
        reused: int = 0,
    ) -> None:
        self.suite = suite
        self._rows = rows if isinstance(rows, CompactRows) else tuple(rows)
        self.lost = tuple(lost)
        self.notices = tuple(notices)
        self.full = full
        self.name = name
        self.unfinished = unfinished
        self.reused = reused
        self.problem = ""
        self._before: Scored | None = None
        self._changes: tuple[Change, ...] = ()
        self._replace: Callable[[], Sequence[Verdict | TrialRow]] | None = None

    @property
    def rows(self) -> Sequence[Verdict | TrialRow]:
        """Every verdict and trial row. They need not all be objects at once: prefer a loop to a copy."""
        if self._replace is not None:
            self._rows, self._replace = tuple(self._replace()), None
        return self._rows

    @rows.setter
    def rows(self, rows: Sequence[Verdict | TrialRow]) -> None:
        self._rows, self._replace = rows if isinstance(rows, CompactRows) else tuple(rows), None
        for name in ("_compact", "_computed", "_table", "scores"):
            self.__dict__.pop(name, None)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict rows, without the trial rows."""
        return tuple(row for row in self.rows if not isinstance(row, TrialRow))

    def find(
        self, task: str, trial: int | None = None, criterion: str | None = None
    ) -> list[Verdict | TrialRow]:
        """The rows of a task, of one of its trials or criteria; see `CompactRows.find`."""
        rows = compact(self.rows) if self._changes else self._compact
        return rows.find(task, trial, criterion)

    @cached_property
    def _compact(self) -> CompactRows:
        return compact(self._rows)

    @cached_property
    def _computed(self) -> Scored:
        from steelyard.scoring.scored import compute

        return compute(self.suite, self._compact)

    @cached_property
    def _table(self) -> ScoreTable:
        from steelyard.scoring.score import table

        return table(self._computed, detail=self.full or len(self._rows) <= MOST_DETAIL)

    @cached_property
    def scores(self) -> ScoreTable:
        """The score table. Beyond 10,000 rows it lists incomplete trials only, unless `full`."""
        named = msgspec.structs.replace(self._table, run=self.name, grading=self.name)
        if self.unfinished:
            named = _unfinished(named, len(self._compact.columns().trial_place))
        if self._before is not None:
            named = self._whatif(named, self._before)
        return _with_losses(named, self.lost, (*self._about_keeping(), *self.notices))

    def _whatif(self, table: ScoreTable, before: Scored) -> ScoreTable:
        from steelyard.scoring.rescoring import moved

        texts = tuple(change.text for change in self._changes)
        return msgspec.structs.replace(table, whatif=texts, moved=moved(before, self._computed))

    def _about_keeping(self) -> Iterator[ScoreNotice]:
        if self.problem:
            yield ScoreNotice(code="not_kept", detail=f"this run was not kept to its end: {self.problem}")
        places = self._compact.columns().retried.tolist()
        if places:
            retried = self._compact.rows_at(places)
            first = next(row for row in retried if not isinstance(row, TrialRow))
            several = f"{len(retried)} verdicts are" if len(retried) > 1 else "1 verdict is"
            tasks = f"{len({verdict.task for verdict in retried})} of the tasks"
            where = f"first: {first.task}#{first.trial}/{first.criterion}"
            detail = f"{several} that of a later attempt, in {tasks} ({where}); each trial counts once"
            yield ScoreNotice(code="retried", detail=detail)

    def report(
        self,
        path: str | Path,
        traces: Iterable[Trace | Quarantined] | None = None,
        *,
        date: str = "",
        without: str = "",
        replace_others: bool = True,
    ) -> str:
        """Write the run as one HTML file; returns the folder of further trials beside it, or an empty text.

        `traces` are the recordings that were graded, in the same order: they are matched as in grading and read once.
        Without them the report has no traces, and `without` says why (empty: it was written without recordings).
        `date` (ISO) is now unless it is given. OutputError when the place cannot be written, or, unless
        `replace_others`, when a file that is no report stands there; what was there then stays as it was.
        """
        from steelyard.app.html import write_report

        return write_report(
            path, self._detailed(), self.suite, self.rows, traces, capped=bool(self.lost) or self.unfinished,
            date=date, without=without, replace_others=replace_others,
        )  # fmt: skip

    def _detailed(self) -> ScoreTable:
        """The scores with the detail of every trial."""
        if self.full or not MOST_DETAIL < len(self.rows) <= MOST_REPORTED:
            return self.scores
        whole = Run(
            suite=self.suite, rows=self.rows, lost=self.lost, notices=self.notices, full=True, name=self.name,
            unfinished=self.unfinished,
        )  # fmt: skip
        whole.problem = self.problem
        return msgspec.structs.replace(whole.scores, whatif=self.scores.whatif)

    def to_arrow(self) -> Any:
        """The rows as a `pyarrow.Table`, in the columns of a Parquet export. MissingExtraError without pyarrow."""
        from steelyard.store.parquet import arrow_table

        return arrow_table(self.name, self.suite.hash, self.rows)

    def forget(self) -> None:
        """Put the score table together again when it is next asked for; its numbers stay, since the rows do."""
        self.__dict__.pop("scores", None)

    def what_if(self, changes: Sequence[Change]) -> Run:
        """The run as it would be; nothing is written to the record. UsageError where a change cannot be meant."""
        from steelyard.scoring import apply_changes
        from steelyard.scoring.rescoring import rescored

        found = rescored(self._computed, changes)
        suite, rows = (
            (found.plan.suite, self._rows) if found else apply_changes(self.suite, self.rows, changes)
        )
        changed = Run(
            suite=suite, rows=rows, lost=self.lost, notices=self.notices, full=self.full, name=self.name,
            unfinished=self.unfinished,
        )  # fmt: skip
        if found:
            changed._computed = found
            changed._compact = self._compact
            changed._replace = lambda: apply_changes(self.suite, self.rows, changes)[1]
        changed._before = self._computed
        changed._changes = tuple(changes)
        return changed

    @property
    def headlines(self) -> Mapping[str, tuple[float | None, float | None]]:
        """Low and high of completion and of each dimension, as task average and pooled (`NAME.pooled`).

        They need no table, so that a what-if shows them at once, however large the run is.
        """
        from steelyard.scoring.rescoring import headlines

        return headlines(self._computed)


def _unfinished(table: ScoreTable, kept: int) -> ScoreTable:
    """A run that was broken off decides nothing yet, except that a violated gate or a bar out of reach stays so."""
    several = f"{kept:,} trials stand" if kept != 1 else "1 trial stands"
    detail = f"this run was broken off; {several} in it. `steelyard grade ... --resume` goes on"
    notice = ScoreNotice(code="unfinished_run", detail=detail)
    code, decision = (3, "INCOMPLETE") if table.exit_code == 0 else (table.exit_code, table.decision)
    return msgspec.structs.replace(table, exit_code=code, decision=decision, notices=(notice, *table.notices))


def _with_losses(
    table: ScoreTable, lost: Sequence[Quarantined], notices: Sequence[ScoreNotice]
) -> ScoreTable:
    """A record that could not be read leaves a pass undecided; it never turns anything into a pass."""
    code, decision = table.exit_code, table.decision
    found = list(notices)
    if lost and code == 0:
        code, decision = 3, "INCOMPLETE"
        several = f"{len(lost)} records" if len(lost) > 1 else "1 record"
        detail = f"{several} could not be read; what was lost could have failed, so this is no pass"
        found.insert(0, ScoreNotice(code="lost_records", detail=detail))
    return msgspec.structs.replace(table, exit_code=code, decision=decision, notices=(*found, *table.notices))
