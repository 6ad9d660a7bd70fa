"""The public facade: load a standard, read traces, grade, score, ask what-if. The one place that chooses adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from steelyard.app.files import read_row_file
from steelyard.app.run import Run
from steelyard.errors import InputError, NothingEvaluatedError, SteelyardError, UsageError
from steelyard.grading import Engine, RecordedRows
from steelyard.grading.recorded import lost_notices
from steelyard.grading.rows import Row
from steelyard.model.standard import Suite, Task
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import Quarantined, Trace

Progress = Callable[[int, int | None], None]
"""Called with (trials graded, trials expected or null) as grading goes on."""


def load_suite(path: str | Path, *, trust_python: bool = False) -> Suite:
    """Read and validate a suite file (YAML, JSON, TOML; Python only with `trust_python`, since it is run).

    StandardError with every problem found; InputError when the file cannot be read.
    """
    from steelyard import standards

    return standards.load_suite(path, trust_python=trust_python)


def suite_schema() -> dict[str, Any]:
    """The JSON Schema of suite files."""
    from steelyard import standards

    return standards.suite_schema()


def read_traces(paths: str | Path | Sequence[str | Path]) -> Iterator[Trace | Quarantined]:
    """Traces of files, folders and globs in any known format; unreadable records come as `Quarantined`.

    InputError when a file is missing or holds no known format; NothingEvaluatedError when a folder holds nothing.
    """
    from steelyard import importers

    several = [paths] if isinstance(paths, str | Path) else list(paths)
    return importers.read_traces([str(path) for path in several])


def grade(
    suite: Suite,
    traces: Iterable[Trace | Quarantined],
    *,
    recorded: Sequence[str | Path] = (),
    only: Sequence[str] = (),
    limit: int | None = None,
    progress: Progress | None = None,
    full: bool = False,
) -> Run:
    """Grade traces under a standard.

    `recorded` are files of verdict rows that stand in for judges and people. `only` and `limit` choose tasks (see
    `select`). A task without a trace is an error of its criteria. NothingEvaluatedError when no trace belongs to a
    chosen task.
    """
    from steelyard.checks import grader_for

    everything = suite
    suite, selection = select(suite, only=only, limit=limit)
    book = RecordedRows(
        (row for path in recorded for row in read_row_file(path)),
        read_file=lambda name: read_row_file(_beside(suite, name)),
    )
    chosen = {task.id for task in suite.tasks}
    left_out = [task for task in everything.tasks if task.id not in chosen]
    engine = Engine(suite, grader_for=grader_for, recorded=book, left_out=left_out)
    rows: list[Row] = []
    expected = sum(task.trials or 1 for task in suite.tasks)
    for row in engine.grade(traces):
        rows.append(row)
        if progress is not None:
            progress(engine.graded_traces, expected)
    if engine.graded_traces == 0:
        raise _nothing(suite, engine)
    return Run(
        suite=suite,
        rows=rows,
        lost=(*engine.lost, *book.lost),
        notices=(*selection, *engine.notices(), *_about_standard(suite)),
        full=full,
    )


def _about_standard(suite: Suite) -> tuple[ScoreNotice, ...]:
    if not suite.notices:
        return ()
    several = f"{len(suite.notices)} notes" if len(suite.notices) > 1 else "1 note"
    return (ScoreNotice(code="standard", detail=f"{several} on the standard; `steelyard check` lists them"),)


def _nothing(suite: Suite, engine: Engine) -> SteelyardError:
    """Unreadable input is not the same as readable input that holds nothing for this suite."""
    if engine.unmatched:
        names = ", ".join(repr(name) for name in sorted(engine.unmatched)[:5])
        known = ", ".join(repr(task.id) for task in suite.tasks[:5])
        return NothingEvaluatedError(
            f"nothing was evaluated: no trace belongs to a task of {suite.name!r} (traces name {names}; tasks are "
            f"{known}); give each recording the task_id of its task, or the task's prompt as first user message"
        )
    if engine.lost:
        first = engine.lost[0]
        return InputError(f"no record could be read (first: {first.where}: {first.reason})")
    chosen = " of the chosen tasks" if engine.left_out else ""
    return NothingEvaluatedError(f"nothing was evaluated: the input holds no traces{chosen}")


def _beside(suite: Suite, name: str) -> Path:
    """A file named by a suite stands in or under the suite's folder."""
    folder = Path(suite.folder).resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise InputError(
            f"the suite names {name!r}, which is outside its folder; put the file beside the suite"
        )
    return path


def select(
    suite: Suite, *, only: Sequence[str] = (), limit: int | None = None
) -> tuple[Suite, tuple[ScoreNotice, ...]]:
    """The part of a suite whose task ids match a pattern (`*` allowed) or tag (`kind=lookup`), at most `limit` tasks.

    NothingEvaluatedError when nothing is left; UsageError for a negative limit.
    """
    if limit is not None and limit < 0:
        raise UsageError(f"a limit of {limit} tasks cannot be meant; give 1 or more")
    tasks = [task for task in suite.tasks if not only or any(_matches(task, pattern) for pattern in only)]
    if limit is not None:
        tasks = tasks[:limit]
    if not tasks:
        raise NothingEvaluatedError(
            f"nothing was evaluated: no task matches {', '.join(only) or 'the limit'}; task ids are "
            f"{', '.join(task.id for task in suite.tasks[:8])}"
        )
    if len(tasks) == len(suite.tasks):
        return suite, ()
    notice = ScoreNotice(
        code="selection", detail=f"only {len(tasks)} of {len(suite.tasks)} tasks were selected"
    )
    return msgspec.structs.replace(suite, tasks=tuple(tasks)), (notice,)


def _matches(task: Task, pattern: str) -> bool:
    tag, sign, value = pattern.partition("=")
    if sign and tag in task.tags:
        return fnmatchcase(task.tags[tag], value)
    return fnmatchcase(task.id, pattern) or task.id == pattern


def score_rows(suite: Suite, rows: str | Path | Iterable[Row | Quarantined], *, full: bool = False) -> Run:
    """The algebra alone: recorded rows under a standard. InputError when the file cannot be read."""
    source = read_row_file(rows) if isinstance(rows, str | Path) else rows
    kept: list[Row] = []
    lost: list[Quarantined] = []
    for row in source:
        if isinstance(row, Quarantined):
            lost.append(row)
        else:
            kept.append(row)
    if isinstance(rows, str | Path) and lost and not kept:
        raise InputError(f"{rows} holds no readable row (first: {lost[0].where}: {lost[0].reason})")
    notices = lost_notices(lost, "rows")
    return Run(suite=suite, rows=kept, lost=lost, notices=(*notices, *_about_standard(suite)), full=full)
