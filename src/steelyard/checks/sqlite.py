"""One query on a SQLite file that nobody vouches for: read only, in bounded time and memory."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from steelyard.checks.show import show
from steelyard.checks.states import bad_state
from steelyard.errors import GraderError, GraderTimeoutError

SECONDS = 5.0
"""Time limit of one query."""
MAX_ROWS = 50_000
MAX_BYTES = 32 * 1024 * 1024
"""Bytes of text and blobs in all rows together."""
MAX_COPIED = 1024**3
"""Bytes of a database that must be copied because it was not closed."""

_STEPS = 10_000
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_REFUSED_FUNCTIONS = frozenset(
    {
        "load_extension",
        "random",
        "zeroblob",
        "randomblob",
        "current_timestamp",
        "current_date",
        "current_time",
        "fts3_tokenizer",
    }
)
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_BYTES,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_CLOCKS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
"""Functions of times; each reads the clock when it is not told a time."""
_UNCLOSED = ("-wal", "-journal")


class NoSuchNameError(Exception):
    """The database has no table or column of a name that the query uses. The message is SQLite's."""


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of a query as SQLite names them, and its rows: None, int, float, text, or bytes for a blob."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def query_rows(path: str, query: str) -> Rows:
    """The rows that a query gives.

    Raises `NoSuchNameError`; `GraderError`: `bad_state` (no database, or a damaged one), `bad_query`, `too_large`,
    `timeout`.
    """
    with _opened(path) as connection:
        return _run(connection, query, path)


@contextmanager
def _opened(path: str) -> Iterator[sqlite3.Connection]:
    """A connection that can do nothing but read. A database that was not closed is read from a copy, recovered."""
    try:
        path = os.path.realpath(path)
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise bad_state(f"The database {show(path)} is no regular file")
    except (OSError, ValueError) as problem:
        raise bad_state(f"The database {show(path)} cannot be read: {_why(problem)}") from None
    if not any(_size(path + suffix) for suffix in _UNCLOSED):
        with _connected(path, "mode=ro&immutable=1") as connection:
            yield connection
        return
    with (
        tempfile.TemporaryDirectory(prefix="steelyard-") as folder,
        _connected(_copied(path, folder), "mode=rw") as connection,
    ):
        yield connection


def _copied(path: str, folder: str) -> str:
    """What was written last may stand in the log beside the file, which an immutable reading would not see."""
    target = os.path.join(folder, "state.db")
    if sum(_size(path + suffix) for suffix in ("", *_UNCLOSED)) > MAX_COPIED:
        raise GraderError(
            f"The database {show(path)} was not closed and is too large to be copied.", code="too_large"
        )
    try:
        for suffix in ("", *_UNCLOSED):
            if _size(path + suffix):
                shutil.copyfile(path + suffix, target + suffix)
    except OSError as problem:
        raise bad_state(f"The database {show(path)} cannot be read: {_why(problem)}") from None
    return target


def _why(problem: Exception) -> str:
    return str(getattr(problem, "strerror", None) or problem)


def _size(path: str) -> int:
    try:
        # A log that is a link is none: what it leads to was never part of the state.
        found = os.lstat(path)
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


@contextmanager
def _connected(path: str, options: str) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(
            f"{Path(path).absolute().as_uri()}?{options}", uri=True, isolation_level=None
        )
    except sqlite3.Error as problem:
        raise bad_state(f"The database {show(path)} cannot be opened: {problem}") from None
    try:
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        connection.text_factory = _text
        for name in _CLOCKS:
            connection.create_function(name, -1, _without_clock(name), deterministic=True)
        yield connection
    finally:
        connection.close()


def _without_clock(name: str) -> Callable[..., Any]:
    """SQLite's own function of times, refused where it would read the clock: no time given, or `now`."""
    first = 1 if name == "strftime" else 0

    def convert(*arguments: Any) -> Any:
        if len(arguments) <= first or "now" in str(arguments[first]).strip().lower():
            raise ValueError("the time of day is no part of an end state")
        with closing(sqlite3.connect(":memory:")) as calendar:
            marks = ", ".join("?" * len(arguments))
            return calendar.execute(f"SELECT {name}({marks})", arguments).fetchone()[0]

    return convert


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _run(connection: sqlite3.Connection, query: str, path: str) -> Rows:
    deadline = time.monotonic() + SECONDS
    try:
        # Functions and tables that the file itself brings in, by views and triggers, are not trusted.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        _know_json(connection)
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        cursor = connection.execute(query)
        if cursor.description is None:
            raise GraderError("The query gives no rows; write one SELECT.", code="bad_query")
        return Rows(columns=tuple(column[0] for column in cursor.description), rows=tuple(_bounded(cursor)))
    except sqlite3.Warning as problem:
        raise GraderError(f"The query is not one statement: {problem}.", code="bad_query") from None
    except sqlite3.Error as problem:
        raise _refused(problem, path) from None


def _know_json(connection: sqlite3.Connection) -> None:
    """The table functions of JSON declare themselves at their first use, which the authorizer would refuse."""
    for name in ("json_each", "json_tree"):
        with suppress(sqlite3.OperationalError):
            connection.execute(f"SELECT 1 FROM {name}('[]')").fetchone()


def _bounded(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    size = 0
    for number, row in enumerate(cursor, 1):
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if number > MAX_ROWS or size > MAX_BYTES:
            raise GraderError(
                f"The query gives more than {MAX_ROWS} rows or {MAX_BYTES // 1024**2} MB; let it count or select.",
                code="too_large",
            )
        yield row


def _refused(problem: sqlite3.Error, path: str) -> Exception:
    said = str(problem)
    if "interrupted" in said:
        return GraderTimeoutError(f"The query ran longer than {SECONDS:g} seconds; let it read less.")
    if said.startswith(("no such table", "no such column")):
        return NoSuchNameError(said)
    if any(word in said for word in ("not authorized", "authorization denied", "prohibited")):
        return GraderError(
            f"The query does more than read, or reads clock or chance: {said}.", code="bad_query"
        )
    if "too big" in said:
        return GraderError(f"The query makes a value of absurd size: {said}.", code="too_large")
    if isinstance(problem, sqlite3.OperationalError | sqlite3.ProgrammingError) and not _of_the_file(said):
        return GraderError(f"The query cannot be run: {said}.", code="bad_query")
    return bad_state(f"The database {show(path)} cannot be read: {said}")


def _of_the_file(said: str) -> bool:
    return any(word in said for word in ("unable to open", "disk I/O", "readonly", "locked", "malformed"))
