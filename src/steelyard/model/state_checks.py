"""What the graders of end states are told. They read a folder of files, a SQLite file or a JSON value.

`at` says which state: `end`, what the agent left behind (the default), or `start`, what it found.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

import msgspec

CellType = Literal["integer", "number", "text", "boolean", "date", "datetime"]
Derivation = Literal["sum", "difference", "lower", "upper", "today"]


class FilesCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="files", forbid_unknown_fields=True
):
    """Files and folders that are there, are not there, are as they were, or have a given content.

    `unchanged` compares with the start state and takes patterns (`*` within a name, `**` across folders) and folders;
    a file that came newly under a pattern is a change. `sha256` maps a path to the hash of its content (hex).
    """

    exists: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    sha256: Mapping[str, str] = {}
    at: Literal["end", "start"] = "end"


class RowCondition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One condition on a row of a table. A number in `value` compares by value, a text as it is written."""

    column: str
    op: Literal["eq", "ne", "in", "not_in", "filled", "empty"] = "eq"
    value: Any = None


class Preserves(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The values of `column` are those of a source table, each as often and as written, and no others.

    `of`: `file:PATH`, read in the start state. `source_column`: the column's name there, when it is another one.
    `where`: which rows of the source count.
    """

    of: str
    column: str
    source_column: str | None = None
    where: tuple[RowCondition, ...] | RowCondition = ()
    delimiter: str = ","


class CsvCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="csv", forbid_unknown_fields=True
):
    """A CSV table is as stated, in every part that is stated.

    `columns`: these, in this order. `types`: every cell of a column is one, and is compared as one; cells of the
    columns in `optional` may be empty. `tz`: every time states its offset, which is that of the zone at that moment
    (UTC: zero or `Z`; a time without offset is in no zone). `where`: every row meets it. `rows`: these and no others,
    as a multiset unless `ordered`; a row is a list of cells, or a mapping of the columns to compare. `key`: columns
    by which a report says which row differs.
    """

    of: str = "answer"
    columns: tuple[str, ...] | None = None
    rows: tuple[Any, ...] | None = None
    ordered: bool = False
    key: tuple[str, ...] = ()
    types: Mapping[str, CellType] = {}
    optional: tuple[str, ...] = ()
    tz: str | None = None
    where: tuple[RowCondition, ...] | RowCondition = ()
    preserves: Preserves | None = None
    abs_tol: Decimal = Decimal(0)
    """For numbers in `rows`."""
    delimiter: str = ","


class SqlCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="sql", forbid_unknown_fields=True
):
    """The rows that one SELECT gives, as a multiset unless `ordered`.

    A row is a list of values in the order of the query's columns, or a mapping by their names. Values are compared
    as SQLite holds them: 1 equals 1.0; neither equals '1', and NULL is not ''. `db`: a SQLite file among the files
    of the state, instead of the state's own database.
    """

    query: str
    rows: tuple[Any, ...]
    ordered: bool = False
    key: tuple[str, ...] = ()
    abs_tol: Decimal = Decimal(0)
    db: str | None = None
    at: Literal["end", "start"] = "end"


class StateCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="state", forbid_unknown_fields=True
):
    """The JSON state at `pointer` equals `value`, or fits a JSON Schema.

    Lists at any depth are multisets, unless `ordered`, or their place is in `ordered_at`: JSON pointers within the
    value, where `*` stands for any one step (`/orders/*/history`).
    """

    pointer: str = ""
    value: Any = msgspec.UNSET
    schema: Any = msgspec.UNSET
    ordered: bool = False
    ordered_at: tuple[str, ...] = ()
    abs_tol: Decimal = Decimal(0)
    at: Literal["end", "start"] = "end"


class ProvenanceCheck(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="provenance", forbid_unknown_fields=True
):
    """Every argument value of the calls to `tools` (none named: of every call) was there before the call.

    It stands in what the user said, the instructions, an earlier result or document, or a fact of the task: word for
    word, or as the same number, date or id. `derive` allows what can be worked out: `sum` and `difference` of two
    numbers that were there (and the sum of a column of a result), the value in `lower` or `upper` case, `today` (the
    date of the call). `ignore`: values that need no source (booleans, enums, defaults); `ignore_args`: arguments by
    name. Null and empty texts hold no value.
    """

    tools: tuple[str, ...] = ()
    derive: tuple[Derivation, ...] = ()
    ignore: tuple[Any, ...] = ()
    ignore_args: tuple[str, ...] = ()


StateSpec = FilesCheck | CsvCheck | SqlCheck | StateCheck | ProvenanceCheck
