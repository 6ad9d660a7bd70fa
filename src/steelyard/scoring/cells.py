"""Verdict rows to cells: one cell for every assigned criterion of every trial, whatever rows there are.

A cell that no row fills is an error, two different rows are an error, and skips follow from `needs` whatever a row
says. Rows that name nothing in the standard are counted and named, never dropped in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.model.table import ScoreNotice
from steelyard.model.trace import FAULTS
from steelyard.model.verdict import Errored, Graded, Skipped, TrialRow, Unknown, Verdict
from steelyard.scoring.plan import Plan, TaskPlan

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

GRADED, UNKNOWN, ERROR, SKIPPED = 0, 1, 2, 3
STATUS_WORDS = ("graded", "unknown", "error", "skipped")
MOST_NAMED = 20
"""Names of the standard's missing parts that get a notice of their own."""
CONFLICT = "conflict"
"""`ended_by` of a trial whose rows contradict each other: complete in no reading, possibly in another."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One execution. `counted` false for a fault; `placeholder` where a trial was planned and nothing is recorded.

    `stand_in` marks the empty trial that holds the votes of a task with only faults: it is in every average, and in
    no count of trials.
    """

    task: int
    number: int
    ended_by: str | None = None
    counted: bool = True
    placeholder: bool = False
    stand_in: bool = False
    row: TrialRow | None = None


class Cells(msgspec.Struct, kw_only=True):
    """Columns over cells (n of them, by task, trial, criterion) and trials (m of them).

    `trial`, `criterion` (position in the task's plan), `dimension`, `layer` are indices; `score` is 0 where nothing
    was graded; `passed` is "graded and at the pass mark"; `skip_fail` marks skips whose cause is a graded fail.
    `offset[j]` is the first cell of trial j.
    """

    trials: list[Trial]
    offset: list[int]
    rows: list[Verdict | None]
    trial: Ints
    criterion: Ints
    status: npt.NDArray[np.int8]
    score: Floats
    weight: Floats
    mark: Floats
    passed: Bools
    skip_fail: Bools
    dimension: Ints
    layer: Ints
    obligation: Bools
    in_rule: Bools
    gate: Bools
    counted: Bools
    used_rows: int
    notices: list[ScoreNotice]


def tabulate(plan: Plan, rows: Iterable[Verdict | TrialRow]) -> Cells:
    """Fill the cells of a plan from rows in any order. Never raises for what a row says."""
    book = _Book(plan)
    for row in rows:
        book.add(row)
    cells = _columns(plan, book)
    _apply_needs(plan, cells)
    return cells


