"""Verdict and trial rows as columns: what scoring reads of them, a few bytes a verdict, whatever holds the rest."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import msgspec

from steelyard.model.verdict import Errored, Graded, Skipped, TrialRow, Unknown, Verdict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Small = npt.NDArray[np.int32]
    Tiny = npt.NDArray[np.int8]
    Floats = npt.NDArray[np.float64]
else:  # numpy is loaded where columns are made, not where they are named
    Ints = Small = Tiny = Floats = Any

Row = Verdict | TrialRow
GRADED, UNKNOWN, ERROR, SKIPPED = 0, 1, 2, 3
"""Codes of `RowColumns.status`."""
_STATUS = {Graded: GRADED, Unknown: UNKNOWN, Errored: ERROR, Skipped: SKIPPED}
NO_SCORE = float("nan")
MOST_CODED = 256
"""Sets of measures whose codes are remembered."""
NONE: Mapping[Any, Any] = {}


class RowColumns(msgspec.Struct, frozen=True, kw_only=True):
    """One entry for each verdict row, and one for each trial row, in the order in which they came.

    Names are coded: `task` is a position in `tasks`, and so on. `score` is NaN where nothing in 0..1 was graded.
    `kind` is a position in `kinds`, the kinds of the graders of a verdict; `tag` one in `tags`: the failure tag, or the
    word of an error. `place` and `trial_place` say to `CompactRows.rows_at` which row it is. Measurements stand apart:
    `measured` is the position of their trial row. `retried` holds the places of verdicts with several attempts.
    """

    tasks: Sequence[str]
    criteria: Sequence[str]
    numbers: Sequence[int]
    endings: Sequence[str | None]
    kinds: Sequence[tuple[str, ...]]
    tags: Sequence[str | None]
    measures: Sequence[str]
    task: Small
    number: Small
    criterion: Small
    status: Tiny
    score: Floats
    kind: Small
    tag: Small
    place: Ints
    trial_task: Small
    trial_number: Small
    ended: Small
    trial_place: Ints
    measured: Small
    measure: Small
    value: Floats
    retried: Ints


class CompactRows(Sequence[Row]):
    """A sequence of rows that need not all be objects at once. Equal to any sequence of equal rows."""

    @abstractmethod
    def columns(self) -> RowColumns:
        """What scoring reads of every row."""

    @abstractmethod
    def rows_at(self, places: Sequence[int]) -> list[Row]:
        """The rows at these places of `columns`, in the order asked for."""

    def find(self, task: str, trial: int | None = None, criterion: str | None = None) -> list[Row]:
        """The rows of a task, of one of its trials or criteria: trial rows first, and none where a criterion is asked.

        Only these are read, however many there are of other trials.
        """
        read = self.columns()
        if task not in read.tasks or (trial is not None and trial not in read.numbers):
            return []
        code = read.tasks.index(task)
        own, own_trials = read.task == code, read.trial_task == code
        if trial is not None:
            number = read.numbers.index(trial)
            own, own_trials = own & (read.number == number), own_trials & (read.trial_number == number)
        if criterion is not None:
            if criterion not in read.criteria:
                return []
            return self.rows_at(read.place[own & (read.criterion == read.criteria.index(criterion))].tolist())
        return [*self.rows_at(read.trial_place[own_trials].tolist()), *self.rows_at(read.place[own].tolist())]

    @abstractmethod
    def __iter__(self) -> Iterator[Row]: ...

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


class ListedRows(CompactRows):
    """Rows that are held as they are."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows if isinstance(rows, list | tuple) else tuple(rows)
        self._columns: RowColumns | None = None

    def columns(self) -> RowColumns:
        if self._columns is None:
            builder = ColumnBuilder()
            for place, row in enumerate(self._rows):
                builder.add(row, place)
            self._columns = builder.columns()
        return self._columns

    def rows_at(self, places: Sequence[int]) -> list[Row]:
        return [self._rows[place] for place in places]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)


def compact(rows: Iterable[Row]) -> CompactRows:
    """The rows, so that their columns can be read."""
    return rows if isinstance(rows, CompactRows) else ListedRows(rows)


