"""`csv`: a table has the columns, types, zone and rows that are stated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from steelyard.checks.cells import WORDS, as_number, looks_like_a_time, typed, zone_fault, zone_of
from steelyard.checks.comparison import differences, said
from steelyard.checks.equality import nfc
from steelyard.checks.findings import empty_check, failed, missing, passed
from steelyard.checks.numbers import exact
from steelyard.checks.selectors import Absent, Found, aspects_of, select
from steelyard.checks.show import counted, names, show
from steelyard.checks.states import bad_state
from steelyard.checks.tables import NotATableError, Table, read_table
from steelyard.errors import GraderError
from steelyard.model.state_checks import CellType, CsvCheck, Preserves, RowCondition
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import GraderInput

VERSION = "1"

_MOST = 3
"""Wrong cells named for one thing that is stated."""


def reads(spec: CsvCheck) -> frozenset[str]:
    """What its selector selects, and the start state when it compares with a source."""
    return aspects_of(spec.of) | (
        aspects_of(_source_selector(spec.preserves)) if spec.preserves else frozenset()
    )


def grade(spec: CsvCheck, given: GraderInput) -> Finding:
    """1 when everything that is stated holds, else 0 with the wrong cells by row (from 1, without the header).

    Undecided where the recording has no files. Raises `GraderError`: `bad_state` (also when the source of `preserves`
    is no table), `bad_check`, `bad_zone`, `too_large`.
    """
    stated = (spec.columns, spec.rows, spec.types or None, spec.tz, spec.where or None, spec.preserves)
    if all(part is None for part in stated):
        raise empty_check("give `columns`, `rows`, `types`, `tz`, `where` or `preserves`")
    found = select(spec.of, given)
    if isinstance(found, Absent):
        return missing(found)
    source = _source(spec.preserves, given)
    if isinstance(source, Undecided):
        return source
    evidence = [*found.evidence, *(source[1] if source else ())]
    if not isinstance(found.value, str):
        return failed(f"{spec.of} is {show(found.value)}, not the text of a table", evidence)
    try:
        table = read_table(found.value, spec.delimiter)
    except NotATableError as problem:
        return failed(f"{spec.of} is no table: {problem}", evidence)
    problems = [
        *_columns(spec, table),
        *_types(spec, table),
        *_times(spec, table),
        *_conditions_met(spec, table),
        *_rows(spec, table),
    ]
    if spec.preserves and source:
        problems += _preserved(spec.preserves, table, source[0])
    problems += _nothing_to_see(spec, table)
    if problems:
        return failed(f"{spec.of}: {names(problems, _MOST, joint='; ')}", evidence)
    return passed(
        f"{spec.of}: {counted(len(table.rows), 'row')} of {counted(len(table.columns), 'column')}, as stated",
        evidence,
    )


def _columns(spec: CsvCheck, table: Table) -> Iterator[str]:
    if spec.columns is None or table.columns == spec.columns:
        return
    stated = f"the columns are {show(list(table.columns), 160)}, expected {show(list(spec.columns), 160)}"
    same = sorted(table.columns) == sorted(spec.columns)
    yield f"{stated} (same columns, other order)" if same else stated


def _no_column(table: Table, name: str) -> str:
    return f"there is no column {show(name)} (columns: {show(list(table.columns), 120)})"


def _types(spec: CsvCheck, table: Table) -> Iterator[str]:
    for name, kind in spec.types.items():
        cells = table.column(name)
        if cells is None:
            yield _no_column(table, name)
            continue
        optional = name in spec.optional
        wrong = [
            f"row {number}, {name} is {show(cell)}, {WORDS[kind]}"
            for number, cell in enumerate(cells, 1)
            if not (optional and cell == "") and typed(cell, kind) is None
        ]
        if wrong:
            yield names(wrong, _MOST, joint="; ")


def _times(spec: CsvCheck, table: Table) -> Iterator[str]:
    """Columns of times: those declared, else every column where some cell looks like one."""
    if spec.tz is None:
        return
    zone = zone_of(spec.tz)
    declared = [name for name, kind in spec.types.items() if kind == "datetime" and name in table.columns]
    looking = [name for name in table.columns if any(map(looks_like_a_time, table.column(name) or ()))]
    columns = declared or looking
    if not columns and table.rows:
        yield "no cell holds a time"
    for name in columns:
        wrong = []
        for number, cell in enumerate(table.column(name) or (), 1):
            fault = None if cell == "" and name in spec.optional else zone_fault(cell, zone, spec.tz)
            if fault:
                wrong.append(f"row {number}, {name} is {show(cell)}, {fault}")
        if wrong:
            yield names(wrong, _MOST, joint="; ")


def conditions_of(where: Sequence[RowCondition] | RowCondition) -> tuple[RowCondition, ...]:
    return (where,) if isinstance(where, RowCondition) else tuple(where)


def _conditions_met(spec: CsvCheck, table: Table) -> Iterator[str]:
    for condition in conditions_of(spec.where):
        cells = table.column(condition.column)
        if cells is None:
            yield _no_column(table, condition.column)
            continue
        wrong = [
            f"row {number}, {condition.column} is {show(cell)}, which is not {_words(condition)}"
            for number, cell in enumerate(cells, 1)
            if not _holds(condition, cell)
        ]
        if wrong:
            yield names(wrong, _MOST, joint="; ")


def _words(condition: RowCondition) -> str:
    if condition.op in ("filled", "empty"):
        return condition.op
    return f"{condition.op} {show(condition.value)}"


def _holds(condition: RowCondition, cell: str) -> bool:
    match condition.op:
        case "filled":
            return bool(cell.strip())
        case "empty":
            return not cell.strip()
        case "eq":
            return _cell_is(cell, condition.value)
        case "ne":
            return not _cell_is(cell, condition.value)
        case "in" | "not_in":
            if not isinstance(condition.value, list | tuple):
                raise GraderError(
                    f"`{condition.op}` of a condition needs a list of values.", code="bad_check"
                )
            return any(_cell_is(cell, value) for value in condition.value) == (condition.op == "in")


def _cell_is(cell: str, value: Any) -> bool:
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return typed(cell, "boolean") is value
    number = exact(value)
    if number is not None:
        return exact(as_number(cell)) == number
    return isinstance(value, str) and nfc(cell) == nfc(value)


def _rows(spec: CsvCheck, table: Table) -> Iterator[str]:
    if spec.rows is None:
        return
    columns = _compared(spec, table)
    lacking = [name for name in columns if name not in table.columns]
    if lacking:
        yield _no_column(table, lacking[0])
        return
    expected = [_expected_row(row, columns) for row in spec.rows]
    kinds = {name: _kind_of(spec, name, [row[name] for row in expected]) for name in columns}
    positions = [(name, table.columns.index(name)) for name in columns]
    actual = [{name: _value(row[at], kinds[name]) for name, at in positions} for row in table.rows]
    wanted = [{name: _value(cell, kinds[name]) for name, cell in row.items()} for row in expected]
    found = differences(
        actual,
        wanted,
        ordered=spec.ordered,
        abs_tol=Fraction(spec.abs_tol),
        key=[name for name in spec.key if name in columns],
    )
    if found:
        yield said(found, "the table", rows=True)


def _compared(spec: CsvCheck, table: Table) -> tuple[str, ...]:
    """The columns that the expected rows are about."""
    first = spec.rows[0] if spec.rows else ()
    if isinstance(first, Mapping):
        return tuple(first)
    return spec.columns or table.columns


def _expected_row(row: Any, columns: Sequence[str]) -> dict[str, Any]:
    if isinstance(row, Mapping) and tuple(sorted(row)) == tuple(sorted(columns)):
        return {name: row[name] for name in columns}
    if isinstance(row, list | tuple) and len(row) == len(columns):
        return dict(zip(columns, row, strict=True))
    raise GraderError(
        f"The expected row {show(row)} does not fit the columns {show(list(columns))}.", code="bad_check"
    )


def _kind_of(spec: CsvCheck, name: str, expected: Sequence[Any]) -> CellType:
    """How the cells of a column are compared: as declared, else as the expected values are written."""
    if name in spec.types:
        return spec.types[name]
    if any(isinstance(value, bool) for value in expected):
        return "boolean"
    return "number" if any(exact(value) is not None for value in expected) else "text"


def _value(cell: Any, kind: CellType) -> Any:
    """A found or expected cell as what its column holds; text that is none of it stays text."""
    if cell is None or cell == "":
        return ""
    value = typed(cell, kind) if isinstance(cell, str) else None
    return cell if value is None else value


def _source_selector(preserves: Preserves) -> str:
    scheme, _, path = preserves.of.partition(":")
    return f"file_before:{path}" if scheme == "file" else preserves.of


def _source(
    preserves: Preserves | None, given: GraderInput
) -> tuple[list[str], tuple[str, ...]] | Undecided | None:
    """The cells that the source holds, and where it stands; undecided when the recording has no such source."""
    if preserves is None:
        return None
    found = select(_source_selector(preserves), given)
    if isinstance(found, Absent):
        return Undecided(reason=f"nothing shows what the source held: {found.reason}")
    return _source_cells(preserves, found), found.evidence


def _source_cells(preserves: Preserves, found: Found) -> list[str]:
    if not isinstance(found.value, str):
        raise bad_state(f"The source {preserves.of} is {show(found.value)}, not the text of a table")
    try:
        table = read_table(found.value, preserves.delimiter)
    except NotATableError as problem:
        raise bad_state(f"The source {preserves.of} is no table: {problem}") from None
    conditions = conditions_of(preserves.where)
    name = preserves.source_column or preserves.column
    for needed in (name, *(condition.column for condition in conditions)):
        if needed not in table.columns:
            raise bad_state(f"The source {preserves.of}: {_no_column(table, needed)}")
    at = {column: position for position, column in enumerate(table.columns)}
    return [
        row[at[name]]
        for row in table.rows
        if all(_holds(condition, row[at[condition.column]]) for condition in conditions)
    ]


def _preserved(preserves: Preserves, table: Table, source: list[str]) -> list[str]:
    cells = table.column(preserves.column)
    if cells is None:
        return [_no_column(table, preserves.column)]
    found = differences(cells, source)
    lacking = [show(each.expected) for each in found if each.kind == "missing"]
    extra = [show(each.found) for each in found if each.kind != "missing"]
    said_of = (
        f"of the {len(source)} {show(preserves.source_column or preserves.column)} values in {preserves.of}"
    )
    problems = []
    if lacking:
        problems.append(f"{said_of}, {preserves.column} lacks {names(lacking)}")
    if extra:
        problems.append(f"{preserves.column} has {names(extra)}, which {preserves.of} does not have there")
    return problems


def _nothing_to_see(spec: CsvCheck, table: Table) -> Iterator[str]:
    """A table without rows shows nothing about what every row must be, unless it may be empty."""
    about_rows = bool(spec.types or spec.tz or spec.where)
    if about_rows and not table.rows and spec.rows is None and spec.preserves is None:
        yield "it has no rows, so it does not show what its rows must be"
