"""Verdicts given elsewhere (by people, judges, another tool), looked up by task, trial and criterion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from steelyard.grading.rows import Row
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Errored, TrialRow, Verdict

Key = tuple[str, int, str]
MOST_NAMED = 20


def lost_notices(lost: Sequence[Quarantined], what: str) -> list[ScoreNotice]:
    """The first records that could not be read, and how many more there are. `what`: `records`, `rows`."""
    found = [
        ScoreNotice(code="quarantined", detail=f"{each.where}: {each.reason}") for each in lost[:MOST_NAMED]
    ]
    if len(lost) > MOST_NAMED:
        found.append(ScoreNotice(code="quarantined", detail=f"and {len(lost) - MOST_NAMED} more {what}"))
    return found


class RecordedRows:
    """Rows of the files given on the command line, and of the files that criteria name.

    Two different rows for the same key are an error; a row that no criterion asks for is counted and named.
    `read_file` reads a file that a criterion names, relative to the suite's folder.
    """

    def __init__(
        self,
        rows: Iterable[Row | Quarantined] = (),
        *,
        read_file: Callable[[str], Iterable[Row | Quarantined]] | None = None,
    ) -> None:
        self.read_file = read_file
        self.lost: list[Quarantined] = []
        self.repeated = 0
        self.trial_rows = 0
        self.given = self._index(rows)
        self.files: dict[str, dict[Key, Verdict]] = {}
        self.asked: set[Key] = set()

    def _index(self, rows: Iterable[Row | Quarantined]) -> dict[Key, Verdict]:
        found: dict[Key, Verdict] = {}
        for row in rows:
            if isinstance(row, Quarantined):
                self.lost.append(row)
            elif isinstance(row, TrialRow):
                self.trial_rows += 1
            else:
                key = (row.task, row.trial, row.criterion)
                known = found.get(key)
                self.repeated += known == row
                found[key] = row if known in (None, row) else _conflict(row)
        return found

    def find(self, task: str, trial: int, criterion: str, *, file: str | None = None) -> Verdict | None:
        """The verdict of that key, or None when nothing was recorded."""
        key = (task, trial, criterion)
        if file is None:
            self.asked.add(key)
            return self.given.get(key)
        if file not in self.files:
            if self.read_file is None:
                return None
            self.files[file] = self._index(self.read_file(file))
        return self.files[file].get(key)

    def notices(self) -> tuple[ScoreNotice, ...]:
        """Recorded rows that nothing asked for or that say the same twice, and lines that could not be read."""
        unused = sorted(set(self.given) - self.asked)
        found = lost_notices(self.lost, "rows")
        if unused:
            task, trial, criterion = unused[0]
            detail = (
                f"{len(unused)} recorded rows were not used (first: {task}#{trial}/{criterion}): no such trial was "
                "graded, or the criterion is settled by code"
            )
            found.append(ScoreNotice(code="unused_rows", detail=detail))
        if self.repeated:
            detail = f"{self.repeated} recorded rows repeat another row exactly; each verdict counts once"
            found.append(ScoreNotice(code="duplicate_rows", detail=detail))
        if self.trial_rows:
            detail = f"{self.trial_rows} recorded trial rows were not used: how a trial ended is read from its trace"
            found.append(ScoreNotice(code="unused_trial_rows", detail=detail))
        return tuple(found)


def _conflict(row: Verdict) -> Errored:
    return Errored(
        task=row.task, trial=row.trial, criterion=row.criterion, error="conflict",
        reason="two different recorded rows for the same task, trial and criterion; keep one of them",
    )  # fmt: skip
