"""The lines below the headline rows: layers, states, repeats, measurements, graders, notices. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from steelyard.model.table import DimensionScore, KScore, ScoreTable
from steelyard.report.numbers import NOTHING, UNITS, average, measured, percent, plural, quantity, span

MOST_EXCLUDED = 5
MOST_MEASUREMENTS = 20
UNNAMED = "unnamed"
"""The kind under which rows without a grader are counted."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled line of short parts."""

    label: str
    parts: tuple[str, ...]


def task_votes(table: ScoreTable) -> str:
    """What votes in a task average, short enough for a column; declared weights have a line of their own."""
    return table.weights if len(table.weights) <= 16 else "weighted tasks"


def facts(table: ScoreTable) -> Iterator[Fact]:
    """Layers, verdict states, repeats, measurements and whatever else stands below the headline rows."""
    if table.layers:
        yield Fact(label="layers", parts=tuple(_layer(name, score) for name, score in table.layers.items()))
    averages = [score.task_average.ci for score in table.dimensions.values()]
    if any(ci is not None and ci.low is not None for ci in (table.completion.ci, *averages)):
        yield Fact(label="intervals", parts=("95 %, on a scale of 0 to 100 %", "tasks are the sampling unit"))
    states = [f"{table.states.get(name, 0):,} {name}" for name in ("graded", "unknown", "error", "skipped")]
    faults = sum(table.faults.values())
    kinds = ", ".join(f"{name} {count:,}" for name, count in table.faults.items() if count)
    states.append(plural(faults, "fault") + (f" ({kinds}; outside the averages)" if faults else ""))
    yield Fact(label="verdicts", parts=tuple(states))
    yield from _repeats(table, faults)
    for name, measure in list(table.measurements.items())[:MOST_MEASUREMENTS]:
        words = ("mean", "median", "max", "total")
        numbers = ", ".join(f"{word} {measured(name, getattr(measure, word))}" for word in words)
        yield Fact(label=UNITS.get(name, (name,))[0], parts=(f"{numbers} (n {measure.n:,})",))
    if len(table.measurements) > MOST_MEASUREMENTS:
        more = plural(len(table.measurements) - MOST_MEASUREMENTS, "more measurement")
        yield Fact(label="measured", parts=(f"{more} (--json lists them)",))
    if table.composite is not None:
        yield Fact(label="composite", parts=tuple(_composite(table.composite)))
    if table.weights != task_votes(table):
        yield Fact(label="weights", parts=(table.weights,))
    if table.excluded:
        yield Fact(label="left out", parts=tuple(_excluded(table.excluded)))


def _layer(name: str, scored: DimensionScore) -> str:
    if not scored.coverage.tasks:
        return f"{name} not assigned"
    return f"{name} {average(scored.task_average)} (n {scored.task_average.n_verdicts:,})"


def _repeats(table: ScoreTable, faults: int) -> Iterator[Fact]:
    """pass^k, pass@k and the pass rate, where trials repeat or the rate differs from completion."""
    repeated = any(score.n_tasks and k != "1" for k, score in table.pass_hat_k.items())
    if repeated:
        for label, scores in (("pass^k", table.pass_hat_k), ("pass@k", table.pass_at_k)):
            if scores:
                parts = tuple(f"k={k} {_k_score(score)}" for k, score in scores.items())
                yield Fact(label=label, parts=(*parts, *_unweighted(table)))
    rate = table.pass_rate
    if repeated or faults or rate.value != table.completion.low:
        counts = f"{rate.complete:,} of {plural(rate.of, 'trial')} complete, each with one vote"
        shown: tuple[str, ...] = (span(rate.low, rate.high), counts)
        if faults:
            shown += (f"{percent(rate.strict)} if faults count as failures",)
        yield Fact(label="pass rate", parts=shown)


def _unweighted(table: ScoreTable) -> tuple[str, ...]:
    return () if task_votes(table) == "each task votes" else ("each task votes, weights apart",)


def _k_score(scored: KScore) -> str:
    if scored.value is None:
        return f"{NOTHING} ({scored.status.replace('_', ' ')})"
    shown = percent(scored.value) if scored.low is None else span(scored.low, scored.high)
    return f"{shown} (n {scored.n_tasks:,})"


def _composite(composite: Any) -> Iterator[str]:
    if not isinstance(composite, Mapping):
        yield str(composite)
        return
    for name, value in composite.items():
        yield f"{name} {quantity(value) if isinstance(value, int | float) else value}"


def _excluded(excluded: tuple[Any, ...]) -> Iterator[str]:
    yield f"{len(excluded):,} by a declared `when`"
    for entry in excluded[:MOST_EXCLUDED]:
        named = entry if isinstance(entry, Mapping) else {"task": entry}
        task, criterion = named.get("task", "?"), named.get("criterion")
        yield f"{task}/{criterion}" if criterion else str(task)
    if len(excluded) > MOST_EXCLUDED:
        yield "…"


def graders(kinds: Mapping[str, int]) -> tuple[str, ...]:
    """Who gave the verdicts: semantic criteria apart from code, and whether a judge model was used."""
    code = {kind.removeprefix("check:"): n for kind, n in kinds.items() if kind.startswith("check")}
    other = {kind: n for kind, n in kinds.items() if not kind.startswith("check") and kind != UNNAMED}
    parts = []
    if other:
        listed = ", ".join(_words(kind, n, alone=len(other) == 1) for kind, n in other.items())
        judged = any(kind.startswith("judge") for kind in other)
        parts.append(f"semantic criteria: {listed}" + ("" if judged else " (no judge used)"))
    if code:
        parts.append("code checks: " + ", ".join(f"{kind} {n:,}" for kind, n in code.items()))
    if kinds.get(UNNAMED):
        parts.append(f"{plural(kinds[UNNAMED], 'verdict')} with no grader named")
    return tuple(parts)


def _words(kind: str, count: int, *, alone: bool) -> str:
    named = {
        "recorded": ("recorded verdict", "" if alone else " of unnamed origin"),
        "human": ("recorded verdict", " by people"),
        "judge": ("verdict", " of a judge"),
    }
    noun, origin = named.get("human" if kind == "people" else kind, ("verdict", f" by {kind}"))
    return plural(count, noun) + origin


def notices(table: ScoreTable) -> Iterator[str]:
    """Verdicts of a model without a licence first, then the notices of the table."""
    labelling = table.licences.get("machine_labelling")
    if isinstance(labelling, Mapping):
        count, state = labelling.get("verdicts", "some"), labelling.get("state", "uncalibrated")
        yield f"machine_labelling: {count} verdicts by a model, {state}: its agreement with people is not measured"
    for notice in table.notices:
        where = f" ({notice.where})" if notice.where else ""
        yield f"{notice.code}{where}: {notice.detail}" if notice.detail else f"{notice.code}{where}"
