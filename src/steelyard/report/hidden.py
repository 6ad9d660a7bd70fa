"""What completion hides: requirements that complete trials broke, because they stand outside the acceptance rule."""

from __future__ import annotations

import msgspec

from steelyard.model.table import CriterionScore, ScoreTable
from steelyard.report.failures import NO_RULES, Rules, detail_is_partial, what_failed, with_evidence
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

    Nothing where the table holds only some tasks: what is counted in them would look like all there is.
    """
    if detail_is_partial(table):
        return ()
    found: dict[tuple[str, str], list[tuple[str, int | None, CriterionScore]]] = {}
    for task in table.tasks:
        for trial in task.trials:
            for criterion in trial.criteria if trial.complete else ():
                if criterion.outcome == "fail":
                    number = trial.trial if len(task.trials) > 1 else None
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


class Ungraded(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts outside the acceptance rule that could not be given, by criterion and reason."""

    criterion: str
    what: str
    times: int
    example: str


def ungraded(table: ScoreTable) -> tuple[Ungraded, ...]:
    """Errors and unknowns of counted trials that no cause of incompletion lists, most often first."""
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
