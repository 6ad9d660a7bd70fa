"""What-if: replace verdicts, weights or gates and score again. Nothing is written to the record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Literal

import msgspec

from steelyard.errors import UsageError
from steelyard.model.standard import Criterion, Suite, Task
from steelyard.model.verdict import Errored, Graded, TrialRow, Unknown, Verdict
from steelyard.scoring.cells import missing_numbers


@dataclass(frozen=True, kw_only=True)
class Change:
    """One replacement. `criterion` null: the task itself (its weight). `trial` null: all trials."""

    kind: Literal["set", "weight", "gate"]
    task: str
    criterion: str | None = None
    trial: int | None = None
    value: str = ""
    text: str = ""


def parse_change(kind: Literal["set", "weight", "gate"], text: str, suite: Suite) -> Change:
    """`checkout/C3=1`, `checkout#2/C3=unknown`, `csv=2`, `csv/C1=2`, `lookup/G1`; `/` in an id is written `~1`.

    UsageError with a suggestion when the name is not in the suite or the value cannot be meant.
    """
    name, value = text, ""
    if kind != "gate":
        name, sign, value = text.rpartition("=")
        if not sign:
            raise UsageError(f"--{kind} {text!r} has no value; write it as {_shape(kind)}")
    task_part, slash, criterion_part = name.partition("/")
    task, trial = _task(suite, _unescape(task_part), text)
    criterion = _unescape(criterion_part) if slash else None
    if criterion is None and kind != "weight":
        raise UsageError(f"--{kind} {text!r} names no criterion; write it as {_shape(kind)}")
    if criterion is not None:
        _known(criterion, [known.id for known in task.criteria], f"criterion of task {task.id!r}", text)
    _check_value(kind, value, text)
    if kind != "set" and trial is not None:
        raise UsageError(f"--{kind} {text!r} names one trial; a weight or gate holds for the whole task")
    return Change(
        kind=kind, task=task.id, criterion=criterion, trial=trial, value=value, text=f"--{kind} {text}"
    )


def _shape(kind: str) -> str:
    return {"set": "TASK/CRITERION=1", "weight": "TASK=2 or TASK/CRITERION=2", "gate": "TASK/CRITERION"}[kind]


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _task(suite: Suite, name: str, text: str) -> tuple[Task, int | None]:
    by_id = {task.id: task for task in suite.tasks}
    if name in by_id:
        return by_id[name], None
    head, sign, number = name.rpartition("#")
    if sign and head in by_id and number.isdecimal():
        return by_id[head], int(number)
    _known(name, list(by_id), "task of the suite", text)
    raise AssertionError("unreachable: an unknown task is a UsageError")


def _known(name: str, known: Sequence[str], what: str, text: str) -> None:
    if name not in known:
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(known)[:10])}"
        raise UsageError(f"{text!r}: {name!r} is no {what}; {hint}")


def _check_value(kind: str, value: str, text: str) -> None:
    if kind == "gate" or (kind == "set" and value in ("unknown", "error")):
        return
    try:
        number = Decimal(value)
    except InvalidOperation:
        number = Decimal("NaN")
    most = Decimal(1) if kind == "set" else Decimal(1_000_000_000)
    if not number.is_finite() or not 0 <= number <= most:
        wanted = "a number in 0..1, unknown or error" if kind == "set" else "a number from 0 to 1e9"
        raise UsageError(f"--{kind} {text!r}: {value!r} is not {wanted}")


def apply_changes(
    suite: Suite, rows: Iterable[Verdict | TrialRow], changes: Sequence[Change]
) -> tuple[Suite, list[Verdict | TrialRow]]:
    """The suite and rows as they would be. UsageError where a weight cannot be changed or no vote is left."""
    changed = changed_suite(suite, changes)
    return changed, _change_rows(changed, list(rows), [change for change in changes if change.kind == "set"])


def changed_suite(suite: Suite, changes: Sequence[Change]) -> Suite:
    """The suite as it would be. UsageError where a weight cannot be changed or no vote is left."""
    changed = suite
    for change in changes:
        if change.kind != "set":
            changed = _change_suite(changed, change)
    if not any(task.weight is None or task.weight > 0 for task in changed.tasks):
        raise UsageError("with these weights no task has a vote; leave at least one above 0")
    return changed


def _change_suite(suite: Suite, change: Change) -> Suite:
    if change.kind == "weight" and change.criterion is None and suite.weights is not None:
        raise UsageError(
            f"{change.text}: votes follow the shares of {suite.weights.by!r}, so a task has no weight of its own"
        )
    tasks = [_change_task(task, change) if task.id == change.task else task for task in suite.tasks]
    return msgspec.structs.replace(suite, tasks=tuple(tasks))


def _change_task(task: Task, change: Change) -> Task:
    if change.criterion is None:
        return msgspec.structs.replace(task, weight=Decimal(change.value))
    criteria = tuple(
        _change_criterion(criterion, change) if criterion.id == change.criterion else criterion
        for criterion in task.criteria
    )
    dimension = next(criterion.dimension for criterion in criteria if criterion.id == change.criterion)
    if not any(criterion.weight > 0 for criterion in criteria if criterion.dimension == dimension):
        raise UsageError(f"{change.text}: no criterion of {dimension} in task {task.id!r} would have a vote")
    return msgspec.structs.replace(task, criteria=criteria)


def _change_criterion(criterion: Criterion, change: Change) -> Criterion:
    if change.kind == "gate":
        if criterion.pass_mark == 0:
            raise UsageError(f"{change.text}: its pass mark is 0 (report only), so it cannot be a gate")
        return msgspec.structs.replace(criterion, gate=True)
    return msgspec.structs.replace(criterion, weight=Decimal(change.value))


def _change_rows(
    suite: Suite, rows: list[Verdict | TrialRow], changes: Sequence[Change]
) -> list[Verdict | TrialRow]:
    for change in changes:
        trials = _trials_of(suite, rows, change)
        kept = [row for row in rows if not _is_replaced(row, change, trials)]
        rows = [*kept, *(verdict_of(change, trial) for trial in trials)]
    return rows


def _trials_of(suite: Suite, rows: Sequence[Verdict | TrialRow], change: Change) -> list[int]:
    seen = {row.trial for row in rows if row.task == change.task}
    seen.update(
        missing_numbers(sorted(seen), next(task.trials for task in suite.tasks if task.id == change.task))
    )
    if change.trial is None:
        return sorted(seen)
    if change.trial not in seen:
        raise UsageError(
            f"{change.text}: task {change.task!r} has no trial {change.trial}; it has {sorted(seen)}"
        )
    return [change.trial]


def _is_replaced(row: Verdict | TrialRow, change: Change, trials: Sequence[int]) -> bool:
    if isinstance(row, TrialRow):
        return False
    return (row.task, row.criterion) == (change.task, change.criterion) and row.trial in trials


def verdict_of(change: Change, trial: int) -> Verdict:
    """The verdict that a `set` puts in the place of another."""
    criterion, reason = change.criterion or "", "what-if"
    if change.value == "unknown":
        return Unknown(task=change.task, criterion=criterion, trial=trial, reason=reason)
    if change.value == "error":
        return Errored(task=change.task, criterion=criterion, trial=trial, reason=reason, error="what_if")
    return Graded(
        task=change.task, criterion=criterion, trial=trial, reason=reason, score=float(change.value)
    )
