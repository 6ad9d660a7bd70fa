"""Verdicts as CSV: written from a run, read back as rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import msgspec

from steelyard.app.run import Run
from steelyard.errors import InputError
from steelyard.grading.rows import Row, read_row
from steelyard.model.trace import Quarantined
from steelyard.report.csv import BOM, LOST, NUMBERS, apart, csv_lines, original

MOST_RECORD = 64 * 1024 * 1024
"""Characters of one record; a longer one is quarantined."""
NEEDED = ("task", "criterion", "status")
_KEPT = (
    "task",
    "trial",
    "criterion",
    "status",
    "score",
    "failure_tag",
    "error",
    "reason",
    "evidence_refs",
    "graders",
)
_LISTS = frozenset({"evidence_refs", "graders"})
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
_CELL = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|\Z)')
_CHUNK = 1 << 20


def csv_report(run: Run, *, bom: bool = True) -> Iterator[bytes]:
    """The verdicts of a run as CSV in UTF-8, a line at a time. `run` must be loaded `full`.

    Records that were lost, and a run that was broken off, have rows of their own, since without them it could pass.
    A byte order mark stands before them unless `bom` is false: Excel needs it in a file, a pipe does not.
    """
    weights = {
        (task.id, criterion.id): criterion.weight for task in run.suite.tasks for criterion in task.criteria
    }
    lost = [f"{entry.where}: {entry.reason}" for entry in run.lost]
    if run.unfinished:
        lost.append("this run was broken off before its end")
    lines = csv_lines(run.scores, weights, lost)
    return (line.encode("utf-8", "replace") for line in chain((BOM,) if bom else (), lines))


def read_csv(
    path: str | Path, *, on_standard: Callable[[str], None] = lambda graded_under: None
) -> Iterator[Row | Quarantined]:
    """Verdict and trial rows of a CSV file as `csv_report` writes it; other columns are passed over.

    Needs the columns task, criterion and status; an empty cell is a value that is not given. A row that cannot be read
    is quarantined with its line. `on_standard` is told the hash in each cell of the column `standard`: under which one
    the row was graded. InputError when the file cannot be read or lacks a column.
    """
    name = str(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            records = _records(file)
            header = _header(name, next(records, (1, None))[1])
            yield from _rows(name, header, records, on_standard)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not in UTF-8 ({error}); save it as CSV in UTF-8") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read the rows in {name}: {reason}; check the path") from error


def _records(file: TextIO) -> Iterator[tuple[int, list[str] | None]]:
    """Each record with the number of its first line, as cells; null where it is none."""
    number, first = 0, 1
    parts: list[str] = []
    length = quotes = 0
    while line := file.readline(_CHUNK):
        ended = line[-1] in "\r\n"
        number += ended
        quotes += line.count('"')
        length += len(line)
        if length <= MOST_RECORD:
            parts.append(line)
        if quotes % 2 or not ended:
            continue
        text = "".join(parts)
        if length > MOST_RECORD:
            yield first, None
        elif text.strip("\r\n"):
            yield first, _cells(_without_end(text))
        parts, length, quotes, first = [], 0, 0, number + 1
    if parts:  # the last line has no end, or a quote is never closed
        yield first, None if quotes % 2 or length > MOST_RECORD else _cells("".join(parts))


def _without_end(text: str) -> str:
    return text[:-2] if text.endswith("\r\n") else text[:-1] if text[-1] in "\r\n" else text


def _cells(text: str) -> list[str] | None:
    cells: list[str] = []
    at = 0
    while True:
        found = _CELL.match(text, at)
        if found is None or (found[3] == "" and found.end() != len(text)):
            return None
        cells.append(found[1].replace('""', '"') if found[1] is not None else found[2])
        at = found.end()
        if found[3] == "":
            return cells


def _header(name: str, cells: list[str] | None) -> list[str]:
    header = [cell.strip() for cell in cells or ()]
    missing = [column for column in NEEDED if column not in header]
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise InputError(f"{name} has no commas between its cells; save it as CSV with commas")
    if missing:
        raise InputError(
            f"{name} has no column {', '.join(missing)}; its first line must name task, criterion, status, and for "
            "graded rows score"
        )
    twice = [column for column in set(header) & {*_KEPT, "ended_by", "standard"} if header.count(column) > 1]
    if twice:
        raise InputError(f"{name} has the column {twice[0]} twice; keep one of them")
    return header


def _rows(
    name: str,
    header: list[str],
    records: Iterable[tuple[int, list[str] | None]],
    on_standard: Callable[[str], None],
) -> Iterator[Row | Quarantined]:
    told: set[int] = set()  # hashes, since there may be many trials
    for number, cells in records:
        where = f"{name}:{number}"
        if cells is None or len(cells) != len(header):
            found = "is no CSV record" if cells is None else f"has {len(cells)} cells"
            yield Quarantined(
                where=where, reason=f"the record {found}; the first line names {len(header)} columns"
            )
            continue
        named = dict(zip(header, cells, strict=True))
        values = _values(named)
        if standard := named.get("standard"):
            on_standard(original(standard))
        if values.get("status") == LOST:
            yield Quarantined(
                where=where, reason=values.get("reason", "the table says that something was lost")
            )
            continue
        ended_by = values.pop("ended_by", None)
        ending = hash((values.get("task"), values.get("trial"), ended_by))
        if (
            ended_by is not None and ending not in told
        ):  # one that differs is said too: it contradicts the first
            told.add(ending)
            about: dict[str, Any] = {key: values[key] for key in ("task", "trial") if key in values}
            yield read_row(where, _json({**about, "ended_by": ended_by}))
        if ended_by is None or "criterion" in values:
            yield read_row(where, _json(values))


def _values(cells: Mapping[str, str]) -> dict[str, Any]:
    """What the cells of a record say; an empty one says nothing."""
    values: dict[str, Any] = {}
    for column in (*_KEPT, "ended_by"):
        cell = cells.get(column, "")
        if not cell:
            continue
        values[column] = cell if column in NUMBERS else original(cell)
    return values


def _json(values: dict[str, Any]) -> bytes:
    """A record as a line of a row file; what is no number or list stays text, which reading then refuses."""
    row: dict[str, Any] = dict(values)
    for column in ("trial", "score"):
        if _NUMBER.fullmatch(row.get(column, "")):
            row[column] = msgspec.Raw(row[column].encode())
    for column in _LISTS & row.keys():
        try:
            row[column] = apart(row[column])
        except ValueError:
            continue
    if isinstance(row.get("graders"), list):
        row["graders"] = [{"kind": kind} for kind in row["graders"]]
    return msgspec.json.encode(row)
