"""Writing a report: what fits stands in one file, further trials in a folder beside it, all of it or nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from steelyard.model.names import safe_name
from steelyard.model.standard import Suite, Task
from steelyard.model.table import ScoreTable
from steelyard.model.trace import Trace
from steelyard.report.failures import Rules
from steelyard.report.html import board as parts
from steelyard.report.html import document, tables
from steelyard.report.html.board import Particulars
from steelyard.report.html.charts import chart_specs
from steelyard.report.html.files import Output, replaced
from steelyard.report.html.rows import MatrixRow, Rows, TrialId, rows, rule_of
from steelyard.report.html.tags import Markup, embedded, tag
from steelyard.report.html.trial import NO_TRACE, trial_body
from steelyard.report.view import board

INLINE = 8_000_000
"""Bytes of trials inside the page; trials that are not complete come first."""
LARGEST_PAGE = 14_500_000
"""Bytes of a page with its trials: below 15 MB."""
LARGEST_INLINE = 1_500_000
"""A single trial larger than this gets a file of its own."""

NO_PARTICULARS = Particulars()

Traces = Iterable[tuple[str, int, Trace]]
Extras = Mapping[str, Any]
"""Data for scripts that a page may do without: `whatif-model`, `chart-specs`."""


class _Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A rendered trial in the spool."""

    row: int
    start: int
    size: int


def write_page(
    file: str | Path,
    *,
    table: ScoreTable,
    suite: Suite,
    traces: Traces | None = None,
    particulars: Particulars = NO_PARTICULARS,
    without: str = NO_TRACE,
    inline: int = INLINE,
    replace_others: bool = True,
    whatif: Mapping[str, Any] | None = None,
) -> Path | None:
    """Write the report of a table (with all its detail) and return the folder of further trials, if one was needed.

    `traces` gives task, trial and trace in any order and is read once; a trial's trace is rendered and let go. Where
    there is none, `without` says why. At most `inline` bytes of trials stand in the page, and fewer where its tables
    leave no room below 15 MB; others go to `NAME.files/` beside it. OutputError when the place cannot be written
    (unless `replace_others`, also when a file that is no report stands there); what was there then stays as it was.
    `whatif` is what `whatif_model` made of the same run; without it the page answers no what-if.
    """
    found = {"whatif-model": whatif, "chart-specs": chart_specs(table)}
    extras = {name: value for name, value in found.items() if value}
    with tempfile.TemporaryFile() as spool, replaced(file, others=replace_others) as output:
        view = rows(table, suite)
        pieces = list(_render(spool, view, table, suite, traces, without))
        linked = {
            piece.row: f"{output.folder_name}/{_name(view.matrix[piece.row], table)}" for piece in pieces
        }
        rest = sum(len(chunk.encode()) for chunk in _page(table, suite, view, particulars, linked, extras))
        room = min(inline, max(0, LARGEST_PAGE - rest - len(_scripts(extras))))
        inside, outside = _chosen(pieces, view, room, output)
        names = {piece.row: linked[piece.row] for piece in outside}
        for piece in outside:
            row = view.matrix[piece.row]
            output.beside(_name(row, table), _side_page(row, table, suite, _read(spool, piece), output.name))
        for chunk in _page(table, suite, view, particulars, names, extras):
            output.write(chunk)
        for piece in inside:
            output.write(f'<template data-row="{piece.row}">')
            output.write(_read(spool, piece))
            output.write("</template>\n")
        output.write(_scripts(extras) + "</body></html>\n")
    return output.folder if names else None


# --- trials ------------------------------------------------------------------------------------------


def _render(
    spool: IO[bytes], view: Rows, table: ScoreTable, suite: Suite, traces: Traces | None, without: str
) -> Iterator[_Piece]:
    places: dict[TrialId, int] = {
        (table.tasks[row.task].id, row.trial.trial): number for number, row in enumerate(view.matrix)
    }
    tasks = {task.id: task for task in suite.tasks}
    left = set(places)
    for task, trial, trace in traces or ():
        if (task, trial) in left:
            left.discard((task, trial))
            yield _spooled(spool, places[task, trial], view, tasks.get(task), trace, without)
    missing = without if traces is None else "There is no recording of this trial."
    for task, trial in sorted(left, key=places.__getitem__):
        yield _spooled(spool, places[task, trial], view, tasks.get(task), None, missing)


def _spooled(
    spool: IO[bytes], number: int, view: Rows, task: Task | None, trace: Trace | None, without: str
) -> _Piece:
    body = trial_body(view.matrix[number].trial, task, trace, without=without).encode()
    start = spool.seek(0, 2)
    spool.write(body)
    return _Piece(row=number, start=start, size=len(body))