class _Book:
    """Rows by task and trial, with the notices about rows that do not fit."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.verdicts: list[dict[int, dict[int, Verdict]]] = [{} for _ in plan.tasks]
        self.trials: list[dict[int, TrialRow]] = [{} for _ in plan.tasks]
        self.used = 0
        self.duplicates = 0
        self.repeated: dict[tuple[int, int, int], list[Verdict]] = {}
        self.repeated_trials: dict[tuple[int, int], list[TrialRow]] = {}
        self.unmatched: Counter[tuple[str, str]] = Counter()
        self.missing: list[ScoreNotice] = []

    def add(self, row: Verdict | TrialRow) -> None:
        task = self.plan.index.get(row.task)
        if task is None:
            self.unmatched[row.task, ""] += 1
        elif isinstance(row, TrialRow):
            self._add_trial(task, row)
        else:
            position = self.plan.tasks[task].index.get(row.criterion)
            if (
                position is not None
                and isinstance(row, Graded)
                and self._is_fraction_of_a_judge(task, position, row)
            ):
                row = Errored(
                    task=row.task, trial=row.trial, criterion=row.criterion, error="judge_fraction",
                    reason=f"people and judges answer yes or no; {row.score:g} is a fraction, which only code counts",
                    evidence_refs=row.evidence_refs, graders=row.graders,
                )  # fmt: skip
            if position is None:
                self.unmatched[row.task, row.criterion] += 1
            else:
                self._add_verdict(task, position, row)

    def _is_fraction_of_a_judge(self, task: int, position: int, row: Graded) -> bool:
        return self.plan.tasks[task].criteria[position].check is None and row.score not in (0, 1)

    def _add_trial(self, task: int, row: TrialRow) -> None:
        self.used += 1
        known = self.trials[task].get(row.trial)
        if known is None:
            self.trials[task][row.trial] = row
            return
        different = self.repeated_trials.setdefault((task, row.trial), [known])
        if row in different:
            self.duplicates += 1
            return
        different.append(row)
        endings = {each.ended_by for each in different}
        ended_by = row.ended_by if len(endings) == 1 else CONFLICT
        self.trials[task][row.trial] = TrialRow(task=row.task, trial=row.trial, ended_by=ended_by)

    def _add_verdict(self, task: int, position: int, row: Verdict) -> None:
        self.used += 1
        held = self.verdicts[task].setdefault(row.trial, {})
        known = held.get(position)
        if known is None:
            held[position] = row
            return
        different = self.repeated.setdefault((task, row.trial, position), [known])
        if row in different:
            self.duplicates += 1
            return
        different.append(row)
        held[position] = Errored(
            task=row.task, trial=row.trial, criterion=row.criterion, error="conflict",
            reason="two different rows for the same task, trial and criterion; keep one of them",
        )  # fmt: skip

    def notices(self) -> Iterator[ScoreNotice]:
        """What did not fit, in an order of its own: whatever the order of the rows, the same is said."""
        for task, criterion in sorted(self.unmatched)[:MOST_NAMED]:
            name = criterion or task
            what = f"criterion {criterion!r} of task {task!r}" if criterion else f"task {task!r}"
            known = self.plan.tasks[self.plan.index[task]].index if criterion else self.plan.index
            close = get_close_matches(name, sorted(known), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            yield ScoreNotice(
                code="unmatched_row", detail=f"a row names {what}, which the standard does not have{hint}"
            )
        if len(self.unmatched) > MOST_NAMED:
            rest = sum(self.unmatched[key] for key in sorted(self.unmatched)[MOST_NAMED:])
            yield ScoreNotice(
                code="unmatched_row", detail=f"and {rest} more rows name what the standard does not have"
            )
        different = sorted(key for key, rows in self.repeated_trials.items() if len(rows) > 1)
        for task_index, trial in different[:MOST_NAMED]:
            where = f"{self.plan.tasks[task_index].task.id}#{trial}"
            open_end = self.trials[task_index][trial].ended_by == CONFLICT
            what = (
                "how it ended is open until one is removed" if open_end else "its measurements are left out"
            )
            detail = f"different trial rows for {where}; {what}"
            yield ScoreNotice(code="conflicting_trial_rows", detail=detail, where=where)
        if self.duplicates:
            detail = f"{self.duplicates} rows repeat another row exactly; each counts once"
            yield ScoreNotice(code="duplicate_rows", detail=detail)


def _trials_of(entry: TaskPlan, task: int, book: _Book) -> list[Trial]:
    """The trials seen in any row, then placeholders for planned ones that are missing, in order of their number."""
    numbers = sorted(set(book.verdicts[task]) | set(book.trials[task]))
    trials = []
    for number in numbers:
        row = book.trials[task].get(number)
        ended_by = row.ended_by if row else None
        trials.append(
            Trial(task=task, number=number, ended_by=ended_by, counted=ended_by not in FAULTS, row=row)
        )
    missing = missing_numbers(numbers, entry.task.trials)
    if missing:
        reason = "planned trials without any record" if trials else "nothing is recorded for this task"
        named = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        detail = f"task {entry.task.id!r}: {reason} (trial {named}); their criteria are errors"
        book.missing.append(ScoreNotice(code="missing_trials", detail=detail, where=entry.task.id))
    trials.extend(Trial(task=task, number=number, placeholder=True) for number in missing)
    if not any(trial.counted for trial in trials):
        detail = f"task {entry.task.id!r}: every trial ended by a fault; one empty trial holds its votes"
        book.missing.append(ScoreNotice(code="only_faults", detail=detail, where=entry.task.id))
        number = max(numbers, default=0) + 1
        trials.append(Trial(task=task, number=number, placeholder=True, stand_in=True))
    return sorted(trials, key=lambda trial: trial.number)


def missing_numbers(seen: Sequence[int], planned: int | None) -> list[int]:
    """Planned trials are numbered from 1, or from 0 where a trial 0 was seen; with no plan, one where none was seen."""
    if planned is None:
        return [] if seen else [1]
    first = 0 if 0 in seen else 1
    known = set(seen)
    return [number for number in range(first, first + planned) if number not in known]


def _columns(plan: Plan, book: _Book) -> Cells:
    dimensions = {name: position for position, name in enumerate(plan.dimensions)}
    layers = {name: position for position, name in enumerate(plan.layers)}
    trials: list[Trial] = []
    offset: list[int] = []
    held: list[Verdict | None] = []
    columns: list[list[tuple[int, float, float, int, int, bool, bool, bool]]] = []
    trial_of: list[int] = []
    criterion_of: list[int] = []
    for task, entry in enumerate(plan.tasks):
        constant = [
            (
                index, float(criterion.weight), float(criterion.pass_mark), dimensions[criterion.dimension],
                layers[criterion.layer], criterion.dimension == "correctness", entry.in_rule[index], criterion.gate,
            )
            for index, criterion in enumerate(entry.criteria)
        ]  # fmt: skip
        for trial in _trials_of(entry, task, book):
            offset.append(len(held))
            trial_of.extend([len(trials)] * len(constant))
            trials.append(trial)
            verdicts = book.verdicts[task].get(trial.number, {})
            held.extend(verdicts.get(index) for index in range(len(constant)))
            columns.append(constant)
            criterion_of.extend(range(len(constant)))
    flat = np.array([entry[1:] for block in columns for entry in block], dtype=np.float64).reshape(
        len(held), 7
    )
    status, score = _read_rows(plan, held, trial_of, criterion_of, trials)
    cells = Cells(
        trials=trials, offset=offset, rows=held, trial=np.array(trial_of, dtype=np.int64),
        criterion=np.array(criterion_of, dtype=np.int64), status=status, score=score, weight=flat[:, 0],
        mark=flat[:, 1], passed=np.zeros(len(held), dtype=np.bool_), skip_fail=np.zeros(len(held), dtype=np.bool_),
        dimension=flat[:, 2].astype(np.int64), layer=flat[:, 3].astype(np.int64), obligation=flat[:, 4] > 0,
        in_rule=flat[:, 5] > 0, gate=flat[:, 6] > 0,
        counted=np.array([trials[index].counted for index in trial_of], dtype=np.bool_),
        used_rows=book.used, notices=[*book.missing, *book.notices()],
    )  # fmt: skip
    return cells


def _read_rows(
    plan: Plan, held: list[Verdict | None], trial_of: list[int], criterion_of: list[int], trials: list[Trial]
) -> tuple[npt.NDArray[np.int8], Floats]:
    status = np.full(len(held), ERROR, dtype=np.int8)
    score = np.zeros(len(held), dtype=np.float64)
    for cell, row in enumerate(held):
        if isinstance(row, Graded):
            if 0.0 <= row.score <= 1.0:  # false for NaN too
                status[cell], score[cell] = GRADED, row.score
        elif isinstance(row, Unknown):
            status[cell] = UNKNOWN
        elif isinstance(row, Skipped):
            entry = plan.tasks[trials[trial_of[cell]].task]
            status[cell] = SKIPPED if entry.needs[criterion_of[cell]] else ERROR
    return status, score


def _apply_needs(plan: Plan, cells: Cells) -> None:
    """Decide skips level by level: a criterion whose need did not pass no longer measures its own module.

    The cause is a fail when each needed criterion that did not pass is a graded fail, or a skip with that cause.
    """
    cells.passed = (cells.status == GRADED) & (cells.score >= cells.mark)
    by_level: dict[int, tuple[list[int], list[int]]] = {}
    for position, trial in enumerate(cells.trials):
        entry = plan.tasks[trial.task]
        start = cells.offset[position]
        for index, needs in enumerate(entry.needs):
            if needs:
                edges = by_level.setdefault(entry.levels[index], ([], []))
                edges[0].extend([start + index] * len(needs))
                edges[1].extend(start + need for need in needs)
    for level in sorted(by_level):
        cell = np.array(by_level[level][0], dtype=np.int64)
        need = np.array(by_level[level][1], dtype=np.int64)
        short = ~cells.passed[need]
        failed = ((cells.status[need] == GRADED) & short) | cells.skip_fail[need]
        is_short = np.bincount(cell, weights=short, minlength=len(cells.status)) > 0
        is_open = np.bincount(cell, weights=short & ~failed, minlength=len(cells.status)) > 0
        cells.status[is_short] = SKIPPED
        cells.score[is_short] = 0.0
        cells.passed[is_short] = False
        cells.skip_fail[is_short] = ~is_open[is_short]
