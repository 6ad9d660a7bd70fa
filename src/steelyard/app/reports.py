"""Runs as text: the renderers of the report room, given the scores of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from steelyard.app.facade import read_traces
from steelyard.app.run import Run
from steelyard.errors import InputError, NothingEvaluatedError, UsageError
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.store import RunSummary
from steelyard.scoring import Change, parse_change


def rules_of(run: Run) -> dict[tuple[str, str], str]:
    """The rules of a run's standard by (task id, criterion id)."""
    return {
        (task.id, criterion.id): criterion.rule for task in run.suite.tasks for criterion in task.criteria
    }


def scoreboard(run: Run, *, width: int = 80, color: bool = False, unicode: bool = True) -> str:
    """The scoreboard in a terminal."""
    from steelyard import report

    return report.scoreboard(run.scores, width=width, color=color, unicode=unicode, rules=rules_of(run))


def json_report(run: Run) -> bytes:
    """The scores as strict JSON."""
    from steelyard import report

    return report.score_json(run.scores, full=run.full)


def junit_report(run: Run) -> str:
    """The scores as JUnit XML, errors apart from failures."""
    from steelyard import report

    return report.junit_xml(run.scores)


def markdown_report(run: Run) -> str:
    """The scores as Markdown, for a step summary."""
    from steelyard.report.markdown import markdown

    return markdown(run.scores, rules_of(run))


def changes(
    run: Run, *, sets: Sequence[str] = (), weights: Sequence[str] = (), gates: Sequence[str] = ()
) -> list[Change]:
    """What-if changes as typed by a person. UsageError when one cannot be meant."""
    kinds: tuple[tuple[Literal["set", "weight", "gate"], Sequence[str]], ...] = (
        ("set", sets), ("weight", weights), ("gate", gates),
    )  # fmt: skip
    return [parse_change(kind, text, run.suite) for kind, texts in kinds for text in texts]


def whatif_board(
    before: Run, after: Run, *, width: int = 80, color: bool = False, unicode: bool = True
) -> str:
    """Each headline before and after."""
    from steelyard import report

    return report.whatif_board(before.scores, after.scores, width=width, color=color, unicode=unicode)


def collect_traces(
    files: Sequence[str | Path], *, task: str | None = None, trial: int | None = None
) -> tuple[list[Trace], list[Quarantined]]:
    """`select_traces`, all at once."""
    lost: list[Quarantined] = []
    return list(select_traces(files, lost, task=task, trial=trial)), lost


def select_traces(
    files: Sequence[str | Path], lost: list[Quarantined], *, task: str | None = None, trial: int | None = None
) -> Iterator[Trace]:
    """The traces of files, of one task or trial when asked; trials without a number are counted from 1, in order.

    What could not be read is added to `lost` as it is met. At the end NothingEvaluatedError when there was none,
    InputError when nothing could be read.
    """
    counted: Counter[str | None] = Counter()
    found = 0
    for entry in read_traces(list(files)):
        if isinstance(entry, Quarantined):
            lost.append(entry)
            continue
        counted[entry.task_id] += 1
        number = counted[entry.task_id] if entry.trial is None else entry.trial
        if task in (None, entry.task_id) and trial in (None, number):
            found += 1
            yield entry
    if lost and not counted:
        raise InputError(f"no record could be read (first: {lost[0].where}: {lost[0].reason})")
    if not found and not lost:
        asked = ("" if task is None else f" of task {task!r}") + ("" if trial is None else f", trial {trial}")
        raise NothingEvaluatedError(
            f"no trace{asked} in {', '.join(map(str, files))}; leave --task and --trial out to see all"
        )


def trace_json(traces: Sequence[Trace], lost: Sequence[Quarantined]) -> bytes:
    """Traces as strict JSON."""
    return b"".join(trace_json_parts(traces, lost))


def trace_json_parts(traces: Iterable[Trace], lost: Sequence[Quarantined]) -> Iterator[bytes]:
    """Traces as strict JSON, as they come; `lost` is looked at last."""
    from steelyard import report

    return report.trace_json_parts(traces, lost)


def trace_board(
    traces: Iterable[Trace],
    lost: Sequence[Quarantined],
    *,
    steps: bool,
    full: bool = False,
    window: tuple[int, int] | None = None,
    **style: Any,
) -> str:
    """Traces in a terminal: their steps (with `window` those from one number to another), or one line a trace."""
    from steelyard import report

    if not steps:
        return report.traces_summary(traces, lost, **style)
    boards = [report.trace_text(trace, full=full, steps=window, **style) for trace in traces]
    if lost:
        boards.append(report.traces_summary([], lost, **style))
    return "\n".join(boards)


def runs_board(runs: Sequence[RunSummary], **style: Any) -> str:
    """The list of kept runs."""
    from steelyard import report

    return report.runs_board(runs, **style)


def verdict_board(
    run: Run, *, task: str | None = None, criterion: str | None = None, why: bool = False, **style: Any
) -> str:
    """The verdicts of a task or criterion, or all that are no pass. UsageError for a task that the run has not."""
    from steelyard import report

    known = {each.id for each in run.suite.tasks}
    if task is not None and task not in known:
        raise UsageError(f"the run has no task {task!r}; it has {', '.join(sorted(known)[:10])}")
    return report.verdict_board(
        run.scores, task=task, criterion=criterion, why=why, rules=rules_of(run), **style
    )


def plain_text(text: str) -> str:
    """Text in which nothing can steer a terminal: control and direction marks are written out, line ends stay."""
    from steelyard.report.text import visible

    return visible(text, keep="\n")
