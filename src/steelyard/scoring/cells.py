"""Row columns to cells: one cell for every assigned criterion of every trial, whatever rows there are.

A cell that no row fills is an error, two different rows are an error, and skips follow from `needs` whatever a row
says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.model.columns import ERROR, GRADED, SKIPPED, UNKNOWN, CompactRows, Row, compact
from steelyard.model.table import ScoreNotice
from steelyard.model.verdict import Errored, Graded, TrialRow, Verdict
from steelyard.scoring.columns import Placed, different, place, repeated, unmatched_notices
from steelyard.scoring.plan import Bools, Floats, Ints, Plan
from steelyard.scoring.trials import CONFLICT, Trials, lay_out, missing_numbers

__all__ = [
    "CONFLICT", "ERROR", "GRADED", "SKIPPED", "STATUS_WORDS", "UNKNOWN", "Bools", "Cells", "Floats", "Ints", "Trial",
    "missing_numbers", "tabulate",
]  # fmt: skip

STATUS_WORDS = ("graded", "unknown", "error", "skipped")
NO_ROW, CONFLICTING, REPLACED = -1, -2, -3
"""`Cells.place` of a cell without a row, of one with several that differ, and of the first in `Cells.replaced`."""


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


class Cells(msgspec.Struct, kw_only=True):
    """Columns over cells (n of them, by task, trial, criterion) and trials (m of them).

    `trial` is the trial of a cell, `criterion` its position in the task's plan, `asked` its place in `plan.asked`.
    `score` is 0 where nothing was graded; `passed` is "graded and at the pass mark"; `skip_fail` marks skips whose
    cause is a graded fail. `stated` and `stated_score` are what the rows say, before `needs` are applied. `place` is
    where the row is (see `rows_of`), `given` its status as written (-1: no row), `kind` and `tag` as in `RowColumns`.
    `offset[j]` is the first cell of trial j.
    """

    layout: Trials
    placed: Placed
    offset: Ints
    trial: Ints
    criterion: Ints
    asked: Ints
    stated: npt.NDArray[np.int8]
    stated_score: Floats
    status: npt.NDArray[np.int8]
    score: Floats
    weight: Floats
    passed: Bools
    skip_fail: Bools
    dimension: npt.NDArray[np.int32]
    layer: npt.NDArray[np.int32]
    obligation: Bools
    in_rule: Bools
    gate: Bools
    counted: Bools
    place: Ints
    given: npt.NDArray[np.int8]
    kind: npt.NDArray[np.int32]
    tag: npt.NDArray[np.int32]
    judged: Bools
    repeated: Bools
    duplicates: int
    used_rows: int
    notices: list[ScoreNotice]
    replaced: tuple[Verdict, ...] = ()
    """Verdicts of a what-if, at places from `REPLACED` downwards."""

    @property
    def trials(self) -> list[Trial]:
        """The trials as records."""
        found = self.layout
        names = [None, *found.endings]
        columns = zip(
            found.task.tolist(), found.number.tolist(), found.ended.tolist(), found.counted.tolist(),
            found.placeholder.tolist(), found.stand_in.tolist(), strict=True,
        )  # fmt: skip
        return [
            Trial(
                task=task, number=found.numbers[number], ended_by=names[ended + 1], counted=counted,
                placeholder=placeholder, stand_in=stand_in,
            )
            for task, number, ended, counted, placeholder, stand_in in columns
        ]  # fmt: skip

    @property
    def rows(self) -> list[Verdict | None]:
        """The row behind each cell."""
        return self.rows_of(range(len(self.place)))

    def rows_of(self, cells: Sequence[int]) -> list[Verdict | None]:
        """The rows behind these cells: None where there is none, an error where rows contradict each other."""
        places = self.place[np.asarray(cells, dtype=np.int64)].tolist()
        read = iter(self.placed.source.rows_at([place for place in places if place >= 0]))
        return [
            self._row(
                cell, next(read) if at >= 0 else self.replaced[REPLACED - at] if at <= REPLACED else None
            )
            for cell, at in zip(cells, places, strict=True)
        ]

    def _row(self, cell: int, row: Row | None) -> Verdict | None:
        if self.place[cell] == CONFLICTING:
            trial = self.trial[cell]
            shape = self.layout.plan.tasks[self.layout.task[trial]]
            return Errored(
                task=shape.task.id, trial=self.layout.numbers[self.layout.number[trial]],
                criterion=shape.shape.ids[self.criterion[cell]], error="conflict",
                reason="two different rows for the same task, trial and criterion; keep one of them",
            )  # fmt: skip
        if isinstance(row, TrialRow):
            raise AssertionError("a cell holds a verdict")
        if isinstance(row, Graded) and self.judged[cell] and row.score not in (0, 1):
            return Errored(
                task=row.task, trial=row.trial, criterion=row.criterion, error="judge_fraction",
                reason=f"people and judges answer yes or no; {row.score:g} is a fraction, which only code counts",
                evidence_refs=row.evidence_refs, graders=row.graders,
            )  # fmt: skip
        return row


def tabulate(plan: Plan, rows: Iterable[Verdict | TrialRow]) -> Cells:
    """Fill the cells of a plan from rows in any order. Never raises for what a row says."""
    source: CompactRows = compact(rows)
    placed = place(plan, source)
    layout = lay_out(plan, placed)
    cells = _cells(plan, placed, layout)
    apply_needs(plan, cells)
    return cells


def _cells(plan: Plan, placed: Placed, layout: Trials) -> Cells:
    asked, read = plan.asked, placed.read
    shape = plan.shape_of[layout.task]
    size = asked.size[shape]
    offset = np.cumsum(size) - size
    n = int(size.sum())
    trial = np.repeat(np.arange(len(size)), size)
    at = np.repeat(asked.start[shape] - offset, size) + np.arange(n)
    cell = offset[layout.trial_of] + placed.criterion
    twice = repeated(cell, n)
    once = placed.keep[~twice]
    given = np.full(n, NO_ROW, dtype=np.int8)
    score, found = np.full(n, np.nan), np.full(n, NO_ROW, dtype=np.int64)
    kind, tag = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int32)
    duplicates = _fill_repeated(placed, cell, twice, (given, score, kind, tag, found))
    fill = cell[~twice]
    for column, values in ((given, read.status), (score, read.score), (kind, read.kind), (tag, read.tag)):
        column[fill] = values[once]
    found[fill] = read.place[once]
    graded = given == GRADED
    fraction = asked.judged[at] & graded & (score != 0.0) & (score != 1.0)
    given[fraction] = ERROR
    baseless = (given == SKIPPED) & ~asked.needy[at]
    stated = np.where((given == NO_ROW) | baseless | (graded & np.isnan(score)), ERROR, given).astype(np.int8)
    many = np.zeros(n, dtype=np.bool_)
    many[cell[twice]] = True
    repeats = layout.duplicates + duplicates
    return Cells(
        layout=layout, placed=placed, offset=offset, trial=trial, criterion=at - asked.start[shape][trial], asked=at,
        stated=stated, stated_score=np.where(stated == GRADED, score, 0.0), status=stated, score=score,
        weight=asked.weight[at], passed=np.zeros(n, dtype=np.bool_), skip_fail=np.zeros(n, dtype=np.bool_),
        dimension=asked.dimension[at].astype(np.int32), layer=asked.layer[at].astype(np.int32),
        obligation=asked.obligation[at],
        in_rule=asked.in_rule[at], gate=asked.gate[at], counted=layout.counted[trial], place=found, given=given,
        kind=kind, tag=tag, judged=fraction, repeated=many, duplicates=repeats,
        used_rows=len(placed.keep) + len(placed.keep_trials),
        notices=[*layout.notices, *unmatched_notices(plan, placed.unmatched), *_duplicate_notice(repeats)],
    )  # fmt: skip


def _duplicate_notice(duplicates: int) -> list[ScoreNotice]:
    detail = f"{duplicates} rows repeat another row exactly; each counts once"
    return [ScoreNotice(code="duplicate_rows", detail=detail)] if duplicates else []


def _fill_repeated(
    placed: Placed, cell: Ints, twice: Bools, columns: tuple[npt.NDArray[np.generic], ...]
) -> int:
    """Fill the cells that have several rows; returns how many rows repeat another exactly."""
    if not twice.any():
        return 0
    read, entries, cells = placed.read, placed.keep[twice], cell[twice]
    by_cell = different(placed.source, cells, read.place[entries])
    entry_at = dict(zip(read.place[entries].tolist(), entries.tolist(), strict=True))
    given, score, kind, tag, found = columns
    for where, places in by_cell.items():
        if len(places) == 1:
            entry = entry_at[places[0]]
            given[where], score[where] = read.status[entry], read.score[entry]
            kind[where], tag[where], found[where] = read.kind[entry], read.tag[entry], places[0]
        else:
            given[where], found[where] = ERROR, CONFLICTING
    return len(entries) - sum(map(len, by_cell.values()))


def apply_needs(plan: Plan, cells: Cells) -> None:
    """Decide skips level by level: a criterion whose need did not pass no longer measures its own module.

    The cause is a fail when each needed criterion that did not pass is a graded fail, or a skip with that cause.
    """
    cells.status, cells.score = cells.stated.copy(), cells.stated_score.copy()
    cells.passed = (cells.status == GRADED) & (cells.score >= plan.asked.mark[cells.asked])
    cells.skip_fail = np.zeros(len(cells.status), dtype=np.bool_)
    needy = [place for place, shape in enumerate(plan.shapes) if any(shape.needs)]
    if not needy:
        return
    shape_of = plan.shape_of[cells.layout.task]
    edges = [edge for place in needy for edge in _edges(plan, cells, place, shape_of)]
    for level in sorted({level for level, _, _ in edges}):
        cell = np.concatenate([target.ravel() for at, target, _ in edges if at == level])
        need = np.concatenate([source.ravel() for at, _, source in edges if at == level])
        short = ~cells.passed[need]
        failed = ((cells.status[need] == GRADED) & short) | cells.skip_fail[need]
        is_short = np.bincount(cell, weights=short, minlength=len(cells.status)) > 0
        is_open = np.bincount(cell, weights=short & ~failed, minlength=len(cells.status)) > 0
        cells.status[is_short] = SKIPPED
        cells.score[is_short] = 0.0
        cells.passed[is_short] = False
        cells.skip_fail[is_short] = ~is_open[is_short]


def _edges(plan: Plan, cells: Cells, place: int, shape_of: Ints) -> list[tuple[int, Ints, Ints]]:
    """(level, cells, cells that they need) of all trials whose task has this shape."""
    shape = plan.shapes[place]
    first = cells.offset[shape_of == place]
    return [
        (shape.levels[position], first + position, first + need)
        for position, needs in enumerate(shape.needs)
        for need in needs
    ]
