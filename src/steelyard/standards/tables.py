"""Tables beside a suite: CSV and JSON Lines, read strictly. A row that does not fit the header is never guessed at."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import NamedTuple

from steelyard.standards.json_nodes import read_json
from steelyard.standards.nodes import MAX_BYTES, Node
from steelyard.standards.problems import Problems, quoted
from steelyard.standards.texts import TextError, inside_folder, read_limited, to_unicode

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


class TableError(Exception):
    """A table that cannot be used; `messages` are sentences, each with the row's file and line."""

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = tuple(messages)
        super().__init__("; ".join(messages))


class Row(NamedTuple):
    """One row. `label` is `file:line` of its first line; cells of CSV are text, those of JSON Lines any JSON."""

    label: str
    cells: Mapping[str, Node]


def read_table(file: str, *, folder: str, delimiter: str = ",", form: str | None = None) -> list[Row]:
    """The rows of a table in the suite's folder. Raises `TableError` with every bad row."""
    try:
        path = inside_folder(file, folder)
        text = to_unicode(read_limited(path, MAX_BYTES), file)
    except TextError as error:
        raise TableError([str(error)]) from error
    form = form or _form_of(path)
    rows = _read_csv(text, file, delimiter) if form == "csv" else _read_lines(text, file)
    if not rows:
        raise TableError([f"{file} has no rows; a table gives one task per row"])
    return rows


def _form_of(path: FilePath) -> str:
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return "csv"
    if suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    raise TableError([f"{path.name} is neither .csv nor .jsonl; say which beside it with `format: csv`"])


def _read_csv(text: str, file: str, delimiter: str) -> list[Row]:
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise TableError(
            [f"the delimiter {quoted(delimiter)} is not one character that can stand between cells"]
        )
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[Row] = []
    faults: list[str] = []
    header: list[str] | None = None
    before = 0
    try:
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not cells:
                continue
            if header is None:
                header = _checked_header(cells, file, line, delimiter)
            elif len(cells) != len(header):
                faults.append(_wrong_length(cells, header, f"{file}:{line}"))
            else:
                named = {name: Node("filled", cell) for name, cell in zip(header, cells, strict=True)}
                rows.append(Row(f"{file}:{line}", named))
    except csv.Error as error:
        faults.append(f"{file}:{before + 1}: is not valid CSV: {error}")
    if header is None and not faults:
        raise TableError([f"{file} is empty; its first line names the columns"])
    if faults:
        raise TableError(faults)
    return rows


def _checked_header(header: list[str], file: str, line: int, delimiter: str) -> list[str]:
    where = f"{file}:{line}"
    if len(header) == 1:
        for other, word in _SEPARATORS.items():
            if other != delimiter and other in header[0]:
                shown = "\\t" if other == "\t" else other
                raise TableError(
                    [f'{where}: the columns are separated by {word}; say so with `delimiter: "{shown}"`']
                )
    faults = [f"{where}: column {i} has no name" for i, name in enumerate(header, 1) if not name.strip()]
    twice = sorted({name for name in header if header.count(name) > 1 and name.strip()})
    faults += [f"{where}: the column {quoted(name)} stands more than once; rename one" for name in twice]
    if faults:
        raise TableError(faults)
    return header


def _wrong_length(cells: list[str], header: list[str], where: str) -> str:
    few = "only " if len(cells) < len(header) else ""
    noun = "cell" if len(cells) == 1 else "cells"
    return f"{where}: the row has {few}{len(cells)} {noun}, the header has {len(header)}; no task is made"


def _read_lines(text: str, file: str) -> list[Row]:
    rows: list[Row] = []
    faults: list[str] = []
    # Only a line feed ends a record: other line separators may stand inside a JSON text.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{file}:{number}"
        problems = Problems()
        node = read_json(line, problems)
        if problems:
            faults += [f"{where}: {problem.message}" for problem in problems.found]
        elif node is None or node.kind != "map":
            faults.append(f"{where}: a row must be a JSON object of column names and values")
        else:
            rows.append(Row(where, node.value))
    if faults:
        raise TableError(faults)
    return rows
