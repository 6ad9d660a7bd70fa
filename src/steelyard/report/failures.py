"""Why trials are not complete: one line a cause, grouped when there are many."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

import msgspec

from steelyard.model.table import Alike, CriterionScore, ScoreTable, TaskScore, TrialScore
from steelyard.report.numbers import plural

Rules = Mapping[tuple[str, str], str]
NO_RULES: Rules = {}
MOST_LINES = 12
_RECORD = re.compile(r"e[0-9]+(?![0-9A-Za-z])")
_TRIALS = {
    "only_faults": ("only faulted trials", "every trial ended by a fault"),
    "nothing_recorded": ("nothing recorded", "no trace and no verdict of this trial"),
}
WORDS = {"fail": "failed", "unknown": "unknown", "error": "without a verdict", "skipped": "undecided skip"}


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One cause. `outcome` fail, unknown, error or skipped; `what` its failure tag, else its rule.

    `times` counts the causes that this line stands for; the reason is then that of the first.
    """

    outcome: str
    task: str
    criterion: str
    what: str
    reason: str
    gate: bool = False
    trial: int | None = None
    """Null where the task has one trial only, and for lines that stand for several."""
    times: int = 1
    tasks: int = 1
    verdict: tuple[str, int, str] | None = None
    """Task, trial and criterion of the first verdict that the line stands for; null for a line about trials."""


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """`shown` of `total` causes; `rest` counts those that are not; `footnotes` say what has no line on purpose."""

    shown: tuple[Failure, ...]
    total: int
    rest: str
    footnotes: tuple[str, ...]
    none: str
    """What to say where nothing is shown."""


def failures(table: ScoreTable, rules: Rules = NO_RULES, most: int = MOST_LINES) -> Failures:
    """Every criterion that keeps a counted trial from completion, and every gate that is not a pass.

    Where the table has no detail of some of them, its own counts stand for all.
    """
    if table.left_out is not None:
        return _counted(table, most)
    trials = ((task, trial) for task in table.tasks for trial in task.trials)
    found = [cause for task, trial in trials for cause in _of_trial(task, trial, rules)]
    lines = found
    for key in (_same_criterion, _same_kind):
        if len(lines) > most:
            lines = _grouped(found, key)
    cut = lines if len(lines) <= most else lines[: most - 1]
    rest = lines[len(cut) :]
    return Failures(
        shown=tuple(cut),
        total=sum(cause.times for cause in found),
        rest=_rest(len(rest), _by_outcome(rest)),
        footnotes=tuple(_footnotes(table)),
        none=_none(table),
    )


def _counted(table: ScoreTable, most: int) -> Failures:
    groups, causes = table.causes.groups, table.causes
    cut = groups if len(groups) <= most and not causes.more else groups[: most - 1]
    rest = {**causes.rest}
    for group in groups[len(cut) :]:
        rest[group.outcome] = rest.get(group.outcome, 0) + group.times
    return Failures(
        shown=tuple(_of_group(group, repeated(table)) for group in cut),
        total=causes.total,
        rest=_rest(len(groups) - len(cut) + causes.more, rest),
        footnotes=tuple(_footnotes(table)),
        none=_none(table),
    )


def repeated(table: ScoreTable) -> bool:
    """Whether some task has several trials, so that one is named by its number."""
    return table.completion.trials.of + sum(table.faults.values()) > table.completion.tasks.of


def _of_group(group: Alike, numbered: bool) -> Failure:
    what, reason = group_words(group), with_evidence(group)
    if not group.criterion:
        what, reason = _TRIALS.get(
            group.tag or "", (what, "the task's acceptance rule does not take this end")
        )
    return Failure(
        outcome=group.outcome, task=group.task, criterion=group.criterion, what=what, reason=reason, gate=group.gate,
        trial=group.trial if group.times == 1 and numbered else None, times=group.times, tasks=group.tasks,
        verdict=(group.task, group.trial, group.criterion) if group.criterion else None,
    )  # fmt: skip


