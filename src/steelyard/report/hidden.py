"""What completion hides: requirements that complete trials broke, because they stand outside the acceptance rule."""

from __future__ import annotations

import msgspec

from steelyard.model.table import Alike, CriterionScore, ScoreTable
from steelyard.report.failures import (
    NO_RULES,
    Rules,
    group_words,
    numbered,
    repeated,
    what_failed,
    with_evidence,
)
from steelyard.report.numbers import plural

MOST_HIDDEN = 6


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement that complete trials broke: in how many of them, and the first as an example."""

    criterion: str
    what: str
    times: int
    of: int
    task: str
    trial: int | None
    reason: str

    @property
    def count(self) -> str:
        """`7 of 14 complete trials`."""
        return f"{self.times:,} of {plural(self.of, 'complete trial')}"

    @property
    def example(self) -> str:
        """`e.g. TASK#TRIAL: REASON`."""
        where = self.task if self.trial is None else f"{self.task}#{self.trial}"
        return f"e.g. {where}: {self.reason}" if self.reason else f"e.g. {where}"


def hidden(table: ScoreTable, rules: Rules = NO_RULES) -> tuple[Hidden, ...]:
    """The requirements outside acceptance that complete trials failed, most often first.

    Where the table has no detail of some of them, its own counts stand for all.
    """
    if table.left_out is not None:
        return tuple(
            Hidden(
                criterion=group.criterion, what=group_words(group), times=group.times,
                of=table.completion.trials.complete, task=group.task,
                trial=group.trial if repeated(table) else None, reason=with_evidence(group),
            )
            for group in _most(table.complete_but.groups)
        )  # fmt: skip
    found: dict[tuple[str, str], list[tuple[str, int | None, CriterionScore]]] = {}
    for task in table.tasks:
        for trial in task.trials:
            for criterion in trial.criteria if trial.complete else ():
                if criterion.outcome == "fail":
                    number = trial.trial if numbered(task) else None
                    key = (criterion.id, what_failed(task.id, criterion, rules))
                    found.setdefault(key, []).append((task.id, number, criterion))
    lines = [
        Hidden(
            criterion=criterion, what=what, times=len(cases), of=table.completion.trials.complete,
            task=cases[0][0], trial=cases[0][1], reason=with_evidence(cases[0][2]),
        )
        for (criterion, what), cases in found.items()
    ]  # fmt: skip
    return tuple(sorted(lines, key=lambda line: -line.times)[:MOST_HIDDEN])


def _most(groups: tuple[Alike, ...]) -> list[Alike]:
    return sorted(groups, key=lambda group: -group.times)[:MOST_HIDDEN]


class Ungraded(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts outside the acceptance rule that could not be given, by criterion and reason."""

    criterion: str
    what: str
    times: int
    example: str


def ungraded(table: ScoreTable) -> tuple[Ungraded, ...]:
    """Errors and unknowns of counted trials that no cause of incompletion lists, most often first."""
    if table.left_out is not None:
        return tuple(
            Ungraded(
                criterion=group.criterion, what=group.tag or group.outcome, times=group.times,
                example=f"e.g. {group.task}#{group.trial}: {group.reason}",
            )
            for group in _most(table.no_verdict.groups)
        )  # fmt: skip
    found: dict[tuple[str, str], list[tuple[str, int, CriterionScore]]] = {}
    for task in table.tasks:
        for trial in task.trials:
            for entry in trial.criteria if trial.counted and not trial.placeholder else ():
                if entry.outcome in ("error", "unknown") and not (entry.in_acceptance or entry.gate):
                    kind = entry.failure_tag or entry.outcome
                    found.setdefault((entry.id, kind), []).append((task.id, trial.trial, entry))
    lines = [
        Ungraded(
            criterion=criterion, what=kind, times=len(cases),
            example=f"e.g. {cases[0][0]}#{cases[0][1]}: {cases[0][2].reason}",
        )
        for (criterion, kind), cases in found.items()
    ]  # fmt: skip
    return tuple(sorted(lines, key=lambda line: -line.times)[:MOST_HIDDEN])
