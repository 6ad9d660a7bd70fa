"""The matrix and the tables of tasks and criteria: their first rows as HTML, all of them as data for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from steelyard.model.standard import Criterion
from steelyard.model.table import ScoreTable
from steelyard.report.html.marks import MARKS, UNMOVED, WORDS, mark
from steelyard.report.html.rows import STAND_IN, Cell, CriterionRow, MatrixRow, Rows, TaskRow, verdict_words
from steelyard.report.html.tags import Child, Markup, joined, row_head, tag
from steelyard.report.numbers import percent, plural, quantity
from steelyard.report.plain import clean
from steelyard.report.text import visible

PAGE = 50
"""Rows of a table that are shown at a time."""

PRINTED = 24
"""Rows of the matrix on paper, as the print style has it: a report is two pages."""

Rules = Mapping[tuple[str, str], Criterion]


# --- the matrix --------------------------------------------------------------------------------------


def matrix(rows: Rows, table: ScoreTable) -> Markup:
    """The picture of the run: a row a trial, a cell a verdict, grouped by dimension."""
    body = (_matrix_row(row, number, rows, table) for number, row in enumerate(rows.matrix[:PAGE]))
    caption = tag("caption", "Verdicts: a row a trial, a column a criterion", class_="heard")
    shown = tag("table", caption, _matrix_head(rows), tag("tbody", *body), class_="matrix", id="matrix-table")
    order = tag(
        "p", "Columns number the criteria of each dimension in the order of their task.", class_="quiet"
    )
    return tag(
        "section",
        tag("h2", "Verdicts", id="matrix-title"),
        _legend(),
        order if rows.by_order else None,
        _listed(sum(row.state != STAND_IN for row in rows.matrix), table),
        tag("div", id="matrix-controls", class_="controls"),
        tag("div", shown, class_="wide", role="region", aria_labelledby="matrix-title", tabindex="0"),
        _more(len(rows.matrix), "trial"),
        _printed(len(rows.matrix)),
        id="matrix", aria_labelledby="matrix-title",
    )  # fmt: skip


def _listed(count: int, table: ScoreTable) -> Markup | None:
    """What to say where the table holds only some trials."""
    of = table.completion.trials.of + sum(table.faults.values())
    if count >= of:
        return None
    return tag("p", f"{count:,} of {plural(of, 'trial')} are listed here, those that are not complete first.")


def _legend() -> Markup:
    shown = (joined([mark(outcome), WORDS[outcome]], " ") for outcome in MARKS)
    return tag("p", joined([*shown, "blank: not assigned"], " · "), class_="legend", aria_hidden="true")


def _more(count: int, one: str, many: str = "") -> Markup | None:
    if count <= PAGE:
        return None
    return tag(
        "noscript", tag("p", f"The first {PAGE} of {plural(count, one, many)}; scripts show the others.")
    )


def _printed(count: int) -> Markup | None:
    if count <= PRINTED:
        return None
    words = f"Printed are the first {PRINTED} of {plural(count, 'trial')}; the page itself has all."
    return tag("p", words, class_="quiet printed")


def _matrix_head(rows: Rows) -> Markup:
    groups: list[Child] = []
    for dimension, members in groupby(rows.columns, key=lambda column: column.dimension):
        groups.append(
            tag(
                "th",
                tag("span", dimension, class_="name"),
                scope="colgroup",
                colspan=len(list(members)),
                class_="group",
            )
        )
    first = (tag("th", name, scope="col", rowspan="2") for name in ("task", "state"))
    names = (
        tag("th", tag("span", column.label, class_="name"), scope="col", class_=_first(rows, n))
        for n, column in enumerate(rows.columns)
    )
    return tag("thead", tag("tr", *first, *groups), tag("tr", *names))


def _first(rows: Rows, number: int) -> str | None:
    """The class of the first column of a dimension."""
    starts = number == 0 or rows.columns[number - 1].dimension != rows.columns[number].dimension
    return "first" if starts else None


def _matrix_row(row: MatrixRow, number: int, rows: Rows, table: ScoreTable) -> Markup:
    by_column = {cell.column: cell for cell in row.cells}
    task = table.tasks[row.task].id
    cells = (_cell(by_column.get(n), row, task, number, _first(rows, n)) for n in range(len(rows.columns)))
    return tag(
        "tr", row_head(row.label), tag("td", state(row.state), class_="state"), *cells,
        data_task=task, data_trial=row.trial.trial,
    )  # fmt: skip


STATES = {
    "complete": "pass",
    "not complete": "fail",
    "open": "unknown",
    "fault": "error",
    "nothing recorded": "error",
    STAND_IN: "error",
}


def state(word: str) -> Markup:
    """What became of a trial, with its mark."""
    return joined([mark(STATES[word]), tag("span", word, class_="word")], " ")


def _cell(cell: Cell | None, row: MatrixRow, task: str, number: int, class_: str | None) -> Markup:
    if cell is None:
        return tag("td", class_=class_)
    score = cell.score
    words = f"{row.label}, {score.id}: {verdict_words(score)}" + (", gate" if score.gate else "")
    partial = score.score is not None and 0 < score.score < 1
    button = tag(
        "button",
        tag("span", MARKS.get(score.outcome, "?"), aria_hidden="true"),
        tag("small", quantity(score.score or 0.0), aria_hidden="true") if partial else None,
        type="button", class_=f"cell is-{score.outcome}" + (" gate" if score.gate else ""),
        data_task=task, data_trial=row.trial.trial, data_criterion=score.id, data_status=score.outcome,
        data_row=number, data_column=cell.column, aria_label=visible(words),
    )  # fmt: skip
    return tag("td", button, class_=class_)


# --- tasks and criteria ------------------------------------------------------------------------------


def tasks(rows: Rows) -> Markup:
    """A row a task: how many of its trials are complete, and each dimension."""
    heads = ("task", "complete trials", "completion", *rows.dimensions, "share of the vote")
    body = (_task_row(row) for row in rows.tasks[:PAGE])
    return _table("tasks", "Tasks", heads, body, _more(len(rows.tasks), "task"))


def _task_row(row: TaskRow) -> Markup:
    numbers = [row.complete[0], row.completion[0], *(text for text, _ in row.dimensions)]
    return tag(
        "tr", row_head(row.id), *(tag("td", text, class_="number") for text in numbers),
        tag("td", percent(row.weight), data_slot="weight", class_="number"), data_task=row.id,
    )  # fmt: skip


CRITERION_HEADS = ("criterion", "dimension", *MARKS, "tasks", "most frequent failure", "rule")


def criteria(rows: Rows) -> Markup:
    """A row a criterion: how often it passed, failed or could not be decided."""
    body = (_criterion_row(row) for row in rows.criteria[:PAGE])
    heads = [WORDS.get(name, name) if name != "error" else name for name in CRITERION_HEADS]
    more = _more(len(rows.criteria), "criterion", "criteria")
    if not rows.criteria:
        more = tag(
            "p",
            "This report lists incomplete trials only, so it does not count by criterion.",
            class_="quiet",
        )
    return _table("criteria", "Criteria", heads, body, more)


def _criterion_row(row: CriterionRow) -> Markup:
    gate = tag("span", "gate", class_="badge") if row.gate else None
    counts = (tag("td", f"{row.counts.get(name, 0):,}", class_="number") for name in MARKS)
    return tag(
        "tr", row_head(row.id, " " if gate else None, gate), tag("td", row.dimension), *counts,
        tag("td", f"{row.tasks:,}", class_="number"), tag("td", row.tag), tag("td", row.rule, class_="rule"),
    )  # fmt: skip


def _table(
    name: str, title: str, heads: Sequence[str], body: Iterator[Markup], more: Markup | None
) -> Markup:
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    caption = tag("caption", title, class_="heard")
    shown = tag("table", caption, tag("thead", head), tag("tbody", *body), class_="rows", id=f"{name}-table")
    return tag(
        "section",
        tag("h2", title, id=f"{name}-title"),
        UNMOVED,
        tag("div", id=f"{name}-controls", class_="controls"),
        tag("div", shown, class_="wide", role="region", aria_labelledby=f"{name}-title", tabindex="0"),
        more,
        id=name, aria_labelledby=f"{name}-title",
    )  # fmt: skip


# --- the same as data --------------------------------------------------------------------------------


class Pool:
    """Texts that many rows share, each once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The number of a text."""
        return self.texts.setdefault(clean(text), len(self.texts))


def page_data(rows: Rows, table: ScoreTable, rules: Rules, pages: Mapping[int, str]) -> dict[str, Any]:
    """What the page's scripts show beyond the first rows. `pages` names what holds a matrix row's trial: a file."""
    pool = Pool()
    data: dict[str, Any] = {
        "page": PAGE,
        "outcomes": [{"name": name, "mark": MARKS[name], "words": WORDS[name]} for name in MARKS],
        "states": {word: STATES[word] for word in STATES},
        "columns": [[column.dimension, column.label] for column in rows.columns],
        "matrix": [_row_data(row, table, rules, pool, pages.get(n)) for n, row in enumerate(rows.matrix)],
        "tasks": [_task_data(row) for row in rows.tasks],
        "criteria": [_criterion_data(row) for row in rows.criteria],
    }
    return data | {"texts": list(pool.texts)}


def _row_data(
    row: MatrixRow, table: ScoreTable, rules: Rules, pool: Pool, page: str | None
) -> dict[str, Any]:
    task = table.tasks[row.task].id
    cells = []
    for cell in row.cells:
        criterion = rules.get((task, cell.score.id))
        rule = criterion.rule if criterion else ""
        cells.append(
            [cell.column, pool.add(cell.score.id), pool.add(cell.score.outcome), cell.score.score,
             pool.add(rule), int(cell.score.gate)]
        )  # fmt: skip
    found: dict[str, Any] = {
        "task": row.task, "trial": row.trial.trial, "label": row.label, "state": row.state, "cells": cells,
    }  # fmt: skip
    found |= {"stand_in": True} if row.state == STAND_IN else {}
    return found | ({"file": page} if page else {})


def _task_data(row: TaskRow) -> list[Any]:
    return [row.id, list(row.complete), list(row.completion), [list(pair) for pair in row.dimensions],
            percent(row.weight), row.weight]  # fmt: skip


def _criterion_data(row: CriterionRow) -> list[Any]:
    counts = [row.counts.get(name, 0) for name in MARKS]
    return [row.id, row.dimension, counts, row.tasks, row.tag, row.rule, int(row.gate)]
