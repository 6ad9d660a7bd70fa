"""What a what-if changes: headlines, verdicts and trials of two tables side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from steelyard.model.table import Average, CriterionScore, Moved, ScoreTable, TaskScore, TrialScore
from steelyard.report.facts import task_votes
from steelyard.report.failures import numbered
from steelyard.report.numbers import MINUS, NOTHING, average, points, quantity, span

MOST = 12


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A headline: `old`, `new` and `difference` (percentage points, or a word) as text."""

    label: str
    votes: str
    old: str
    new: str
    difference: str

    @property
    def changed(self) -> bool:
        """The two texts differ, or the numbers behind them do."""
        return self.old != self.new or self.difference not in ("", "no change", NOTHING)


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Every headline, and the first verdicts and trials that differ, in words."""

    headlines: tuple[Change, ...]
    verdicts: tuple[str, ...]
    trials: tuple[str, ...]
    more_verdicts: int = 0
    more_trials: int = 0


def changes(before: ScoreTable, after: ScoreTable) -> Changes:
    """`before` against `after`, which holds the same tasks; where `after` says what moved, its counts stand."""
    verdicts: list[str] = []
    trials: list[str] = []
    old_tasks = {task.id: task for task in before.tasks}
    for task in after.tasks:
        if task.id in old_tasks:
            verdicts += _verdicts(old_tasks[task.id], task)
            trials += _trials(old_tasks[task.id], task)
    moved = after.moved or Moved(verdicts=len(verdicts), trials=len(trials))
    return Changes(
        headlines=tuple(_headlines(before, after)),
        verdicts=tuple(verdicts[:MOST]),
        trials=tuple(trials[:MOST]),
        more_verdicts=max(0, moved.verdicts - len(verdicts[:MOST])),
        more_trials=max(0, moved.trials - len(trials[:MOST])),
    )


def _headlines(before: ScoreTable, after: ScoreTable) -> Iterator[Change]:
    yield Change(label="decision", votes="", old=before.decision, new=after.decision, difference="")
    one, other = before.completion, after.completion
    bar = after.bar.bar if after.primary == "completion" else None
    yield Change(
        label="completion",
        votes=task_votes(after),
        old=span(one.low, one.high, bar),
        new=span(other.low, other.high, bar),
        difference=_moved((one.low, one.high), (other.low, other.high)),
    )
    for name, new in after.dimensions.items():
        old = before.dimensions.get(name)
        if old is None:
            continue
        yield Change(
            label=name,
            votes=task_votes(after),
            old=average(old.task_average),
            new=average(new.task_average),
            difference=_moved(_bounds(old.task_average), _bounds(new.task_average)),
        )
        yield Change(
            label="",
            votes="each check votes",
            old=average(old.pooled),
            new=average(new.pooled),
            difference=_moved(_bounds(old.pooled), _bounds(new.pooled)),
        )
        if old.gate or new.gate:
            yield _violations(old.gate_violations, new.gate_violations)
    rate, rated = before.pass_rate, after.pass_rate
    if (rate.low, rate.high) != (one.low, one.high) or (rated.low, rated.high) != (other.low, other.high):
        yield Change(
            label="pass rate", votes="each trial votes", old=span(rate.low, rate.high), new=span(rated.low, rated.high),
            difference=_moved((rate.low, rate.high), (rated.low, rated.high)),
        )  # fmt: skip


Bounds = tuple[float | None, float | None]


def _bounds(scored: Average) -> Bounds:
    return (scored.low, scored.high)


def _moved(old: Bounds, new: Bounds) -> str:
    """The difference of the headline, which is the low end; of the high end where only that moves."""
    low, high = points(old[0], new[0]), points(old[1], new[1])
    return f"high {high}" if low == "no change" and high not in ("no change", NOTHING) else low


def _violations(old: int, new: int) -> Change:
    difference = "no change" if old == new else f"{new - old:+,}".replace("-", MINUS)
    return Change(label="", votes="gate violations", old=f"{old:,}", new=f"{new:,}", difference=difference)


def _verdicts(old: TaskScore, new: TaskScore) -> Iterator[str]:
    def state(entry: CriterionScore) -> tuple[object, ...]:
        return (entry.outcome, entry.score, entry.gate)

    before = {(trial.trial, entry.id): entry for trial in old.trials for entry in trial.criteria}
    for trial in new.trials:
        mark = f"#{trial.trial}" if numbered(new) else ""
        for entry in trial.criteria:
            was = before.get((trial.trial, entry.id))
            if was is not None and state(was) != state(entry):
                yield f"{new.id}{mark}/{entry.id}: {_state(was)} → {_state(entry)}"


def _state(entry: CriterionScore) -> str:
    score = f" ({quantity(entry.score)})" if entry.score is not None and entry.score not in (0, 1) else ""
    return f"{entry.outcome}{score}{' gate' if entry.gate else ''}"


def _trials(old: TaskScore, new: TaskScore) -> Iterator[str]:
    before = {trial.trial: trial for trial in old.trials}
    for trial in new.trials:
        was = before.get(trial.trial)
        if was is not None and _ending(was) != _ending(trial):
            mark = f"#{trial.trial}" if numbered(new) else ""
            yield f"{new.id}{mark}: {_ending(was)} → {_ending(trial)}"


def _ending(trial: TrialScore) -> str:
    if trial.complete:
        return "complete"
    return "open" if trial.possibly_complete else "not complete"
