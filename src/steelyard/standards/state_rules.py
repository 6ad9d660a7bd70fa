"""What must hold for checks of end states before any run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from steelyard.model.state_checks import (
    CsvCheck,
    FilesCheck,
    Preserves,
    ProvenanceCheck,
    RowCondition,
    SqlCheck,
    StateCheck,
)
from steelyard.standards.problems import quoted, suggestion
from steelyard.standards.queries import query_fault
from steelyard.standards.references import pointer_fault, state_path_fault
from steelyard.standards.schemas import schema_fault

Steps = tuple[str | int, ...]
Finding = tuple[Steps, str]

_HASH = re.compile(r"[0-9a-fA-F]{64}")
_PATTERN_SIGNS = "*?"


def _files(check: FilesCheck) -> Iterator[Finding]:
    if not (check.exists or check.absent or check.unchanged or check.sha256):
        yield (), "needs files to look at: exists, absent, unchanged or sha256"
    yield from _paths(check)
    for path, digest in check.sha256.items():
        if not _HASH.fullmatch(digest):
            yield ("sha256", path), f"{quoted(digest)} is no SHA-256; write its 64 hexadecimal digits"
    for index, path in enumerate(check.absent):
        if path in check.exists or path in check.sha256:
            yield ("absent", index), f"{quoted(path)} is to be there as well, so the check could never pass"
    if check.at == "start" and check.unchanged:
        yield ("unchanged",), "compares the end with the start, so it cannot stand beside `at: start`"


def _paths(check: FilesCheck) -> Iterator[Finding]:
    for name in ("exists", "absent", "unchanged"):
        for index, path in enumerate(getattr(check, name)):
            fault = state_path_fault(path)
            if fault:
                yield (name, index), fault
            elif name != "unchanged" and any(sign in path for sign in _PATTERN_SIGNS):
                yield (name, index), f"{quoted(path)} looks like a pattern; only `unchanged` takes patterns"
    for path in check.sha256:
        fault = state_path_fault(path)
        if fault:
            yield ("sha256", path), fault


def _csv(check: CsvCheck) -> Iterator[Finding]:
    stated = (check.columns, check.rows, check.types or None, check.tz, check.where or None, check.preserves)
    if all(part is None for part in stated):
        yield (), "needs something to look for: columns, rows, types, tz, where or preserves"
    yield from _column_names(check)
    yield from _expected_rows(check.rows or (), check.columns)
    if check.tz is not None:
        fault = zone_fault(check.tz)
        if fault:
            yield ("tz",), fault
    yield from _delimiter(check.delimiter, ("delimiter",))
    yield from _conditions(check.where, ("where",), check.columns)
    yield from _tolerance(check.abs_tol)
    if check.rows is None and (check.ordered or check.key):
        yield ("ordered" if check.ordered else "key",), "belongs to `rows`, which are not given"
    if check.preserves is not None:
        yield from _preserves(check.preserves)


def _column_names(check: CsvCheck) -> Iterator[Finding]:
    if check.columns is None:
        return
    if not check.columns:
        yield ("columns",), "is empty; name the columns"
    for index, name in enumerate(check.columns):
        if name in check.columns[:index]:
            yield ("columns", index), f"{quoted(name)} stands more than once"
    used: list[tuple[Steps, str]] = [(("types", name), name) for name in check.types]
    used += [(("optional", index), name) for index, name in enumerate(check.optional)]
    used += [(("key", index), name) for index, name in enumerate(check.key)]
    if check.preserves is not None:
        used.append((("preserves", "column"), check.preserves.column))
    for path, name in used:
        if name not in check.columns:
            yield path, f"{quoted(name)} is none of the columns{suggestion(name, check.columns)}"


def _expected_rows(rows: Sequence[Any], columns: Sequence[str] | None) -> Iterator[Finding]:
    """Rows are all lists, or all mappings of the same columns."""
    first = rows[0] if rows else None
    for index, row in enumerate(rows):
        if not isinstance(row, list | tuple | Mapping):
            yield ("rows", index), "must be a list of cells, or a mapping of columns"
        elif isinstance(row, Mapping) != isinstance(first, Mapping):
            yield (
                ("rows", index),
                "is written another way than the first row; write all as lists or all as mappings",
            )
        elif isinstance(row, Mapping) and isinstance(first, Mapping):
            yield from _mapped_row(row, first, columns, index)
        elif columns is not None and len(row) != len(columns):
            yield ("rows", index), f"has {len(row)} cells for {len(columns)} columns"
        if isinstance(row, list | tuple | Mapping):
            yield from _cells(row, index)


def _mapped_row(
    row: Mapping[str, Any], first: Mapping[str, Any], columns: Sequence[str] | None, index: int
) -> Iterator[Finding]:
    if not row:
        yield ("rows", index), "names no column"
    elif set(row) != set(first):
        yield (
            ("rows", index),
            "names other columns than the first row; a row says what every compared column holds",
        )
    for name in row:
        if columns is not None and name not in columns:
            yield ("rows", index, name), f"{quoted(name)} is none of the columns{suggestion(name, columns)}"


def _cells(row: Any, index: int) -> Iterator[Finding]:
    cells = row.items() if isinstance(row, Mapping) else enumerate(row)
    for place, cell in cells:
        if isinstance(cell, Mapping | list | tuple):
            yield ("rows", index, place), "must be one value: text, a number, true, false or null"


def _conditions(
    where: Sequence[RowCondition] | RowCondition, path: Steps, columns: Sequence[str] | None
) -> Iterator[Finding]:
    single = isinstance(where, RowCondition)
    for index, condition in enumerate([where] if isinstance(where, RowCondition) else where):
        here = path if single else (*path, index)
        if columns is not None and condition.column not in columns:
            yield (
                (*here, "column"),
                f"{quoted(condition.column)} is none of the columns{suggestion(condition.column, columns)}",
            )
        several = isinstance(condition.value, list | tuple)
        if condition.op in ("in", "not_in") and not several:
            yield (*here, "value"), f"must be a list of values for `{condition.op}`"
        elif condition.op not in ("in", "not_in") and isinstance(condition.value, Mapping | list | tuple):
            yield (*here, "value"), f"must be one value for `{condition.op}`"
        if condition.op in ("filled", "empty") and condition.value is not None:
            yield (*here, "value"), f"means nothing beside `{condition.op}`; drop it"


def _preserves(preserves: Preserves) -> Iterator[Finding]:
    scheme, _, path = preserves.of.partition(":")
    if scheme not in ("file", "file_before") or not path:
        yield ("preserves", "of"), f"must be file:PATH of the start state, not {quoted(preserves.of)}"
    else:
        fault = state_path_fault(path)
        if fault:
            yield ("preserves", "of"), fault
    yield from _conditions(preserves.where, ("preserves", "where"), None)
    yield from _delimiter(preserves.delimiter, ("preserves", "delimiter"))


def _delimiter(delimiter: str, path: Steps) -> Iterator[Finding]:
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        yield path, f"{quoted(delimiter)} is not one character that can stand between cells"


def _tolerance(abs_tol: Decimal) -> Iterator[Finding]:
    if abs_tol < 0:
        yield ("abs_tol",), f"is {abs_tol:f}; a tolerance is 0 or more"


@lru_cache(maxsize=1024)
def zone_fault(tz: str) -> str | None:
    """Why a text is no time zone, or None."""
    if tz == "UTC":
        return None
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(tz)
    except (KeyError, ValueError, OSError):
        known = sorted(zoneinfo.available_timezones())
        near = suggestion(tz, known)
        hint = near if "did you mean" in near else "; write UTC or a name such as Europe/Berlin"
        return f"unknown time zone {quoted(tz)}{hint}"
    return None


def _sql(check: SqlCheck) -> Iterator[Finding]:
    fault = query_fault(check.query)
    if fault:
        yield ("query",), fault
    yield from _expected_rows(check.rows, None)
    for index, row in enumerate(check.rows):
        cells = row.values() if isinstance(row, Mapping) else row if isinstance(row, list | tuple) else ()
        if any(isinstance(cell, bool) for cell in cells):
            yield ("rows", index), "holds true or false, which SQLite does not have; write 1 or 0"
    for index, name in enumerate(check.key):
        if check.rows and not (isinstance(check.rows[0], Mapping) and name in check.rows[0]):
            yield ("key", index), f"{quoted(name)} is no column of the rows; write them as mappings by column"
    yield from _tolerance(check.abs_tol)
    if check.db is not None:
        fault = state_path_fault(check.db)
        if fault:
            yield ("db",), fault


def _state(check: StateCheck) -> Iterator[Finding]:
    if check.value is msgspec.UNSET and check.schema is msgspec.UNSET:
        yield (), "needs `value` or `schema`"
    fault = pointer_fault(check.pointer)
    if fault:
        yield ("pointer",), fault
    if check.schema is not msgspec.UNSET:
        fault = schema_fault(check.schema)
        if fault:
            yield ("schema",), fault
    for index, pointer in enumerate(check.ordered_at):
        fault = pointer_fault(pointer)
        if fault:
            yield ("ordered_at", index), fault
    if check.value is msgspec.UNSET and (check.ordered or check.ordered_at):
        yield ("ordered" if check.ordered else "ordered_at",), "belongs to `value`, which is not given"
    yield from _tolerance(check.abs_tol)


def _provenance(check: ProvenanceCheck) -> Iterator[Finding]:
    for name in ("tools", "ignore_args"):
        for index, text in enumerate(getattr(check, name)):
            if not text.strip():
                yield (name, index), "is empty; write a name"


STATE_RULES: dict[type, Callable[[Any], Iterator[Finding]]] = {
    FilesCheck: _files,
    CsvCheck: _csv,
    SqlCheck: _sql,
    StateCheck: _state,
    ProvenanceCheck: _provenance,
}
