"""One grading of a collected suite, made when its first test runs and kept for the session."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard import app
from steelyard.errors import NothingEvaluatedError, SteelyardError, UsageError

if TYPE_CHECKING:
    from steelyard.app import Keep, Run
    from steelyard.model.standard import Suite
    from steelyard.model.table import CriterionScore, TaskScore, TrialScore

GRADINGS = pytest.StashKey[dict[Path, "SuiteGrading"]]()
NAME = "{name}"
MARK = ".suite."
RECORDINGS = (".jsonl", ".ndjson", ".json")
"""Endings of recordings beside a suite, as of those in a folder; a backup such as `.jsonl.bak` is none."""


def grading_of(path: Path, config: pytest.Config) -> SuiteGrading:
    """The grading of a suite file, one a session. StandardError or InputError where the file is no suite."""
    known = config.stash.setdefault(GRADINGS, {})
    if path not in known:
        known[path] = SuiteGrading(path, app.load_suite(path), config)
    return known[path]


class SuiteGrading:
    """A suite, where its recordings are, and its run once it is asked for."""

    def __init__(self, path: Path, suite: Suite, config: pytest.Config) -> None:
        self.path = path
        self.suite = suite
        self.config = config
        self.name = path.name.rpartition(MARK)[0] or path.stem
        self._outcome: Run | SteelyardError | None = None
        self._tasks: dict[str, TaskScore] = {}
        self._lines: dict[tuple[str, str], int] | None = None
        self._moved: dict[tuple[str, int], str] | None = None

    def run(self) -> Run:
        """The graded run; the same error each time where there is none."""
        if self._outcome is None:
            try:
                self._outcome = self._grade()
                self._tasks = {task.id: task for task in self._outcome.scores.tasks}
            except SteelyardError as error:
                self._outcome = error
        if isinstance(self._outcome, SteelyardError):
            raise self._outcome
        return self._outcome

    def verdicts(self, task: str, criterion: str) -> list[tuple[TrialScore, CriterionScore]]:
        """The verdicts of a criterion in every trial that counts, or that is missing."""
        self.run()
        trials = self._tasks[task].trials if task in self._tasks else ()
        return [
            (trial, verdict)
            for trial in trials
            if trial.counted or trial.placeholder
            for verdict in trial.criteria
            if verdict.id == criterion
        ]

    def place(self, task: str, criterion: str) -> str:
        """`FILE:LINE` of a criterion, as seen from where pytest was started."""
        if self._lines is None:
            self._lines = dict(app.criterion_lines(self.path))
        line = self._lines.get((task, criterion))
        return f"{self.shown(self.path)}:{line}" if line else self.shown(self.path)

    def shown(self, path: str | Path) -> str:
        """A path as a person would type it here."""
        start = self.config.invocation_params.dir
        inside = Path(path).is_relative_to(start)
        return str(Path(path).relative_to(start)) if inside else str(path)

    def trace_lines(self, task: str, trial: int) -> Iterator[tuple[str, str]]:
        """What shows the recording of a trial; one that had to be given another number is named by its place."""
        command = ["steelyard", "trace", *(self.shown(path) for path in self.traces()), "--task", task]
        place = self._renumbered().get((task, trial))
        if place is None:
            yield "see", shlex.join([*command, "--trial", str(trial)])
            return
        yield "see", shlex.join(command)
        yield "trace", place

    def _renumbered(self) -> dict[tuple[str, int], str]:
        """Traces that count under another number than they state, by task and trial; read only if there are any."""
        if self._moved is None:
            self._moved = {}
            if any(notice.code == "renumbered_trials" for notice in self.run().scores.notices):
                for task, trial, trace in app.matched(self.suite, app.read_traces(self.traces())):
                    if trace.trial not in (None, trial):
                        source = f"{self.shown(trace.source.file or '')} {trace.source.locator}".strip()
                        said = f"it says trial {trace.trial}, which another recording has"
                        self._moved[task, trial] = f"{trace.id} at {source} ({said})"
        return self._moved

    def traces(self) -> list[str]:
        """The recordings: of the option, the configuration, or beside the suite.

        NothingEvaluatedError without any; UsageError where several stand beside the suite, since they may be copies.
        """
        named = self._named("steelyard_traces")
        if named:
            return named
        beside = sorted(self._recordings_beside())
        if len(beside) > 1:
            several = ", ".join(Path(path).name for path in beside)
            raise UsageError(
                f"several recordings stand beside {self.path.name}, and one may be a copy of another, so nothing "
                f"is decided: {several}. Leave one, put all parts in the folder {self.name}.traces, or choose with "
                "--steelyard-traces PATH (several times for several) or `steelyard_traces` in pytest's configuration"
            )
        if not beside:
            raise NothingEvaluatedError(
                f"no recordings of {self.path.name}, so nothing is decided: neither {self.name}.traces.jsonl nor the "
                f"folder {self.name}.traces is beside it. Put the recorded runs there (a line each: "
                '{"task_id": ..., "messages": [...]}), or name them with --steelyard-traces PATH or `steelyard_traces` '
                "in pytest's configuration"
            )
        return beside

    def recorded(self) -> list[str]:
        """Files of verdict rows. One that is named with `{name}` may be missing: its criteria are then undecided."""
        named = self._named("steelyard_recorded", may_be_missing=True)
        if named is not None:
            return named
        beside = self.path.parent / f"{self.name}.recorded.jsonl"
        return [str(beside)] if beside.exists() else []

    def _recordings_beside(self) -> Iterator[str]:
        """The folder NAME.traces, and files NAME.traces.* that end as recordings do."""
        whole = f"{self.name}.traces"
        for path in self.path.parent.iterdir():
            named = path.name.startswith(f"{whole}.") and path.suffix.lower() in RECORDINGS
            if (path.name == whole and path.is_dir()) or (named and path.is_file()):
                yield str(path)

    def _named(self, option: str, *, may_be_missing: bool = False) -> list[str] | None:
        given: list[str] | None = self.config.getoption(option)
        base = self.config.invocation_params.dir
        if given is None:
            given = self.config.getini(option) or None
            base = self.config.inipath.parent if self.config.inipath else self.config.rootpath
        if given is None:
            return None
        paths = ((text, str(base / text.replace(NAME, self.name))) for text in given)
        return [path for text, path in paths if not (may_be_missing and NAME in text) or Path(path).exists()]

    def _grade(self) -> Run:
        traces, recorded = self.traces(), self.recorded()
        folder = self.path.parent / f"{self.name}.states"
        states = str(folder) if folder.is_dir() else None
        with self._keep(traces, recorded, states) as keep:
            return app.grade(
                self.suite,
                app.read_traces(traces),
                recorded=recorded,
                states=states,
                trust_graders=self.config.getini("steelyard_trust_graders"),
                full=True,
                keep=keep,
            )

    @contextmanager
    def _keep(self, traces: list[str], recorded: list[str], states: str | None) -> Iterator[Keep | None]:
        url: str = self.config.getini("steelyard_store")
        if not url:
            yield None
            return
        if "://" not in url:
            base = self.config.inipath.parent if self.config.inipath else self.config.rootpath
            url = str(base / url)
        options = {"suite": str(self.path), "traces": traces, "recorded": recorded, "states": states}
        with app.open_store(url) as store:
            yield app.Keep(store=store, options={**options, "content": app.fingerprint(traces, states)})
