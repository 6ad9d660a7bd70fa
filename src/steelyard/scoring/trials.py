"""Which trials there are: those that any row names, planned ones that are missing, and stand-ins for only faults."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from steelyard.model.table import ScoreNotice
from steelyard.model.trace import FAULTS
from steelyard.scoring.columns import MOST_NAMED, Placed, different, repeated
from steelyard.scoring.plan import Bools, Ints, Plan

CONFLICT = "conflict"
"""`ended_by` of a trial whose rows contradict each other: complete in no reading, possibly in another."""
NO_END = -1
MOST_WITHOUT = 3
"""Tasks with missing trials up to which each has a notice of its own."""


class Trials(msgspec.Struct, kw_only=True):
    """Trials by task and number. `number` is a place in `numbers`, `ended` one in `endings` (-1: not said).

    `row` is the entry of the trial's row in the columns that were read (-1: none, or several that differ). `trial_of`
    gives the trial of each verdict that fits the plan. `duplicates` counts trial rows that repeat another exactly.
    """

    plan: Plan
    numbers: Sequence[int]
    endings: Sequence[str]
    task: Ints
    number: Ints
    ended: Ints
    counted: Bools
    placeholder: Bools
    stand_in: Bools
    row: Ints
    trial_of: Ints
    duplicates: int
    notices: list[ScoreNotice]


class _Seen(msgspec.Struct, kw_only=True):
    """The trials that rows name, by key (task and number in one), with what their own rows say."""

    keys: Ints
    ended: Ints
    row: Ints
    endings: list[str]
    duplicates: int
    notices: list[ScoreNotice]


def lay_out(plan: Plan, placed: Placed) -> Trials:
    """Find all trials of a plan."""
    width = max(1, len(placed.numbers))
    verdict_keys = placed.task * width + placed.number
    trial_keys = placed.trial_task * width + placed.trial_number
    seen = _seen(plan, placed, width, verdict_keys, trial_keys)
    task, rank = seen.keys // width, seen.keys % width
    fault = np.array([ending in FAULTS for ending in seen.endings] + [False], dtype=np.bool_)
    counted = ~fault[seen.ended]
    extra, notices = _extra(plan, placed, task, rank, counted)
    trial_of = np.searchsorted(seen.keys, verdict_keys)
    columns = [
        task,
        rank,
        seen.ended,
        counted,
        np.zeros(len(task), bool),
        np.zeros(len(task), bool),
        seen.row,
    ]
    numbers = placed.numbers
    if extra:
        columns, numbers, moved = _with_extra(columns, numbers, extra)
        trial_of = moved[trial_of]
    return Trials(
        plan=plan, numbers=numbers, endings=seen.endings, task=columns[0], number=columns[1], ended=columns[2],
        counted=columns[3], placeholder=columns[4], stand_in=columns[5], row=columns[6], trial_of=trial_of,
        duplicates=seen.duplicates, notices=[*notices, *seen.notices],
    )  # fmt: skip


def _distinct(keys: Ints) -> Ints:
    """The different keys, sorted. Rows of one trial mostly follow each other, so runs are taken together first."""
    for _ in range(2):
        keys = keys[np.concatenate(([True], keys[1:] != keys[:-1]))] if len(keys) else keys
        keys = np.sort(keys)
    return keys


def _seen(plan: Plan, placed: Placed, width: int, verdict_keys: Ints, trial_keys: Ints) -> _Seen:
    read = placed.read
    keys = _distinct(np.concatenate((_distinct(verdict_keys), _distinct(trial_keys))))
    known = sorted(ending for ending in set(read.endings) if ending is not None)
    endings = [*known, CONFLICT] if CONFLICT not in known else known
    codes = {ending: code for code, ending in enumerate(endings)}
    code = np.array([NO_END if each is None else codes[each] for each in read.endings], dtype=np.int64)
    where = np.searchsorted(keys, trial_keys)
    ended, row = np.full(len(keys), NO_END, dtype=np.int64), np.full(len(keys), -1, dtype=np.int64)
    twice = repeated(where, len(keys))
    single = placed.keep_trials[~twice]
    row[where[~twice]] = single
    ended[where[~twice]] = code[read.ended[single]] if len(single) else NO_END
    found = _Seen(keys=keys, ended=ended, row=row, endings=endings, duplicates=0, notices=[])
    if twice.any():
        entries = placed.keep_trials[twice]
        _repeated_trials(plan, placed, found, where[twice], entries, width)
    return found


def _repeated_trials(
    plan: Plan, placed: Placed, found: _Seen, where: Ints, entries: Ints, width: int
) -> None:
    """Equal rows of a trial count once; of different ones no measurement counts, nor an end they disagree on."""
    read = placed.read
    by_trial = different(placed.source, where, read.trial_place[entries])
    entry_at = dict(zip(read.trial_place[entries].tolist(), entries.tolist(), strict=True))
    found.duplicates = len(entries) - sum(map(len, by_trial.values()))
    codes = {ending: code for code, ending in enumerate(found.endings)}
    told = 0
    for trial in sorted(by_trial):
        held = [entry_at[place] for place in by_trial[trial]]
        ends = {read.endings[read.ended[entry]] for entry in held}
        end = next(iter(ends)) if len(ends) == 1 else CONFLICT
        found.ended[trial] = NO_END if end is None else codes[end]
        if len(held) == 1:
            found.row[trial] = held[0]
        elif told < MOST_NAMED:
            told += 1
            task, number = divmod(int(found.keys[trial]), width)
            found.notices.append(_conflict(plan.tasks[task].task.id, placed.numbers[number], end == CONFLICT))


def _conflict(task: str, number: int, open_end: bool) -> ScoreNotice:
    where = f"{task}#{number}"
    what = "how it ended is open until one is removed" if open_end else "its measurements are left out"
    detail = f"different trial rows for {where}; {what}"
    return ScoreNotice(code="conflicting_trial_rows", detail=detail, where=where)


_Extra = tuple[int, int, bool]
"""Task, number, and whether it is a stand-in."""


def _extra(
    plan: Plan, placed: Placed, task: Ints, rank: Ints, counted: Bools
) -> tuple[list[_Extra], list[ScoreNotice]]:
    """Placeholders for planned trials that are missing, and stand-ins where every trial was a fault."""
    extra: list[_Extra] = []
    notices: list[ScoreNotice] = []
    without: list[ScoreNotice] = []
    n = len(plan.tasks)
    bounds = np.searchsorted(task, np.arange(n + 1))
    has = np.diff(bounds) > 0
    any_counted = np.bincount(task, weights=counted, minlength=n) > 0
    planned = np.array([entry.task.trials is not None for entry in plan.tasks], dtype=np.bool_)
    for index in np.flatnonzero(planned | ~has | ~any_counted).tolist():
        entry = plan.tasks[index]
        numbers = [placed.numbers[place] for place in rank[bounds[index] : bounds[index + 1]].tolist()]
        missing = missing_numbers(numbers, entry.task.trials)
        if missing:
            without.append(missing_notice(entry.task.id, missing, bool(numbers)))
            extra.extend((index, number, False) for number in missing)
        elif not any_counted[index]:
            detail = f"task {entry.task.id!r}: every trial ended by a fault; one empty trial holds its votes"
            notices.append(ScoreNotice(code="only_faults", detail=detail, where=entry.task.id))
            extra.append((index, max(numbers, default=0) + 1, True))
    if len(without) > MOST_WITHOUT:
        without = [missing_in_many(sum(not stand_in for *_, stand_in in extra), without)]
    return extra, [*without, *notices]


def missing_trials(trials: Trials) -> int:
    """How many planned trials nothing is recorded of; an empty trial beside faults is no such trial."""
    return int((trials.placeholder & ~trials.stand_in).sum())


def missing_in_many(missing: int, by_task: Sequence[ScoreNotice]) -> ScoreNotice:
    """One counted sentence in the place of one for each task."""
    first = by_task[0].where
    detail = (
        f"nothing is recorded of {missing:,} planned trials, in {len(by_task):,} tasks (first: {first!r}); "
        "their criteria are errors"
    )
    return ScoreNotice(code="missing_trials", detail=detail)


def missing_notice(task: str, missing: Sequence[int], some: bool) -> ScoreNotice:
    """Says which planned trials nothing is recorded of."""
    reason = "planned trials without any record" if some else "nothing is recorded for this task"
    named = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
    detail = f"task {task!r}: {reason} (trial {named}); their criteria are errors"
    return ScoreNotice(code="missing_trials", detail=detail, where=task)


def missing_numbers(seen: Sequence[int], planned: int | None) -> list[int]:
    """Planned trials are numbered from 1, or from 0 where a trial 0 was seen; with no plan, one where none was seen."""
    if planned is None:
        return [] if seen else [1]
    known = set(seen)
    first = 0 if 0 in known else 1
    return [number for number in range(first, first + planned) if number not in known]


def _with_extra(
    columns: Sequence[Ints], numbers: Sequence[int], extra: Sequence[_Extra]
) -> tuple[list[Ints], list[int], Ints]:
    """All columns with the extra trials sorted in, all numbers, and where each trial moved to."""
    every = sorted({*numbers, *(number for _, number, _ in extra)})
    rank = {number: place for place, number in enumerate(every)}
    task, place = columns[0], np.array([rank[number] for number in numbers], dtype=np.int64)[columns[1]]
    more = len(extra)
    added = [
        np.array([each[0] for each in extra], dtype=np.int64),
        np.array([rank[each[1]] for each in extra], dtype=np.int64),
        np.full(more, NO_END, dtype=np.int64),
        np.ones(more, dtype=np.bool_),
        np.ones(more, dtype=np.bool_),
        np.array([each[2] for each in extra], dtype=np.bool_),
        np.full(more, -1, dtype=np.int64),
    ]
    joined = [np.concatenate(pair) for pair in zip([task, place, *columns[2:]], added, strict=True)]
    order = np.lexsort((joined[1], joined[0]))
    moved = np.empty(len(order), dtype=np.int64)
    moved[order] = np.arange(len(order))
    return [column[order] for column in joined], every, moved[: len(task)]