class ColumnBuilder:
    """Columns that grow row by row. Names that have a code already are given with it."""

    def __init__(
        self,
        *,
        tasks: Mapping[str, int] = NONE,
        criteria: Mapping[str, int] = NONE,
        numbers: Mapping[int, int] = NONE,
        endings: Mapping[str | None, int] = NONE,
        kinds: Mapping[tuple[str, ...], int] = NONE,
        tags: Mapping[str | None, int] = NONE,
        measures: Mapping[str, int] = NONE,
    ) -> None:
        self._tasks, self._criteria, self._numbers = dict(tasks), dict(criteria), dict(numbers)
        self._endings, self._kinds, self._measures = dict(endings), dict(kinds), dict(measures)
        self._tags = dict(tags) or {None: 0}
        self._coded: dict[tuple[str, ...], list[int]] = {}
        """Codes of the measures that come together, since nearly all trials have the same."""
        self._verdicts = _arrays("iiibdiiq")
        self._trials = _arrays("iiiq")
        self._measured = _arrays("iid")
        self._retried = _arrays("q")[0]

    def add(self, row: Row, place: int) -> None:
        """Append a row, which `rows_at` finds at `place`."""
        task = self._tasks.setdefault(row.task, len(self._tasks))
        number = self._numbers.setdefault(row.trial, len(self._numbers))
        if isinstance(row, TrialRow):
            self._add_trial(task, number, row.ended_by, row.measurements, place)
            return
        tag = row.error if isinstance(row, Errored) else row.failure_tag
        score = row.score if isinstance(row, Graded) and 0.0 <= row.score <= 1.0 else NO_SCORE
        kinds = (row.graders[0].kind,) if len(row.graders) == 1 else tuple(ref.kind for ref in row.graders)
        tasks, numbers, criteria, statuses, scores, of_kind, of_tag, places = self._verdicts
        tasks.append(task)
        numbers.append(number)
        criteria.append(self._criteria.setdefault(row.criterion, len(self._criteria)))
        statuses.append(_STATUS[type(row)])
        scores.append(score)
        of_kind.append(self._kinds.setdefault(kinds, len(self._kinds)))
        of_tag.append(self._tags.setdefault(tag, len(self._tags)))
        places.append(place)
        if len(row.attempts) > 1:
            self._retried.append(place)

    def _add_trial(
        self, task: int, number: int, ended_by: str | None, measurements: Mapping[str, float], place: int
    ) -> None:
        tasks, numbers, endings, places = self._trials
        if measurements:
            names = tuple(measurements)
            codes = self._coded.get(names)
            if codes is None:
                codes = [self._measures.setdefault(name, len(self._measures)) for name in names]
                if len(self._coded) < MOST_CODED:
                    self._coded[names] = codes
            self._measured[0].extend([len(tasks)] * len(codes))
            self._measured[1].extend(codes)
            self._measured[2].extend(measurements.values())
        tasks.append(task)
        numbers.append(number)
        endings.append(self._endings.setdefault(ended_by, len(self._endings)))
        places.append(place)

    def columns(self, before: Mapping[str, npt.NDArray[Any]] = NONE) -> RowColumns:
        """Everything that was added until now, after the columns that stand `before`, by field."""
        verdicts = ("task", "number", "criterion", "status", "score", "kind", "tag", "place")
        trials = ("trial_task", "trial_number", "ended", "trial_place")
        own = dict(zip(verdicts, map(_filled, self._verdicts), strict=True))
        own |= dict(zip(trials, map(_filled, self._trials), strict=True))
        own |= dict(zip(("measured", "measure", "value"), map(_filled, self._measured), strict=True))
        own["retried"] = _filled(self._retried)
        if before:
            own["measured"] = own["measured"] + len(before["trial_task"])
            own = {
                name: _after(before[name], column) if name in before else column
                for name, column in own.items()
            }
        return RowColumns(
            tasks=tuple(self._tasks), criteria=tuple(self._criteria), numbers=tuple(self._numbers),
            endings=tuple(self._endings), kinds=tuple(self._kinds), tags=tuple(self._tags),
            measures=tuple(self._measures), **own,
        )  # fmt: skip


def _after(before: npt.NDArray[Any], column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    import numpy as np

    return np.concatenate((before, column.astype(before.dtype))) if len(column) else before


def _arrays(codes: str) -> tuple[array[Any], ...]:
    return tuple(array(code) for code in codes)


def _filled(column: array[Any]) -> Any:
    import numpy as np

    return np.array(column, dtype=np.dtype(column.typecode))
