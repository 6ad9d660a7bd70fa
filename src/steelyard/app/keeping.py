"""A grading kept in a store while it goes on: each trial as it is graded, then the headline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.app.run import Run
from steelyard.errors import UsageError
from steelyard.grading.engine import GradedTrial
from steelyard.model.standard import Suite
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.ports.store import RunSummary, Store

DEFAULT_STORE = ".steelyard/store.db"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def open_store(url: str | None = None, *, must_exist: bool = False) -> Iterator[Store]:
    """The store at `url` (`sqlite:///path` or a path), by default `.steelyard/store.db` in the working folder.

    UsageError when `must_exist` and there is none yet; StoreError when it cannot be used.
    """
    from steelyard import store

    place = url or DEFAULT_STORE
    if must_exist and not store.path_of(place).exists():
        raise UsageError(
            f"there is no store at {place} yet; `steelyard grade` makes one, or name it with --store"
        )
    with store.open_store(place, now=_now) as opened:
        yield opened


class Keeper:
    """Keeps one grading. With `resume`, the unfinished grading of the same standard and inputs goes on.

    Trials that are kept already are written again only where something came out differently (a further attempt).
    """

    def __init__(
        self, store: Store, suite: Suite, *, planned: int | None, options: Mapping[str, Any], resume: bool
    ) -> None:
        self.store = store
        self.grading = store.unfinished(suite.hash, options) if resume else None
        self.resumed = self.grading is not None
        self.kept: dict[tuple[str, int], tuple[TrialRow, dict[str, Verdict]]] = {}
        if self.grading is None:
            self.grading = store.begin(suite, planned=planned, options=options)
        else:
            self.kept = _by_trial(store.load(self.grading.name).rows)

    @property
    def name(self) -> str:
        """What people type to see this run again."""
        assert self.grading is not None
        return self.grading.name

    def keep(self, trial: GradedTrial) -> None:
        """Write one trial, all of it or nothing."""
        assert self.grading is not None
        held = self.kept.get((trial.row.task, trial.row.trial))
        if held == (trial.row, {verdict.criterion: verdict for verdict in trial.verdicts}):
            return
        self.store.put_trial(self.grading, trial.row, trial.verdicts, trial.keys, trial.payloads)

    def finish(self, run: Run) -> None:
        """Mark the grading done, with the headline that the list of runs shows."""
        assert self.grading is not None
        table = run.scores
        self.store.finish(self.grading, run.lost, run.notices, primary=table.bar, decision=table.decision)


def _by_trial(
    rows: Sequence[Verdict | TrialRow],
) -> dict[tuple[str, int], tuple[TrialRow, dict[str, Verdict]]]:
    found: dict[tuple[str, int], tuple[TrialRow, dict[str, Verdict]]] = {
        (row.task, row.trial): (row, {}) for row in rows if isinstance(row, TrialRow)
    }
    for row in rows:
        if not isinstance(row, TrialRow) and (row.task, row.trial) in found:
            found[row.task, row.trial][1][row.criterion] = row
    return found


def load_run(store: Store, name: str = "latest", *, full: bool = False) -> Run:
    """A kept run; its scores follow from its rows and its standard alone. UsageError when there is no such run."""
    held = store.load(name)
    return Run(
        suite=held.suite, rows=held.rows, lost=held.lost, notices=held.notices, full=full, name=held.name,
        unfinished=held.status == "running",
    )  # fmt: skip


def list_runs(store: Store) -> Sequence[RunSummary]:
    """Every kept run, oldest first."""
    return store.runs()


def export_bundle(store: Store, name: str, file: str | Path) -> str:
    """Write a run as a bundle (a zip of JSON Lines), or as Parquet where `file` ends so. Returns the run's name."""
    from steelyard import store as room

    if str(file).endswith(".parquet"):
        return room.export_parquet(store, name, file)
    return room.export_run(store, name, file)


def import_bundle(store: Store, file: str | Path) -> str:
    """Add the run of a bundle to the store and return its name here. Its scores are those that it was exported with."""
    from steelyard import store as room

    return room.import_run(store, file)