def group_words(group: Alike) -> str:
    """The failure tag of verdicts that came out alike, else their rule; the kind of error where there is no verdict."""
    if group.outcome == "fail":
        return group.tag or group.rule or f"{group.dimension} not met"
    if group.outcome == "error" and group.tag:
        return f"error {group.tag}"
    return WORDS.get(group.outcome, group.outcome)


def detail_is_partial(table: ScoreTable) -> bool:
    """A large run's table holds only the first trials that are not complete."""
    return table.left_out is not None or len(table.tasks) < table.completion.tasks.of


def numbered(task: TaskScore) -> bool:
    """Whether the task has several trials, so that one of them is named by its number."""
    trials = task.completion.get("trials")
    return len(task.trials) > 1 or (isinstance(trials, Mapping) and trials.get("of", 0) > 1)


def _none(table: ScoreTable) -> str:
    trials = table.completion.trials
    if not trials.of:
        return "no trial was counted"
    return "every counted trial is complete" if trials.complete == trials.of else "no cause is listed"


def _unlisted(table: ScoreTable) -> int:
    if not detail_is_partial(table):
        return 0
    if table.left_out is not None:
        return table.left_out.incomplete_tasks
    counts = table.completion.tasks
    listed = sum(not all(trial.complete for trial in task.trials if trial.counted) for task in table.tasks)
    return max(0, counts.of - counts.always_complete - listed)


def _of_trial(task: TaskScore, trial: TrialScore, rules: Rules) -> Iterator[Failure]:
    number = trial.trial if numbered(task) else None
    if trial.placeholder:
        recorded = [other for other in task.trials if not other.placeholder]
        none_counts = not any(other.counted for other in recorded)
        faults = sorted({other.ended_by or "a fault" for other in recorded if none_counts})
        what, reason = _TRIALS["only_faults" if faults else "nothing_recorded"]
        if faults:
            number, reason = None, f"every recorded trial ended by {' or '.join(faults)}"
        gate = any(criterion.gate for criterion in trial.criteria)
        yield Failure(
            outcome="error", task=task.id, criterion="", what=what, reason=reason, trial=number, gate=gate
        )
        return
    if not trial.counted:
        return
    causes = [criterion for criterion in trial.criteria if _blocks(criterion, trial)]
    decided = any(cause.outcome == "fail" or cause.cause == "fail" for cause in causes)
    if not trial.complete and not trial.possibly_complete and not decided and not _skipped_by_fail(trial):
        yield Failure(
            outcome="fail", task=task.id, criterion="", what=f"ended by {trial.ended_by or 'not said'}",
            reason="the task's acceptance rule does not take this end", trial=number,
        )  # fmt: skip
    yield from _one_reason(task.id, trial.trial, number is not None, causes, rules)


def _blocks(criterion: CriterionScore, trial: TrialScore) -> bool:
    if criterion.outcome in ("pass", "report"):
        return False
    if criterion.gate:
        return True
    by_a_fail = criterion.outcome == "skipped" and criterion.cause == "fail"
    return criterion.in_acceptance and not trial.complete and not by_a_fail


def _skipped_by_fail(trial: TrialScore) -> bool:
    return any(entry.in_acceptance and entry.cause == "fail" for entry in trial.criteria)


def _one_reason(
    task: str, trial: int, shown: bool, causes: Iterable[CriterionScore], rules: Rules
) -> Iterator[Failure]:
    """A line a criterion; neighbours without a verdict for the same reason share one."""

    def same(criterion: CriterionScore) -> tuple[str, ...]:
        missing = criterion.outcome == "error"
        return (
            (criterion.outcome, criterion.reason, criterion.failure_tag or "")
            if missing
            else ("", criterion.id)
        )

    for _, run in groupby(causes, same):
        members = list(run)
        first = members[0]
        yield Failure(
            outcome=first.outcome,
            task=task,
            criterion=first.id if len(members) == 1 else f"{first.id} +{len(members) - 1}",
            what=what_failed(task, first, rules),
            reason=with_evidence(first),
            gate=any(member.gate for member in members),
            trial=trial if shown else None,
            times=len(members),
            verdict=(task, trial, first.id),
        )


