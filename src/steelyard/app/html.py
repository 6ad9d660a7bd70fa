"""The HTML report of a run: its scores, and its traces read a second time from the recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from steelyard.grading.matching import Matcher
from steelyard.model.standard import Suite, Task
from steelyard.model.table import ScoreTable
from steelyard.model.trace import Quarantined, Trace
from steelyard.model.verdict import TrialRow, Verdict

NO_RECORDINGS = "This report was written without the recordings, so there is no trace here."


def write_report(
    path: str | Path,
    table: ScoreTable,
    suite: Suite,
    rows: Iterable[Verdict | TrialRow],
    traces: Iterable[Trace | Quarantined] | None,
    *,
    capped: bool,
    date: str,
    without: str,
    replace_others: bool,
) -> str:
    """`Run.report` for a table with its detail. `capped`: what was lost or broken off keeps the run from a pass."""
    from steelyard.report.html.board import Particulars
    from steelyard.report.html.whatif import whatif_model
    from steelyard.report.html.write import write_page

    folder = write_page(
        path,
        table=table,
        suite=suite,
        traces=None if traces is None else matched(suite, traces),
        particulars=Particulars(
            run=table.run, owner=suite.owner, standard=suite.hash.removeprefix("sha256:")[:12],
            date=_day(date or datetime.now(UTC).isoformat()),
        ),
        without=without or NO_RECORDINGS,
        replace_others=replace_others,
        whatif=whatif_model(suite, rows, run=table.run, capped=capped, before=table.whatif),
    )  # fmt: skip
    return "" if folder is None else str(folder)


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
