"""The public facade: load a standard, read traces, grade, score, ask what-if. The one place that chooses adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from steelyard.app.files import read_row_file
from steelyard.app.run import Run
from steelyard.errors import InputError, NothingEvaluatedError, SteelyardError, UsageError
from steelyard.grading import Engine, RecordedRows
from steelyard.grading.engine import Findings
from steelyard.grading.log import RowLog
from steelyard.grading.recorded import lost_notices
from steelyard.grading.rows import Row
from steelyard.model.standard import Suite, Task
from steelyard.model.table import ScoreNotice
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.store import Store

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


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside the traces, and what the user allows.

    `recorded`: files of verdict rows that stand in for judges and people. `states`: a folder TASK/TRIAL/{start,end}.
    `trust_graders`: `python` checks may run as plain Python. `only` and `limit` choose tasks (see `select`).
    """

    recorded: tuple[str | Path, ...] = ()
    states: str | Path | None = None
    trust_graders: bool = False
    only: tuple[str, ...] = ()
    limit: int | None = None


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """Where a grading is kept. `options` tell it from other gradings of the same standard when it is resumed."""

    store: Store
    options: Mapping[str, Any] = {}
    resume: bool = False


def grade(
    suite: Suite,
    traces: Iterable[Trace | Quarantined],
    *,
    recorded: Sequence[str | Path] = (),
    states: str | Path | None = None,
    trust_graders: bool = False,
    only: Sequence[str] = (),
    limit: int | None = None,
    progress: Progress | None = None,
    full: bool = False,
    keep: Keep | None = None,
) -> Run:
    """Grade traces under a standard; see `Inputs` for what may stand beside them.

    A task without a trace is an error of its criteria. NothingEvaluatedError when no trace belongs to a chosen task.
    With `keep`, trials are kept as they are graded, and findings of earlier runs are used again where nothing that
    decided them changed. A store that fails on the way does not end the grading; `Run.problem` says so.
    """
    inputs = Inputs(
        recorded=tuple(recorded), states=states, trust_graders=trust_graders, only=tuple(only), limit=limit
    )
    return grade_inputs(suite, traces, inputs, progress=progress, full=full, keep=keep)


def grade_inputs(
    suite: Suite,
    traces: Iterable[Trace | Quarantined],
    inputs: Inputs,
    *,
    progress: Progress | None = None,
    full: bool = False,
    keep: Keep | None = None,
    audit: Callable[[Run], Sequence[ScoreNotice]] = lambda run: (),
) -> Run:
    """`grade`, with a last look: the notices of `audit` are put before those of the run."""
    from steelyard.app.keeping import Keeper

    chosen, selection = select(suite, only=inputs.only, limit=inputs.limit)
    expected = sum(task.trials or 1 for task in chosen.tasks)
    planned = expected if all(task.trials for task in chosen.tasks) else None
    keeper: Keeper | None = None
    if keep:
        keeper = Keeper(keep.store, chosen, planned=planned, options=keep.options, resume=keep.resume)
    engine = _engine(suite, chosen, inputs, keeper)
    rows = RowLog()
    for trial in engine.grade_trials(traces):
        rows.append(trial.row)
        rows.extend(trial.verdicts)
        if keeper:
            keeper.keep(trial)
        if progress is not None:
            progress(engine.graded_traces, expected)
    if engine.graded_traces == 0:
        raise _nothing(chosen, engine)
    notices = (*selection, *engine.notices(), *_about_standard(chosen))
    lost = (*engine.lost, *engine.recorded.lost)
    run = Run(suite=chosen, rows=rows, lost=lost, notices=notices, full=full, reused=engine.reused)
    run.notices = (*audit(run), *run.notices)
    run.forget()  # the audit may have looked at the scores
    if keeper:
        keeper.finish(run)
    return run


def _engine(everything: Suite, chosen: Suite, inputs: Inputs, cache: Findings | None) -> Engine:
    from steelyard.app.state_hash import StateHasher
    from steelyard.app.states import attach
    from steelyard.checks import Policy, grader_for

    states = inputs.states
    policy = Policy(trust_graders=inputs.trust_graders, folder=chosen.folder)
    graded_under: set[str] = set()
    book = RecordedRows(
        (row for path in inputs.recorded for row in read_row_file(path, on_standard=graded_under.add)),
        read_file=lambda name: read_row_file(_beside(chosen, name)),
    )
    ids = {task.id for task in chosen.tasks}
    engine = Engine(
        chosen,
        grader_for=lambda check: grader_for(check, policy),
        recorded=book,
        left_out=[task for task in everything.tasks if task.id not in ids],
        cache=cache,
        attach=None if states is None else lambda trace, task, trial: attach(trace, task, trial, states),
        state_hash=StateHasher(),
    )
    engine.said.extend(_about_rows(chosen, graded_under))
    return engine


def _about_rows(suite: Suite, graded_under: set[str]) -> Iterator[ScoreNotice]:
    for other in sorted(graded_under - {suite.hash}):
        detail = (
            f"the rows were graded under the standard {other[:8]}…, not under this one ({suite.hash[:8]}…); where a "
            "criterion changed, its verdict is stale: grade the traces again"
        )
        yield ScoreNotice(code="other_standard", detail=detail)


def _about_standard(suite: Suite) -> tuple[ScoreNotice, ...]:
    if not suite.notices:
        return ()
    several = f"{len(suite.notices)} notes" if len(suite.notices) > 1 else "1 note"
    return (ScoreNotice(code="standard", detail=f"{several} on the standard; `steelyard check` lists them"),)


def _nothing(suite: Suite, engine: Engine) -> SteelyardError:
    """Unreadable input is not the same as readable input that holds nothing for this suite."""
    if engine.unmatched:
        names = ", ".join(repr(name) if name else "no task" for name in sorted(engine.unmatched)[:5])
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
    from steelyard.standards import suite_hash

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
    part = msgspec.structs.replace(suite, tasks=tuple(tasks))
    return msgspec.structs.replace(part, hash=suite_hash(part)), (notice,)


def _matches(task: Task, pattern: str) -> bool:
    tag, sign, value = pattern.partition("=")
    if sign and tag in task.tags:
        return fnmatchcase(task.tags[tag], value)
    return fnmatchcase(task.id, pattern) or task.id == pattern


def score_rows(suite: Suite, rows: str | Path | Iterable[Row | Quarantined], *, full: bool = False) -> Run:
    """The algebra alone: recorded rows under a standard. InputError when the file cannot be read."""
    other: set[str] = set()
    source = read_row_file(rows, on_standard=other.add) if isinstance(rows, str | Path) else rows
    kept: RowLog | list[Row] = RowLog() if isinstance(rows, str | Path) else []
    lost: list[Quarantined] = []
    for row in source:
        if isinstance(row, Quarantined):
            lost.append(row)
        else:
            kept.append(row)
    if isinstance(rows, str | Path) and lost and not kept:
        raise InputError(f"{rows} holds no readable row (first: {lost[0].where}: {lost[0].reason})")
    notices = [*lost_notices(lost, "rows"), *_about_rows(suite, other)]
    return Run(suite=suite, rows=kept, lost=lost, notices=(*notices, *_about_standard(suite)), full=full)