def what_failed(task: str, criterion: CriterionScore, rules: Rules) -> str:
    """Its failure tag, else its rule; the kind of error where there is no verdict."""
    if criterion.outcome == "fail":
        return criterion.failure_tag or rules.get((task, criterion.id)) or f"{criterion.dimension} not met"
    if criterion.outcome == "error" and criterion.failure_tag:
        return f"error {criterion.failure_tag}"
    return WORDS.get(criterion.outcome, criterion.outcome)


def with_evidence(criterion: CriterionScore | Alike) -> str:
    """The reason, led by its first evidence reference (a record, `e3`, before a step) unless it names that itself."""
    refs = sorted(criterion.evidence_refs, key=lambda ref: not _RECORD.match(ref))
    if not refs or refs[0] in criterion.reason:
        return criterion.reason
    more = f" (+{len(refs) - 1})" if len(refs) > 1 else ""
    return f"{refs[0]}{more}: {criterion.reason}" if criterion.reason else f"{refs[0]}{more}"


def _same_criterion(cause: Failure) -> tuple[object, ...]:
    return (cause.task, cause.criterion, cause.outcome, cause.what, cause.gate)


def _same_kind(cause: Failure) -> tuple[object, ...]:
    return (cause.criterion, cause.outcome, cause.what, cause.gate)


def _grouped(causes: list[Failure], key: Callable[[Failure], tuple[object, ...]]) -> list[Failure]:
    """Causes of one key as one line, gates first, then by how many they are."""
    groups: dict[tuple[object, ...], list[Failure]] = {}
    for cause in causes:
        groups.setdefault(key(cause), []).append(cause)
    lines = [_together(members) for members in groups.values()]
    return sorted(lines, key=lambda line: (not line.gate, -line.times))


def _together(members: list[Failure]) -> Failure:
    if len(members) == 1:
        return members[0]
    return msgspec.structs.replace(
        members[0],
        trial=None,
        times=sum(member.times for member in members),
        tasks=len({member.task for member in members}),
    )


def _by_outcome(lines: list[Failure]) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in lines:
        found[line.outcome] = found.get(line.outcome, 0) + line.times
    return found


def _rest(lines: int, by_outcome: Mapping[str, int]) -> str:
    if not lines:
        return ""
    counts = ", ".join(f"{count:,} {WORDS.get(outcome, outcome)}" for outcome, count in by_outcome.items())
    return f"{plural(lines, 'more line')}: {counts}"


def _footnotes(table: ScoreTable) -> Iterator[str]:
    unlisted = _unlisted(table)
    trials = table.left_out.incomplete_trials if table.left_out else 0
    if trials and repeated(table):
        yield f"{plural(trials, 'more trial')} not complete, without detail here (--full has it)"
    elif unlisted:
        yield f"{plural(unlisted, 'more task')} not complete, without detail here (--full has it)"
    by_fail, outside = (
        _beside(table) if table.left_out is None else (table.skipped_by_fail, table.failed_outside)
    )
    if by_fail:
        yield f"{by_fail:,} skipped, since a criterion that they need failed"
    if outside:
        listed = ", ".join(f"{name} {count:,}" for name, count in outside.items())
        yield f"{sum(outside.values()):,} failed outside the acceptance rule: {listed}"


def _beside(table: ScoreTable) -> tuple[int, Mapping[str, int]]:
    """Skips by a fail, and by dimension the fails outside the acceptance rule, of a table with all detail."""
    outside: dict[str, int] = {}
    by_fail = 0
    for task in table.tasks:
        for trial in task.trials:
            for criterion in trial.criteria if trial.counted else ():
                by_fail += criterion.outcome == "skipped" and criterion.cause == "fail"
                if criterion.outcome == "fail" and not criterion.gate and not criterion.in_acceptance:
                    outside[criterion.dimension] = outside.get(criterion.dimension, 0) + 1
    return by_fail, outside
