"""Charts of a page as Vega-Lite specifications with their data: only those that answer a question in this run.

Colours are the page's own variables, so that light, dark and print need no second drawing. Every chart comes with the
same numbers as rows of text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from steelyard.model.table import Average, Ci, Completion, ScoreTable
from steelyard.report.html.charts_groups import slice_charts, trial_chart
from steelyard.report.html.charts_parts import Chart, Record, as_chart, over_rows, row_label, share_of
from steelyard.report.html.marks import MARKS, WORDS
from steelyard.report.numbers import interval_words, percent, plural, span

LEAST_LABELLED = 0.08
"""A part of a bar at least this wide holds its count."""

_IMPORT = re.compile(r"^import \{([^}]*)\} from 'vega-util';$", re.MULTILINE)
_EXPORT = re.compile(r"^export \{ expression as expressionInterpreter \};$", re.MULTILINE)
_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


def as_plain_script(source: str) -> str:
    """A vendored file as a script of its own: a module reads `vega` and gives `vegaInterpreter`; no source maps."""
    plain, imported = _IMPORT.subn(r"const {\1} = globalThis.vega;", source)
    plain, exported = _EXPORT.subn("globalThis.vegaInterpreter = expression;", plain)
    plain = _MAP.sub("", plain)
    return f"(() => {{\n{plain}\n}})();" if imported and exported else plain


def chart_specs(table: ScoreTable) -> list[Chart]:
    """The charts of a table, each `{id, title, description, spec, columns, rows}`, in reading order; maybe none.

    `spec` has no width: the page gives it. `columns` and `rows` are the same numbers as texts.
    """
    found = [_intervals(table), _coverage(table), _states(table), *slice_charts(table), trial_chart(table)]
    return [chart for chart in found if chart is not None]


# --- how sure each headline is -----------------------------------------------------------------------


def _intervals(table: ScoreTable) -> Chart | None:
    """A dot for each value with its interval, the span of missing verdicts, and the bar of the primary metric."""
    records = list(_headlines(table))
    if not records:
        return None
    description = (
        "A dot is the value, the thin line its 95 % interval; a thick line goes up to what missing verdicts could make "
        "of it. The upright stroke is the bar of the primary metric."
    )
    layers = [
        {"transform": [{"filter": "isValid(datum.ci_low)"}], "mark": {"type": "rule", "strokeWidth": 1.5},
         "encoding": {"x": share_of("ci_low"), "x2": {"field": "ci_high"}}},
        {"transform": [{"filter": "datum.high > datum.low"}],
         "mark": {"type": "rule", "strokeWidth": 7, "opacity": 0.35, "color": "var(--accent)"},
         "encoding": {"x": share_of("low"), "x2": {"field": "high"}}},
        {"transform": [{"filter": "isValid(datum.bar)"}],
         "mark": {"type": "tick", "thickness": 3, "size": 26, "opacity": 1, "color": "var(--fail)"},
         "encoding": {"x": share_of("bar")}},
        {"mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "color": "var(--accent)"},
         "encoding": {"x": share_of("low")}},
    ]  # fmt: skip
    spec = over_rows(records, 38, layer=layers)
    rows = [[r["name"], r["value"], r["interval"], r["votes"]] for r in records]
    columns = ("headline", "value", "95 % interval", "over")
    return as_chart("chart-intervals", "How sure each headline is", description, spec, columns, rows)


def _headlines(table: ScoreTable) -> Iterator[Record]:
    bar = table.bar.bar
    own = bar if table.primary == "completion" else None
    yield _headline("completion", table.completion, table.completion.ci, table.completion.tasks.of, own)
    for name, scored in table.dimensions.items():
        average = scored.task_average
        if average.assigned:
            own = bar if table.primary == f"dimension:{name}" else None
            shown = "completion (dimension)" if name == "completion" else name
            yield _headline(shown, average, average.ci, average.n_tasks, own)


def _headline(
    name: str, scored: Average | Completion, ci: Ci | None, n_tasks: int, bar: float | None
) -> Record:
    words = interval_words(ci)
    known = ci is not None and not words
    value = span(scored.low, scored.high, bar)
    return {
        "name": name, "label": row_label(name, f"{value} · {plural(n_tasks, 'task')}"),
        "low": scored.low, "high": scored.high, "bar": bar, "value": value,
        "ci_low": ci.low if ci and known else None, "ci_high": ci.high if ci and known else None,
        "interval": span(ci.low, ci.high) if ci and known else words, "votes": plural(n_tasks, "task"),
    }  # fmt: skip


# --- coverage ----------------------------------------------------------------------------------------


def _coverage(table: ScoreTable) -> Chart | None:
    """In how much of the suite each dimension was assigned; nothing to draw where it is all of it everywhere."""
    if all(scored.coverage.tasks == scored.coverage.of for scored in table.dimensions.values()):
        return None
    records: list[Record] = [
        {
            "name": name,
            "label": row_label(name, f"{scored.coverage.tasks:,} of {plural(scored.coverage.of, 'task')}"),
            "share": scored.coverage.tasks / scored.coverage.of,
            "tasks": f"{scored.coverage.tasks:,} of {scored.coverage.of:,}",
            "whole": 1,
        }
        for name, scored in table.dimensions.items()
    ]
    layers = [
        {"mark": {"type": "bar", "height": 12, "color": "var(--line)"}, "encoding": {"x": share_of("whole")}},
        {
            "mark": {"type": "bar", "height": 12, "color": "var(--accent)"},
            "encoding": {"x": share_of("share")},
        },
    ]
    spec = over_rows(records, 38, layer=layers)
    rows = [[r["name"], r["tasks"], percent(r["share"])] for r in records]
    description = (
        "The share of tasks in which a dimension is assigned; its score says nothing about the others."
    )
    columns = ("dimension", "tasks", "coverage")
    return as_chart(
        "chart-coverage", "How much of the suite each dimension covers", description, spec, columns, rows
    )


# --- states ------------------------------------------------------------------------------------------

FILL = {
    "pass": "var(--pass)", "fail": "var(--fail)", "unknown": "var(--open)", "error": "var(--ink)",
    "skipped": "var(--line)", "report": "var(--raised)",
}  # fmt: skip
ON_LIGHT = ("skipped", "report")


def _states(table: ScoreTable) -> Chart | None:
    """What became of the verdicts of each dimension; nothing to draw where all are alike, or not all are listed."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in table.dimensions}
    for task in table.tasks:
        for trial in task.trials:
            for score in trial.criteria if trial.counted else ():
                counts[score.dimension][score.outcome] += 1
    seen = [outcome for outcome in MARKS if any(found[outcome] for found in counts.values())]
    if table.left_out is not None or len(table.tasks) < table.completion.tasks.of or len(seen) < 2:
        return None
    records = [record for name, found in counts.items() for record in _parts(name, found, seen)]
    color = {
        "field": "outcome", "type": "nominal", "title": None,
        "scale": {"domain": seen, "range": [FILL[outcome] for outcome in seen]},
        "legend": {"orient": "bottom", "columns": 3, "symbolType": "square", "symbolStrokeWidth": 1,
                   "symbolStrokeColor": "var(--soft)"},
    }  # fmt: skip
    on_light = {"test": {"field": "outcome", "oneOf": list(ON_LIGHT)}, "value": "var(--ink)"}
    layers = [
        {"mark": {"type": "bar", "height": 18, "stroke": "var(--ground)", "strokeWidth": 1},
         "encoding": {"x": share_of("start"), "x2": {"field": "end"}, "color": color}},
        {"transform": [{"filter": f"datum.end - datum.start >= {LEAST_LABELLED}"}],
         "mark": {"type": "text", "fontWeight": 600},
         "encoding": {"x": share_of("middle"), "text": {"field": "text"},
                      "color": {"condition": on_light, "value": "var(--ground)"}}},
    ]  # fmt: skip
    spec = over_rows(records, 38, layer=layers)
    rows = [[name, *(f"{found[outcome]:,}" for outcome in seen)] for name, found in counts.items()]
    description = (
        "Verdicts of counted trials by what became of them, in each dimension; the numbers are counts."
    )
    columns = ("dimension", *(WORDS[outcome] for outcome in seen))
    return as_chart("chart-states", "What became of the verdicts", description, spec, columns, rows)


def _parts(name: str, found: Mapping[str, int], seen: Sequence[str]) -> Iterator[Record]:
    of, before = sum(found.values()), 0
    for outcome in seen:
        count = found[outcome]
        if count:
            start, end = before / of, (before + count) / of
            yield {
                "name": name, "label": row_label(name, plural(of, "verdict")), "outcome": outcome,
                "start": start, "end": end,
                "middle": (start + end) / 2, "text": f"{MARKS[outcome]} {count:,}",
            }  # fmt: skip
            before += count
