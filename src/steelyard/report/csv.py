"""Verdicts as CSV, one row a verdict: RFC 4180, and safe to open in a spreadsheet.

A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@`, whatever invisible characters stand before it, and one
that expects semicolons or tabs between cells finds such beginnings inside texts too. So in texts an apostrophe is put
before each of them, and before each apostrophe that stands where one could have been put: `original` takes away
exactly what `harmless` added. Numbers are written as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from steelyard.model.table import CriterionScore, ScoreTable, TrialScore

COLUMNS = (
    "task", "trial", "criterion", "dimension", "layer", "gate", "weight", "status", "outcome", "score", "failure_tag",
    "error", "reason", "evidence_refs", "graders", "ended_by", "trace", "standard",
)  # fmt: skip
NUMBERS = frozenset({"trial", "gate", "weight", "score"})
"""Columns that hold numbers and true or false; every other one holds text."""
BOM = "\ufeff"
"""Begins a file, since Excel takes one without it for a text of another encoding."""

Cell = str | int | float | Decimal | bool | None

_STARTS = r"=+\-@\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20\u207a-\u207c\u208a-\u208c"
"""What begins a formula, with the full-width, small and raised forms that are read as the same."""
_UNSEEN = (
    r" \x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    r"\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
"""Spaces, controls and characters without a form of their own, which may stand before it; a quote may too."""
_RISKY = rf"'|[{_UNSEEN}\"]*[{_STARTS}]"
_AT_START = re.compile(rf"(?:{_RISKY}|[\t\r\n])")
_INSIDE = re.compile(rf"([;\t\r\n])(?={_RISKY})")
_ADDED = re.compile(r"([;\t\r\n])'")
_QUOTED = re.compile(r'[",\r\n;\t]|^ | $')


def harmless(text: str) -> str:
    """The text as no spreadsheet runs any of it."""
    inside = _INSIDE.sub(r"\1'", text)
    return f"'{inside}" if _AT_START.match(text) else inside


def original(cell: str) -> str:
    """The text that `harmless` was given."""
    return _ADDED.sub(r"\1", cell[1:] if cell.startswith("'") else cell)


LOST = "lost"
"""The status of a row that stands for something missing, said in its reason. Read back, it keeps a run from a pass."""


def csv_lines(
    table: ScoreTable, weights: Mapping[tuple[str, str], Decimal], lost: Sequence[str] = ()
) -> Iterator[str]:
    """The header, then a line a verdict, each with its CRLF; made one by one, whatever the number of verdicts.

    `weights` are those of (task, criterion). A trial without verdicts (a fault) has a line without a criterion. The
    table must hold every verdict in detail. `lost` says what could not be graded, each in a line of its own.
    """
    yield _line(COLUMNS)
    standard = table.suite.hash
    for task in table.tasks:
        for trial in task.trials:
            for criterion in trial.criteria:
                cells = _verdict(task.id, trial, criterion, weights.get((task.id, criterion.id)))
                yield _line((*cells, standard))
            if not trial.criteria:
                yield _line((*_about_trial(task.id, trial, (None,) * (len(COLUMNS) - 5)), standard))
    for reason in lost:
        marked: dict[str, Cell] = {"status": LOST, "reason": reason, "standard": standard}
        yield _line(tuple(marked.get(column) for column in COLUMNS))


def _verdict(
    task: str, trial: TrialScore, scored: CriterionScore, weight: Decimal | None
) -> tuple[Cell, ...]:
    failed = scored.status == "error"
    return _about_trial(
        task,
        trial,
        (
            scored.id, scored.dimension, scored.layer, scored.gate, weight, scored.status, scored.outcome, scored.score,
            None if failed else scored.failure_tag, scored.failure_tag if failed else None, scored.reason or None,
            joined(scored.evidence_refs) or None, joined([ref.kind for ref in scored.graders]) or None,
        ),
    )  # fmt: skip


def _about_trial(task: str, trial: TrialScore, middle: tuple[Cell, ...]) -> tuple[Cell, ...]:
    return (task, trial.trial, *middle, trial.ended_by, trial.trace)


def joined(texts: tuple[str, ...] | list[str]) -> str:
    """Texts in one cell, with spaces between them; as a JSON list where one holds a space or could be taken for one."""
    if any(not text or text[0] in '["' or len(text.split()) != 1 or text != text.strip() for text in texts):
        return msgspec.json.encode(list(texts)).decode()
    return " ".join(texts)


def apart(cell: str) -> list[str]:
    """The texts again. ValueError when the cell holds a list that is none."""
    if not cell.startswith("["):
        return cell.split(" ") if cell else []
    return msgspec.json.decode(cell, type=list[str])


def _line(cells: tuple[Cell, ...]) -> str:
    return ",".join(map(_cell, cells)) + "\r\n"


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    text = harmless(value) or "'"  # an empty text is not the same as none
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
