"""The HTML report of a run: its scores, and its traces read a second time from the recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from steelyard.app.facade import read_traces
from steelyard.app.keeping import fingerprint
from steelyard.app.run import MOST_DETAIL, Run
from steelyard.errors import SteelyardError
from steelyard.grading.matching import Matcher
from steelyard.model.standard import Suite, Task
from steelyard.model.table import ScoreTable
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.store import StoredRun

NO_RECORDINGS = "This report was written without the recordings, so there is no trace here."

MOST_ROWS = 2_000_000
"""Rows up to which every verdict stands in the report; beyond, only those of trials that are not complete."""


def html_report(
    run: Run,
    path: str | Path,
    traces: Iterable[Trace | Quarantined] | None = None,
    *,
    date: str = "",
    without: str = "",
    replace_others: bool = True,
) -> str:
    """Write the report of a run as one HTML file; returns the folder of further trials, or an empty text.

    `traces` are the recordings that were graded, in the same order: they are matched as in grading and read once.
    Without them the report has no traces, and `without` says why (empty: it was written without recordings). `date`
    (ISO) is now unless it is given. OutputError when the place cannot be written, or, unless `replace_others`, when a
    file that is no report stands there; what was there then stays as it was.
    """
    from steelyard.report.html.board import Particulars
    from steelyard.report.html.whatif import whatif_model
    from steelyard.report.html.write import write_page

    folder = write_page(
        path,
        table=_whole(run),
        suite=run.suite,
        traces=None if traces is None else matched(run.suite, traces),
        particulars=Particulars(
            run=run.name, owner=run.suite.owner, standard=run.suite.hash.removeprefix("sha256:")[:12],
            date=_day(date or datetime.now(UTC).isoformat()),
        ),
        without=without or NO_RECORDINGS,
        replace_others=replace_others,
        whatif=whatif_model(
            run.suite, run.rows, run=run.name, capped=bool(run.lost) or run.unfinished, before=run.scores.whatif
        ),
    )  # fmt: skip
    return "" if folder is None else str(folder)


def demo_traces() -> Iterator[Trace | Quarantined]:
    """The recordings of the bundled example."""
    from steelyard.app.bundled_operations import operations_folder

    return read_traces(operations_folder() / "traces.jsonl")


def _whole(run: Run) -> ScoreTable:
    """The scores with the detail of every trial."""
    if run.full or len(run.rows) <= MOST_DETAIL or len(run.rows) > MOST_ROWS:
        return run.scores
    whole = Run(
        suite=run.suite, rows=run.rows, lost=run.lost, notices=run.notices, full=True, name=run.name,
        unfinished=run.unfinished,
    )  # fmt: skip
    whole.problem = run.problem
    return msgspec.structs.replace(whole.scores, whatif=run.scores.whatif)


def _day(moment: str) -> str:
    with suppress(ValueError):
        return datetime.fromisoformat(moment).strftime("%Y-%m-%d %H:%M %Z").strip()
    return moment


def matched(suite: Suite, traces: Iterable[Trace | Quarantined]) -> Iterator[tuple[str, int, Trace]]:
    """Each recording with its task and trial, as grading gives them; those that belong to no task are passed over."""
    matcher = Matcher(suite.tasks)
    waiting: list[tuple[Task, Trace]] = []
    for trace in traces:
        task = None if isinstance(trace, Quarantined) else matcher.task_of(trace)
        if task is None or isinstance(trace, Quarantined):
            continue
        number = matcher.trial_of(task, trace)
        if number is None:
            waiting.append((task, trace))
        else:
            yield task.id, number, trace
    for task, trace in waiting:
        yield task.id, matcher.free(task), trace


def recordings(paths: Sequence[str], again: str = "") -> tuple[Iterator[Trace | Quarantined] | None, str]:
    """The recordings of paths once more, or null and why: a pipe or device can be read only once."""
    if any(Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()) for path in paths):
        return None, f"The recordings came through a pipe, so their traces are left out{again}"
    return read_traces(list(paths)), ""


def kept_recordings(kept: StoredRun) -> tuple[Iterator[Trace | Quarantined] | None, str]:
    """The recordings that a kept run was graded from, or null and why they are not at hand."""
    options: Mapping[str, Any] = kept.options
    paths = [str(path) for path in options.get("traces") or ()]
    again = "; give their place with: steelyard show RUN --html FILE --traces PATH"
    if not paths:
        return None, f"The run was kept without the place of its recordings, so it has no traces here{again}"
    try:
        content = fingerprint(paths, options.get("states"))
    except SteelyardError:
        return None, f"The recordings are not at {paths[0]} any more, so their traces are left out{again}"
    if options.get("content") != content:
        return None, f"What stands at {paths[0]} has changed since, so its traces are left out{again}"
    return recordings(paths, again)