def _read(spool: IO[bytes], piece: _Piece) -> Markup:
    spool.seek(piece.start)
    return Markup(spool.read(piece.size).decode())


def _chosen(
    pieces: list[_Piece], view: Rows, inline: int, output: Output
) -> tuple[list[_Piece], list[_Piece]]:
    """Which trials stand in the page and which beside it, each in the order of the matrix."""
    room = inline
    inside: list[_Piece] = []
    for piece in sorted(pieces, key=lambda piece: (view.matrix[piece.row].state == "complete", piece.row)):
        if piece.size <= room and (piece.size <= LARGEST_INLINE or output.alone):
            inside.append(piece)
            room -= piece.size
    chosen = {piece.row for piece in inside}
    outside = [] if output.alone else [piece for piece in pieces if piece.row not in chosen]
    return sorted(inside, key=_row), sorted(outside, key=_row)


def _row(piece: _Piece) -> int:
    return piece.row


def _name(row: MatrixRow, table: ScoreTable) -> str:
    """A file name that no other trial has: `~` stands in no safe name of a task."""
    return f"{safe_name(table.tasks[row.task].id)}~{row.trial.trial}.html"


# --- pages -------------------------------------------------------------------------------------------


def _page(
    table: ScoreTable, suite: Suite, view: Rows, about: Particulars, names: Mapping[int, str], extras: Extras
) -> Iterator[str]:
    rules = rule_of(suite)
    texts: Rules = {key: criterion.rule for key, criterion in rules.items()}
    shown = board(table, texts)
    style = document.assets((*document.STYLES, *document.OPTIONAL_STYLES))
    yield document.head(f"{shown.decision}: {shown.title}", style, _sources(extras))
    yield "<body>"
    yield tag("a", "Skip to the scores", href="#scores", class_="skip")
    yield parts.header(shown, table, about)
    yield _navigation()
    yield '<main id="main">'
    yield parts.scoreboard(shown, table)
    yield parts.failures(shown)
    yield parts.graded_by(shown, table)
    yield tag("section", id="whatif")
    yield tables.matrix(view, table)
    yield tag("section", id="charts")
    yield tables.tasks(view)
    yield tables.criteria(view)
    yield "</main>"
    yield PANEL
    yield document.data_script("page-data", embedded(tables.page_data(view, table, rules, names)))
    for name, value in extras.items():
        yield document.data_script(name, embedded(value))


def _navigation() -> Markup:
    links = (
        ("scores", "Scores"),
        ("why", "Why"),
        ("matrix", "Verdicts"),
        ("tasks", "Tasks"),
        ("criteria", "Criteria"),
    )
    listed = (tag("li", tag("a", words, href=f"#{name}")) for name, words in links)
    return tag("nav", tag("ul", *listed), aria_label="parts of the report", class_="parts")


PANEL = Markup(
    tag(
        "aside",
        tag("div", tag("h2", "", id="panel-title", tabindex="-1"),
            tag("button", "Close", type="button", id="panel-close"), class_="panel-head"),
        tag("div", id="panel-whatif", data_slot="verdict"),
        tag("div", id="panel-body"),
        id="panel", hidden=True, aria_labelledby="panel-title",
    )
    + tag("p", id="live", class_="heard", role="status", aria_live="polite")
    + tag("dialog", id="keys", aria_labelledby="keys-title")
)  # fmt: skip


def _sources(extras: Extras) -> list[str]:
    """The scripts of a page, each a text of its own; those of an extra only where the page has it."""
    own = [document.assets(document.SCRIPTS)]
    names = [name for extra in extras for name in document.EXTRA_SCRIPTS[extra]]
    return [*own, *(document.assets([name]) for name in names)]


def _scripts(extras: Extras) -> str:
    return "".join(document.script(source) for source in _sources(extras))


def _side_page(row: MatrixRow, table: ScoreTable, suite: Suite, body: Markup, page: str) -> Iterator[str]:
    style = document.assets(document.SIDE_STYLES)
    title = f"{table.tasks[row.task].id}#{row.trial.trial}"
    yield document.head(f"{title}: {table.suite.name}", style, [])
    yield '<body class="side">'
    yield tag(
        "header", tag("p", " ".join((suite.name, suite.version)).strip(), class_="suite"), tag("h1", title)
    )
    yield "<main>"
    yield body
    yield "</main></body></html>\n"
