"""Charts of groups: completion by the values of a tag, and the trials of tasks that have several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.model.table import ScoreTable, TaskScore
from steelyard.report.html.charts_parts import Chart, Record, as_chart, over_rows, row_label, share_of, short
from steelyard.report.html.rows import state_of
from steelyard.report.numbers import percent, plural, span
from steelyard.report.plain import clean
from steelyard.report.text import visible

MOST_SLICES = 30
"""Slices of one tag that are drawn: those with most tasks."""
MOST_STRIPS = 30
"""Tasks with several trials that are drawn: those that came out mixed first."""
MOST_TRIALS = 100
"""Trials of one task that are drawn."""


def slice_charts(table: ScoreTable) -> Iterator[Chart]:
    """Completion by the values of each tag; a tag that tells no groups of tasks apart has nothing to say."""
    for number, (tag, groups) in enumerate(table.slices.items()):
        if len(groups) >= 2 and max(group["n_tasks"] for group in groups.values()) >= 2:
            yield _forest(table, tag, groups, number)


def _forest(table: ScoreTable, tag: str, groups: Mapping[str, Any], number: int) -> Chart:
    largest = sorted(groups, key=lambda name: -groups[name]["n_tasks"])[:MOST_SLICES]
    overall = table.completion.low
    records = [
        _slice(name, group["completion"], group["n_tasks"])
        for name, group in groups.items()
        if name in largest
    ]
    layers = [
        {"data": {"values": [{"overall": overall}]}, "mark": {"type": "rule", "strokeDash": [4, 3]},
         "encoding": {"x": share_of("overall"), "y": {"value": 0}, "y2": {"value": "height"}}},
        {"transform": [{"filter": "isValid(datum.ci_low)"}], "mark": {"type": "rule", "strokeWidth": 1.5},
         "encoding": {"x": share_of("ci_low"), "x2": {"field": "ci_high"}}},
        {"transform": [{"filter": "datum.high > datum.low"}],
         "mark": {"type": "rule", "strokeWidth": 7, "opacity": 0.35, "color": "var(--accent)"},
         "encoding": {"x": share_of("low"), "x2": {"field": "high"}}},
        {"mark": {"type": "square", "filled": True, "opacity": 1, "color": "var(--accent)"},
         "encoding": {"x": share_of("low"),
                      "size": {"field": "n", "type": "quantitative", "legend": None,
                               "scale": {"domain": [1, max(r["n"] for r in records)], "range": [50, 220]}}}},
    ]  # fmt: skip
    spec = over_rows(records, 36, layer=layers)
    left = f" The {MOST_SLICES} largest of {len(groups)} are drawn." if len(groups) > MOST_SLICES else ""
    sure = ", the line its 95 % interval" if any(record["ci_low"] is not None for record in records) else ""
    open_end = "; a thick line goes up to what missing verdicts could make of it"
    description = (
        f"A square is the completion of the tasks with this {tag}, larger for more tasks{sure}"
        f"{open_end if any(record['high'] > record['low'] for record in records) else ''}. "
        f"The dashed line is the completion of the run ({percent(overall)}).{left}"
    )
    rows = [[r["name"], r["value"], r["interval"], r["votes"]] for r in records]
    columns = (visible(clean(tag)), "completion", "95 % interval", "over")
    return as_chart(f"chart-slices-{number}", f"Completion by {tag}", description, spec, columns, rows)


def _slice(name: str, scored: Mapping[str, Any], n_tasks: int) -> Record:
    ci = scored.get("ci") or {}
    value = span(scored["low"], scored["high"])
    return {
        "name": name, "label": row_label(name, f"{value} · {plural(n_tasks, 'task')}"), "n": n_tasks,
        "low": scored["low"], "high": scored["high"], "ci_low": ci.get("low"), "ci_high": ci.get("high"),
        "value": value, "interval": span(ci.get("low"), ci.get("high")), "votes": plural(n_tasks, "task"),
    }  # fmt: skip


# --- trials ------------------------------------------------------------------------------------------

STRIP = {
    "complete": ("var(--pass)", "circle"), "not complete": ("var(--fail)", "cross"),
    "open": ("var(--open)", "diamond"), "fault": ("var(--open)", "triangle-up"),
    "nothing recorded": ("var(--open)", "triangle-down"),
}  # fmt: skip


def trial_chart(table: ScoreTable) -> Chart | None:
    """Every trial of the tasks that have several: which tasks come out now so, now so."""
    several = [task for task in table.tasks if len(task.trials) > 1]
    if not several:
        return None
    shown = sorted(several, key=_mixed_first)[:MOST_STRIPS]
    records: list[Record] = [
        {
            "name": task.id,
            "label": f"{short(task.id)} · {_complete_of(task)}",
            "trial": trial.trial,
            "state": state_of(trial),
        }
        for task in shown
        for trial in task.trials[:MOST_TRIALS]
    ]
    seen = [word for word in STRIP if any(record["state"] == word for record in records)]
    domain = {"domain": seen}
    legend = {"orient": "bottom", "columns": 2, "title": None, "symbolSize": 90}
    last = max(record["trial"] for record in records)
    x = {
        "field": "trial", "type": "quantitative", "scale": {"nice": False, "padding": 12, "zero": False},
        "axis": {"title": "trial", "format": "d", "tickMinStep": 1, "tickCount": min(last, 8), "grid": False},
    }  # fmt: skip
    encoding = {
        "x": x,
        "color": {"field": "state", "type": "nominal", "legend": legend,
                  "scale": domain | {"range": [STRIP[word][0] for word in seen]}},
        "shape": {"field": "state", "type": "nominal", "legend": legend,
                  "scale": domain | {"range": [STRIP[word][1] for word in seen]}},
    }  # fmt: skip
    mark = {"type": "point", "filled": True, "size": 90, "opacity": 1}
    spec = over_rows(records, 24, mark=mark, encoding=encoding)
    cut = len(several) > len(shown)
    left = f" {len(shown)} of {len(several):,} tasks are drawn, those with mixed trials first." if cut else ""
    rows = [[task.id, _complete_of(task), *(_ended(task, word) for word in seen)] for task in shown]
    columns = ("task", "complete trials", *seen)
    description = (
        f"A mark is a trial; a row with both circles and crosses is a task that comes out mixed.{left}"
    )
    return as_chart("chart-trials", "Trials of each task", description, spec, columns, rows)


def _mixed_first(task: TaskScore) -> tuple[bool, float]:
    done, of = _counts(task)
    return not 0 < done < of, done / of if of else 0.0


def _counts(task: TaskScore) -> tuple[int, int]:
    counts: Mapping[str, int] = task.completion.get("trials", {})
    return counts.get("complete", 0), counts.get("of", 0)


def _complete_of(task: TaskScore) -> str:
    done, of = _counts(task)
    return f"{done:,} of {plural(of, 'trial')}"


def _ended(task: TaskScore, word: str) -> str:
    return f"{sum(state_of(trial) == word for trial in task.trials):,}"
