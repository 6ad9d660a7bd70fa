"""CSV text to a table, strictly: what does not fit the header is a problem with its row, never a guess."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import msgspec

from steelyard.checks.show import names, show
from steelyard.errors import GraderError

MAX_ROWS = 200_000
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


class NotATableError(Exception):
    """The text is no table. The message says why, and in which row."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Columns by name, and rows of as many cells. Rows are counted from 1, without the header."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]

    def column(self, name: str) -> list[str] | None:
        """The cells of a column; None when there is none of that name."""
        if name not in self.columns:
            return None
        position = self.columns.index(name)
        return [row[position] for row in self.rows]


def read_table(text: str, delimiter: str = ",") -> Table:
    """The table that a text is.

    A byte order mark does not count, and neither do empty lines. Raises `NotATableError`: no header, a column without
    name or named twice, another separator, a row of another length, quotes that do not close. Raises `GraderError`
    (`too_large`, `bad_check`).
    """
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise GraderError(f"{show(delimiter)} cannot stand between cells.", code="bad_check")
    if "\0" in text:
        raise NotATableError("it holds a NUL character")
    lines = _lines(text, delimiter)
    header = next(lines, None)
    if header is None:
        raise NotATableError("it is empty, so it has no header")
    columns = _header(header, delimiter)
    rows = list(lines)
    wrong = [
        _other_length(number, row, columns) for number, row in enumerate(rows, 1) if len(row) != len(columns)
    ]
    if wrong:
        raise NotATableError(names(wrong, 3, joint="; "))
    return Table(columns=columns, rows=rows)


def _lines(text: str, delimiter: str) -> Iterator[list[str]]:
    """The header and the rows; lines with nothing on them are none."""
    reader = csv.reader(
        io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter, strict=True
    )
    count = 0
    try:
        for cells in reader:
            count += bool(cells)
            if count > MAX_ROWS + 1:
                raise GraderError(f"The table has more than {MAX_ROWS} rows.", code="too_large")
            if cells:
                yield cells
    except csv.Error as problem:
        if "field limit" in str(problem):
            raise GraderError("A cell of the table is too large to be read.", code="too_large") from None
        where = f"row {count}" if count else "the header"
        raise NotATableError(f"{where} is not valid CSV: {problem}") from None


def _other_length(number: int, row: list[str], columns: Sequence[str]) -> str:
    few = "only " if len(row) < len(columns) else ""
    noun = "cell" if len(row) == 1 else "cells"
    return f"row {number} has {few}{len(row)} {noun}, the header has {len(columns)}: {show(row)}"


def _header(cells: list[str], delimiter: str) -> tuple[str, ...]:
    if len(cells) == 1:
        for other, word in _SEPARATORS.items():
            if other != delimiter and other in cells[0]:
                known = _SEPARATORS.get(delimiter, show(delimiter))
                raise NotATableError(f"its columns are separated by {word}, not by {known}")
    if not all(name.strip() for name in cells):
        raise NotATableError(f"a column of the header has no name: {show(cells)}")
    twice = sorted({name for name in cells if cells.count(name) > 1})
    if twice:
        raise NotATableError(f"the column {show(twice[0])} stands in the header more than once")
    return tuple(cells)
