"""`sql`: the rows that a query gives on the database of a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from steelyard.checks.comparison import differences, said
from steelyard.checks.findings import failed, passed
from steelyard.checks.show import counted, show
from steelyard.checks.sqlite import NoSuchNameError, Rows, query_rows
from steelyard.checks.states import At, folder_of, no_part, part_of, real_place
from steelyard.errors import GraderError
from steelyard.model.state_checks import SqlCheck
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: SqlCheck) -> frozenset[str]:
    """The state that it queries; the start too, which shows whether a table that is gone was there."""
    part = "sqlite" if spec.db is None else "files"
    start = f"state_before:{part}"
    return frozenset({f"state_after:{part}", start}) if spec.at == "end" else frozenset({start})


def grade(spec: SqlCheck, given: GraderInput) -> Finding:
    """1 when the rows are the expected ones, else 0 with those that differ.

    A table or column that is not there is a fail when it was there at the start. Undecided where the recording has no
    database. Raises `GraderError`: `bad_state`, `bad_query`, `bad_check`, `too_large`, `timeout`.
    """
    path = _database(spec, given, spec.at)
    if isinstance(path, Undecided):
        return path
    if path is None:
        return failed(f"there is no database {show(spec.db)} in the {spec.at} state", _evidence(spec))
    try:
        found = query_rows(path, spec.query)
    except NoSuchNameError as problem:
        return _lacking(spec, given, problem)
    return _compared(spec, found)


def _database(spec: SqlCheck, given: GraderInput, at: At) -> str | Undecided | None:
    if spec.db is None:
        path = part_of(given.trace, at, "sqlite")
        return path if isinstance(path, str) else Undecided(reason=no_part(at, "sqlite"))
    root = folder_of(given.trace, at)
    return Undecided(reason=no_part(at, "files")) if root is None else real_place(root, spec.db)


def _evidence(spec: SqlCheck) -> tuple[str, ...]:
    if spec.db is None or not spec.db.isprintable():
        return ()
    return (f"{'file' if spec.at == 'end' else 'file_before'}:{spec.db}",)


def _lacking(spec: SqlCheck, given: GraderInput, problem: NoSuchNameError) -> Finding:
    """What the agent took away is its failure; what never was there is a fault of the check."""
    before = _database(spec, given, "start") if spec.at == "end" else None
    if isinstance(before, str):
        try:
            query_rows(before, spec.query)
            return failed(f"{problem}, which the start state has", _evidence(spec))
        except NoSuchNameError:
            pass
    raise GraderError(f"The query cannot be run: {problem} in the {spec.at} state.", code="bad_query")


def _compared(spec: SqlCheck, found: Rows) -> Finding:
    expected = [_expected_row(row, found.columns) for row in spec.rows]
    names = _names(found.columns)
    actual = [dict(zip(names, row, strict=True)) for row in found.rows]
    wanted = [dict(zip(names, row, strict=True)) for row in expected]
    unlike = differences(
        actual,
        wanted,
        ordered=spec.ordered,
        abs_tol=Fraction(spec.abs_tol),
        key=[name for name in spec.key if name in names],
    )
    if unlike:
        counts = (
            f" ({counted(len(actual), 'row')}, expected {len(wanted)})" if len(actual) != len(wanted) else ""
        )
        return failed(f"the query{counts}: {said(unlike, 'the result', rows=True)}", _evidence(spec))
    return passed(f"the query gives {counted(len(actual), 'row')}, as expected", _evidence(spec))


def _names(columns: Sequence[str]) -> list[str]:
    """Names to compare by: the columns', each once."""
    return [
        name if columns.count(name) == 1 else f"{name} (column {index})"
        for index, name in enumerate(columns, 1)
    ]


def _expected_row(row: Any, columns: Sequence[str]) -> Sequence[Any]:
    if isinstance(row, Mapping):
        if len(set(columns)) == len(columns) and set(row) == set(columns):
            return [row[name] for name in columns]
    elif isinstance(row, list | tuple) and len(row) == len(columns):
        return list(row)
    raise GraderError(
        f"The expected row {show(row)} does not fit the columns of the query, {show(list(columns))}.",
        code="bad_check",
    )
