"""One grading: the standard, its rows, and the scores that follow from them alone."""

from __future__ import annotations

from collections.abc import Sequence
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
    could have failed. `notices` are about the traces and rows; those about scoring are added in `scores`.
    """

    def __init__(
        self,
        *,
        suite: Suite,
        rows: Sequence[Verdict | TrialRow],
        lost: Sequence[Quarantined] = (),
        notices: Sequence[ScoreNotice] = (),
        full: bool = False,
    ) -> None:
        self.suite = suite
        self.rows = tuple(rows)
        self.lost = tuple(lost)
        self.notices = tuple(notices)
        self.full = full

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict rows, without the trial rows."""
        return tuple(row for row in self.rows if not isinstance(row, TrialRow))

    @cached_property
    def scores(self) -> ScoreTable:
        """The score table. Beyond 10,000 rows it lists incomplete tasks only, unless `full`."""
        from steelyard.scoring import score

        table = score(self.suite, self.rows, detail=self.full or len(self.rows) <= MOST_DETAIL)
        return _with_losses(table, self.lost, self.notices)

    def what_if(self, changes: Sequence[Change]) -> Run:
        """The run as it would be; nothing is written to the record. UsageError where a change cannot be meant."""
        from steelyard.scoring import apply_changes

        suite, rows = apply_changes(self.suite, self.rows, changes)
        changed = Run(suite=suite, rows=rows, lost=self.lost, notices=self.notices, full=self.full)
        changed.scores = msgspec.structs.replace(
            changed.scores, whatif=tuple(change.text for change in changes)
        )
        return changed


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
