"""A grading kept in a store while it goes on: each trial as it is graded, then the headline."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from steelyard.app.run import Run
from steelyard.errors import InputError, SteelyardError, StoreError, UsageError
from steelyard.grading.engine import GradedTrial
from steelyard.model.standard import Suite
from steelyard.model.verdict import MOST_TRIAL
from steelyard.ports.store import GradingRef, Payload, RunSummary, Store, StoredRun

DEFAULT_STORE = ".steelyard/store.db"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def open_store(url: str | None = None, *, must_exist: bool = False) -> Iterator[Store]:
    """The store at `url` (`sqlite:///path` or a path), by default `.steelyard/store.db` in the working folder.

    With `must_exist` it is opened to be read: a read-only one then does, and UsageError says that there is none yet.
    StoreError when it cannot be used.
    """
    from steelyard import store

    place = DEFAULT_STORE if url is None else url
    if must_exist and not store.path_of(place).exists():
        raise UsageError(
            f"there is no store at {place} yet; `steelyard grade` makes one, or name it with --store"
        )
    with store.open_store(place, now=_now, only_read=must_exist) as opened:
        yield opened


def store_files(url: str | None = None) -> tuple[str, ...]:
    """The files that make up the store at `url`, whether they are there or not, and those that say who grades into it.

    UsageError as for `open_store`.
    """
    from steelyard import store

    place = str(store.path_of(DEFAULT_STORE if url is None else url))
    parts = [f"{place}-{part}" for part in ("wal", "shm", "journal")]
    return (place, *parts, *glob.iglob(f"{glob.escape(place)}-live-*"))


def kept_inputs(run: StoredRun) -> tuple[str, ...]:
    """The files that a kept run was graded from, as far as they are still there."""
    from steelyard import importers

    named = run.options.get
    traces = [str(path) for path in named("traces") or ()]
    with suppress(SteelyardError):
        traces = [*traces, *importers.find_files(traces)]
    walked = os.walk(str(named("states") or os.devnull))
    states = [os.path.join(path, name) for path, _, names in walked for name in names]
    return (*traces, *states, *map(str, named("recorded") or ()), *filter(None, [named("suite")]))


class Keeper:
    """Keeps one grading. With `resume`, the unfinished grading of the same standard and inputs goes on.

    A grading begins with its first trial. Trials that are kept already are written again only where something came
    out differently (a further attempt). A store that fails on the way does not end the grading: `problem` says why
    nothing more of it is kept or found.
    """

    def __init__(
        self, store: Store, suite: Suite, *, planned: int | None, options: Mapping[str, Any], resume: bool
    ) -> None:
        self.store = store
        self.suite = suite
        self.planned = planned
        self.options = options
        self.problem: StoreError | None = None
        self.grading: GradingRef | None = store.unfinished(suite.hash, options) if resume else None
        self.resumed = self.grading is not None
        if self.grading is not None:
            store.skip_kept(self.grading)

    @property
    def name(self) -> str:
        """What people type to see this run again; empty before its first trial."""
        return self.grading.name if self.grading else ""

    def find_many(self, keys: Sequence[bytes]) -> Mapping[bytes, Payload]:
        """What earlier runs found under these keys."""
        found: Mapping[bytes, Payload] = {}
        with self._noticing():
            found = {} if self.problem else self.store.find_many(keys)
        return found

    def keep(self, trial: GradedTrial) -> None:
        """Write one trial, all of it or nothing."""
        if self.problem is not None:
            return
        try:
            self.store.put_trial(self._begun(), trial.row, trial.verdicts, trial.keys, trial.payloads)
        except StoreError as error:
            self.problem = error

    def finish(self, run: Run) -> None:
        """Mark the grading done, with the headline that the list of runs shows.

        A resumed run then shows its trials as they are kept, with their earlier attempts.
        """
        with self._noticing():
            if self.problem is None:
                grading = self._begun()
                if self.resumed:
                    self.store.flush()
                    run.rows = self.store.load(self.name).rows
                run.name = self.name
                run.forget()
                table = run.scores
                self.store.finish(grading, run.lost, run.notices, primary=table.bar, decision=table.decision)
        if self.problem is not None:
            run.name, run.problem = self.name, str(self.problem)
            run.forget()

    def _begun(self) -> GradingRef:
        if self.grading is None:
            self.grading = self.store.begin(self.suite, planned=self.planned, options=self.options)
        return self.grading

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            self.problem = error


def fingerprint(traces: Sequence[str], states: str | None = None) -> str:
    """Tells inputs of the same names apart: a hash of what the trace files hold, and of how the states look.

    Files of states count by name, size and time. InputError and NothingEvaluatedError as for reading the traces.
    """
    from steelyard import importers

    digest = hashlib.sha256()
    for name in importers.find_files(traces):
        path = Path(name)
        if path.is_file():  # a pipe can be read only once
            with suppress(OSError), path.open("rb") as file:  # who reads it for grading says what is wrong
                digest.update(hashlib.file_digest(file, "sha256").digest())
    for folder, names, files in os.walk(states or os.devnull):
        names.sort()
        for path in (Path(folder, name) for name in sorted(files)):
            with suppress(OSError):
                found = path.lstat()
                digest.update(f"{os.fsencode(path)!r} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def load_run(store: Store, name: str = "latest", *, full: bool = False) -> Run:
    """A kept run; its scores follow from its rows and its standard alone. UsageError when there is no such run."""
    held = store.columns(name)
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
    """Add the run of a bundle to the store and return its name here.

    A run that the store has already, imported before or exported from it, is not added again.
    What the bundle says about its scores is not believed: they follow from its rows and its standard. InputError for a
    standard that is not the one its hash names, or that cannot be scored.
    """
    from steelyard import store as room
    from steelyard.standards import suite_hash

    held, origin = room.read_run(file)
    if _has(store, held):
        return held.name
    if not _is_sound(held):
        raise InputError(
            f"the manifest of {file} states a plan or a time that cannot be; ask for the bundle again"
        )
    if suite_hash(held.suite) != held.suite.hash:
        raise InputError(
            f"the standard in {file} is not the one that its hash names; ask for the bundle again"
        )
    try:
        scores = Run(
            suite=held.suite, rows=held.rows, lost=held.lost, unfinished=held.status == "running"
        ).scores
    except (LookupError, ValueError, ArithmeticError) as error:
        raise InputError(f"the standard in {file} is not sound, so nothing can be scored under it") from error
    finished = (
        held.status == "done"
    )  # one that was broken off has no headline, as in the store that it came from
    sound = msgspec.structs.replace(
        held, primary=scores.bar if finished else None, decision=scores.decision if finished else None
    )
    return store.restore(sound, origin=origin)


def _has(store: Store, run: StoredRun) -> bool:
    if all(entry.name != run.name for entry in store.runs()):
        return False
    own = store.load(run.name)
    return (
        msgspec.structs.replace(own, suite=msgspec.structs.replace(own.suite, folder=run.suite.folder)) == run
    )


def _is_sound(held: StoredRun) -> bool:
    try:
        datetime.fromisoformat(held.created_at)
    except ValueError:
        return False
    return held.planned is None or 0 <= held.planned <= MOST_TRIAL
