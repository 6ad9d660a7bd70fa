"""The fixture `steelyard` of the pytest plugin."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import app
from steelyard.errors import SteelyardError, UsageError

if TYPE_CHECKING:
    from steelyard.app import Run
    from steelyard.model.standard import Suite
    from steelyard.model.trace import Quarantined, Trace

PathLike = str | os.PathLike[str]


WANTED = "give a path, or a list of paths, traces or recordings ({'task_id': ..., 'messages': [...]})"


def _kind_of(entry: object) -> str:
    from steelyard.model.trace import Quarantined, Trace

    if isinstance(entry, str | os.PathLike):
        return "path"
    if isinstance(entry, Mapping):
        return "recording"
    if isinstance(entry, Trace | Quarantined):
        return "trace"
    raise UsageError(f"{_named(entry)} among the traces is no recording; {WANTED}")


def _named(value: object) -> str:
    return "None" if value is None else f"an object of the type {type(value).__name__}"


def _line(recording: Mapping[str, Any]) -> str:
    try:
        return json.dumps(recording) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a recording among the traces is not JSON: {error}; {WANTED}") from None


class Steelyard:
    """Grades in a test, and fails it readably. Nothing is kept in a store."""

    def __init__(self, make_folder: Callable[[], Path]) -> None:
        self._make_folder = make_folder

    def suite(self, standard: PathLike | Mapping[str, Any] | Suite) -> Suite:
        """A suite: of a file, or of the mapping that a file would hold. StandardError with every problem."""
        if isinstance(standard, str | os.PathLike):
            return app.load_suite(Path(standard))
        return app.build_suite(standard) if isinstance(standard, Mapping) else standard

    def grade(
        self,
        standard: PathLike | Mapping[str, Any] | Suite,
        traces: PathLike | Iterable[PathLike | Mapping[str, Any] | Trace | Quarantined],
        **options: Any,
    ) -> Run:
        """Grade recordings: a path, or several paths, traces or recordings as mappings (`{"task_id", "messages"}`).

        `options` are those of `steelyard.grade` (`recorded`, `states`, `only`, ...). NothingEvaluatedError when no
        recording belongs to a task of the suite, UsageError for what is no recording.
        """
        __tracebackhide__ = True
        try:
            if isinstance(traces, Mapping):
                raise UsageError("the traces are one mapping; put it in a list: [recording]")
            several = [traces] if isinstance(traces, str | os.PathLike) else traces
            if not isinstance(several, Iterable):
                raise UsageError(f"the traces are {_named(traces)}; {WANTED}")
            return app.grade(self.suite(standard), self._read(several), **{"full": True, **options})
        except SteelyardError as error:
            raise error.with_traceback(None) from None

    def check(self, run: Run) -> None:
        """AssertionError with the scoreboard unless the run passed (exit code 0); INCOMPLETE is no pass.

        UsageError for anything but a run.
        """
        __tracebackhide__ = True
        if not isinstance(run, app.Run):
            raise UsageError(f"check needs the run that `grade` returned, and was given {_named(run)}")
        if run.scores.exit_code != 0:
            raise AssertionError(f"the run is {run.scores.decision}\n{app.scoreboard(run)}")

    def _read(self, several: Iterable[Any]) -> Iterator[Trace | Quarantined]:
        """The traces of all entries in their order; recordings that stand together are read as one file."""
        for kind, entries in groupby(several, key=_kind_of):
            if kind == "path":
                yield from app.read_traces([str(entry) for entry in entries])
            elif kind == "recording":
                file = self._make_folder() / "recordings.jsonl"
                file.write_text("".join(map(_line, entries)), "utf-8")
                yield from app.read_traces([str(file)])
            else:
                yield from entries
