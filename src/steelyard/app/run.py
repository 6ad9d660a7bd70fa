"""One grading: the standard, its rows, and the scores that follow from them alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from steelyard.model.standard import Suite
from steelyard.model.table import ScoreNotice, ScoreTable
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import TrialRow, Verdict

if TYPE_CHECKING:
    from steelyard.scoring import Change

MOST_DETAIL = 10_000
"""Verdicts up to which the score table lists every one of them."""


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
        self.rows = tuple(rows)
        self.lost = tuple(lost)
        self.notices = tuple(notices)
        self.full = full
        self.name = name
        self.unfinished = unfinished
        self.reused = reused
        self.problem = ""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict rows, without the trial rows."""
        return tuple(row for row in self.rows if not isinstance(row, TrialRow))

    @cached_property
    def scores(self) -> ScoreTable:
        """The score table. Beyond 10,000 rows it lists incomplete tasks only, unless `full`."""
        from steelyard.scoring import score

        table = score(self.suite, self.rows, detail=self.full or len(self.rows) <= MOST_DETAIL)
        named = msgspec.structs.replace(table, run=self.name, grading=self.name)
        if self.unfinished:
            named = _unfinished(named, sum(isinstance(row, TrialRow) for row in self.rows))
        return _with_losses(named, self.lost, (*self._about_keeping(), *self.notices))

    def _about_keeping(self) -> Iterator[ScoreNotice]:
        if self.problem:
            yield ScoreNotice(code="not_kept", detail=f"this run was not kept to its end: {self.problem}")
        retried = [verdict for verdict in self.verdicts if len(verdict.attempts) > 1]
        if retried:
            first = f"{retried[0].task}#{retried[0].trial}/{retried[0].criterion}"
            several = f"{len(retried)} verdicts are" if len(retried) > 1 else "1 verdict is"
            tasks = f"{len({verdict.task for verdict in retried})} of the tasks"
            detail = f"{several} that of a later attempt, in {tasks} (first: {first}); each trial counts once"
            yield ScoreNotice(code="retried", detail=detail)

    def forget(self) -> None:
        """Compute the scores again when they are next asked for."""
        self.__dict__.pop("scores", None)

    def what_if(self, changes: Sequence[Change]) -> Run:
        """The run as it would be; nothing is written to the record. UsageError where a change cannot be meant."""
        from steelyard.scoring import apply_changes

        suite, rows = apply_changes(self.suite, self.rows, changes)
        changed = Run(
            suite=suite, rows=rows, lost=self.lost, notices=self.notices, full=self.full, name=self.name,
            unfinished=self.unfinished,
        )  # fmt: skip
        changed.scores = msgspec.structs.replace(
            changed.scores, whatif=tuple(change.text for change in changes)
        )
        return changed


def _unfinished(table: ScoreTable, kept: int) -> ScoreTable:
    """A run that was broken off decides nothing yet, except that a violated gate or a bar out of reach stays so."""
    several = f"{kept} trials stand" if kept != 1 else "1 trial stands"
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
