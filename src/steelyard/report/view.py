"""The view model: a score table as rows and sentences, pure. Renderers lay it out and compute nothing."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from steelyard.model.table import Average, Ci, DimensionScore, ScoreTable
from steelyard.report.facts import Fact, facts, graders, notices, task_votes
from steelyard.report.failures import NO_RULES, Failures, Rules, failures
from steelyard.report.hidden import Hidden, Ungraded, hidden, ungraded
from steelyard.report.numbers import average, interval_words, percent, plural, span

__all__ = ["Board", "Fact", "Interval", "Row", "because", "board", "percent"]

COMPLETION = "completion"
LONGEST_NAME = 40


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """An interval to draw on a scale of 0..1, or the words that stand in its place.

    `points` holds the value, or the low and the high value where verdicts are missing.
    """

    text: str
    short: str = ""
    """Fewer words, for where there is no room; empty when there are none."""
    low: float | None = None
    high: float | None = None
    points: tuple[float, ...] = ()


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One number with what it rests on. `label` is empty on the second row of a dimension.

    `extra` are sentences for lines below, each with the outcome word that marks it (or an empty one).
    """

    label: str
    value: str
    votes: str
    interval: Interval | None = None
    tails: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    primary: bool = False


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a scoreboard says, in reading order."""

    title: str
    counts: tuple[str, ...]
    decision: str
    because: str
    rows: tuple[Row, ...]
    facts: tuple[Fact, ...]
    failures: Failures
    hidden: tuple[Hidden, ...]
    ungraded: tuple[Ungraded, ...]
    graders: tuple[str, ...]
    notices: tuple[str, ...]
    whatif: tuple[str, ...]


def board(table: ScoreTable, rules: Rules = NO_RULES) -> Board:
    """The view of a table. `rules` maps (task id, criterion id) to rule texts, shown for want of a failure tag."""
    return Board(
        title=" ".join(part for part in (table.suite.name, table.suite.version) if part),
        counts=_counts(table),
        decision=table.decision,
        because=because(table),
        rows=(_completion_row(table), *_dimension_rows(table)),
        facts=tuple(facts(table)),
        failures=failures(table, rules),
        hidden=hidden(table, rules),
        ungraded=ungraded(table),
        graders=graders(table.graders),
        notices=tuple(notices(table)),
        whatif=table.whatif,
    )


def _counts(table: ScoreTable) -> tuple[str, ...]:
    trials = table.completion.trials.of + sum(table.faults.values())
    selected = [notice.detail for notice in table.notices if notice.code == "selection"]
    parts = [plural(table.completion.tasks.of, "task"), plural(trials, "trial")]
    if table.missing_trials:
        parts[1] += f" planned, {trials - table.missing_trials:,} recorded"
    if table.suite.hash:
        parts.append(f"standard {table.suite.hash.removeprefix('sha256:')[:4]}…")
    return (*parts, *selected)


# --- why the decision is what it is ----------------------------------------------------------------


def because(table: ScoreTable) -> str:
    """The decision in one sentence: gates first, then the primary metric against its bar."""
    if table.exit_code == 4:
        return "nothing was evaluated: no verdict belongs to a task of this suite"
    metric = _name(table.primary.removeprefix("dimension:"))
    bar, shown = table.bar, percent(table.bar.bar, digits=0)
    stated = shown if bar.declared else f"{shown}, none declared"
    gates = [_violation(name, score) for name, score in table.dimensions.items() if score.gate_violations]
    if table.decision == "PASS":
        passed = ", and every gate passed" if any(score.gate for score in table.dimensions.values()) else ""
        return f"{metric} {percent(bar.low, bar.bar)} reaches its bar ({stated}){passed}"
    if table.decision == "FAIL":
        if bar.high < bar.bar:
            most = "at most " if bar.low != bar.high else ""
            gates.append(f"{metric} is {most}{percent(bar.high, bar.bar)} (bar {stated})")
        return ", and ".join(gates) or f"{metric} does not reach its bar ({stated})"
    return (
        ", and ".join(_open_parts(table, metric, stated))
        or _lost(table)
        or "missing verdicts could still decide"
    )


def _lost(table: ScoreTable) -> str:
    return next(
        (notice.detail for notice in table.notices if notice.code in ("lost_records", "unfinished_run")), ""
    )


def _open_parts(table: ScoreTable, metric: str, stated: str) -> Iterator[str]:
    bar = table.bar
    if bar.low < bar.bar:
        yield f"{metric} is between {span(bar.low, bar.high, bar.bar)} (bar {stated})"
    undecided = sum(scored.open_gates for scored in table.dimensions.values())
    if undecided:
        yield f"{plural(undecided, 'gate verdict')} {'is' if undecided == 1 else 'are'} missing"


def _name(name: str) -> str:
    """A name short enough to stand in a sentence."""
    return (
        name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME // 2]}…{name[-LONGEST_NAME // 2 + 1 :]}"
    )


def _violation(name: str, score: DimensionScore) -> str:
    return f"{score.gate_violations} of {plural(score.gate_trials, 'execution')} violated {_name(name)}"


# --- the numbers -----------------------------------------------------------------------------------


def _bar(table: ScoreTable, metric: str) -> float | None:
    return table.bar.bar if table.primary == metric else None


def _primary_tail(table: ScoreTable, metric: str) -> tuple[str, ...]:
    if table.primary != metric:
        return ()
    return (f"primary, bar {percent(table.bar.bar, digits=0)}",) if table.bar.declared else ("primary",)


def _completion_row(table: ScoreTable) -> Row:
    scored = table.completion
    tasks, trials = scored.tasks, scored.trials
    plain = f"{tasks.always_complete:,} of {plural(tasks.of, 'task')}"
    voters = task_votes(table)
    once = trials.of == tasks.of
    single = once and voters == "each task votes" and scored.low == scored.high
    counts = f"complete: {plain}"
    if not once:
        counts = f"complete: {trials.complete:,} of {plural(trials.of, 'trial')}, {plain} complete in all of theirs"
    extra = () if single else (("", counts),)
    return Row(
        label=COMPLETION,
        value=span(scored.low, scored.high, _bar(table, COMPLETION)),
        votes=plain if single else voters,
        interval=interval(scored.ci, (scored.low, scored.high), _bar(table, COMPLETION)),
        tails=_primary_tail(table, COMPLETION),
        extra=extra,
        primary=table.primary == COMPLETION,
    )


def interval(
    ci: Ci | None, points: tuple[float | None, float | None], bar: float | None = None
) -> Interval | None:
    """An interval with its text, or with the words for why there is none."""
    words = interval_words(ci)
    if ci is None or words or ci.low is None or ci.high is None:
        return Interval(text=words, short=words.removesuffix(" for an interval")) if words else None
    few = f", n {ci.n}: few" if ci.status == "too_few" and "wilson" not in ci.method else ""
    text = span(ci.low, ci.high, bar, digits=0) + few
    known = tuple(sorted({point for point in points if point is not None}))
    return Interval(text=text, low=ci.low, high=ci.high, points=known)


def _dimension_rows(table: ScoreTable) -> Iterator[Row]:
    for name, scored in table.dimensions.items():
        metric = f"dimension:{name}"
        bar = _bar(table, metric)
        tasks, pooled = scored.task_average, scored.pooled
        coverage = f"{scored.coverage.tasks:,} of {plural(scored.coverage.of, 'task')}"
        yield Row(
            label=name,
            value=average(tasks, bar),
            votes=task_votes(table),
            interval=interval(tasks.ci, (tasks.low, tasks.high), bar),
            tails=(coverage, *_primary_tail(table, metric)),
            primary=table.primary == metric,
        )
        yield Row(
            label="",
            value=average(pooled, bar),
            votes=f"each check votes, {_pooled_count(pooled, scored.pooled_voters)} (pooled)",
            extra=(*_missing(pooled), *_gate_lines(name, scored)),
        )


def _pooled_count(pooled: Average, voters: int) -> str:
    met = (pooled.low or 0.0) * voters
    if not voters or pooled.low is None or abs(met - round(met)) > 1e-6:
        return plural(voters or pooled.assigned, "check")
    return f"{round(met):,} of {voters:,}"


def _missing(scored: Average) -> Iterator[tuple[str, str]]:
    """Verdicts that are not there, with the mean over those that are."""
    without = scored.assigned - scored.n_verdicts
    if without <= 0:
        return
    count = f"{without:,} of {scored.assigned:,} not graded"
    if scored.graded_mean is None:
        yield "unknown", f"{count}: nothing to average"
    else:
        yield "unknown", f"{count}; mean of the {scored.n_verdicts:,} graded: {percent(scored.graded_mean)}"


def _gate_lines(name: str, scored: DimensionScore) -> Iterator[tuple[str, str]]:
    if not scored.gate:
        return
    undecided = scored.open_gates
    if scored.gate_violations:
        yield "fail", f"gate: {scored.gate_violations} ✗  {_violation(name, scored)}"
    if undecided:
        yield (
            "unknown",
            f"gate: {undecided} ?  of {plural(scored.gate_trials, 'execution')} not decided",
        )
    if not scored.gate_violations and not undecided:
        yield "pass", f"gate: ✓  no violation in {plural(scored.gate_trials, 'execution')}"
