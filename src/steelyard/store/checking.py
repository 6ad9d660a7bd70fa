"""Whether a store is sound, told in full."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from steelyard.errors import StoreError
from steelyard.store import reading, schema
from steelyard.store.connection import BUSY_SECONDS, is_foreign, sentence
from steelyard.store.encoding import decode_body
from steelyard.store.lease import live
from steelyard.store.logfile import LogFile, log_of, read_log
from steelyard.store.reading_only import connect_to_read
from steelyard.store.salvage import NONSENSE, Salvaged, holds_rows
from steelyard.store.suites import is_intact

_TABLES = ("suite", "grading", "trial", "verdict", "payload", "cache")
_MOST_TOLD = 20


class StoreProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Something wrong with a store: a stable word and a sentence."""

    code: str
    detail: str


class StoreCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a store.

    `problems` is empty where it is `clean`. `rows` counts the rows of each table, `unused` payloads that nothing names.
    `unfinished` are runs that were broken off, `live` those that are being graded right now. `log_bytes`,
    `log_commits` and `log_unfinished` are about the write-ahead log: an unfinished write in it is dropped by the next
    command, as its trials were never committed. `set_aside` and `saved` say what a repair did.
    """

    store: str
    state: Literal["clean", "damaged"]
    problems: tuple[StoreProblem, ...] = ()
    bytes: int = 0
    rows: Mapping[str, int] = {}
    unused: int = 0
    unfinished: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    log_bytes: int = 0
    log_commits: int = 0
    log_unfinished: int = 0
    set_aside: tuple[str, ...] = ()
    saved: Salvaged | None = None


def look_through(path: Path, now: Callable[[], str]) -> StoreCheck:
    """The state of a file that is there; nothing of it is changed. StoreError and OSError as for `check_store`."""
    body_size = path.stat().st_size
    log = read_log(log_of(path))
    base = StoreCheck(
        store=str(path), state="damaged", bytes=body_size, log_bytes=log.size, log_commits=log.commits,
        log_unfinished=log.unfinished,
    )  # fmt: skip
    outside = tuple(_about_files(path, body_size, log))
    if outside and not live(path):  # who grades right now writes the log while it is read
        return msgspec.structs.replace(base, problems=outside)
    try:
        connection, scratch = connect_to_read(path, now=now, seconds=BUSY_SECONDS, touch=False)
    except StoreError as error:
        if "damaged" not in str(error):
            raise
        no_database = getattr(error.__cause__, "sqlite_errorname", "") == "SQLITE_NOTADB"
        code = "lost_header" if no_database else "damaged_page"
        detail = f"SQLite does not open it ({error.__cause__ or error})"
        return msgspec.structs.replace(base, problems=(_problem(code, detail),))
    try:
        return _looked_through(path, connection, base)
    finally:
        connection.close()
        if scratch is not None:
            scratch.cleanup()


def _nothing_in(path: Path) -> str:
    aside = path.with_name(f"{path.name}.old")
    return (
        f"{path} is not a Steelyard store, and nothing of one can be found in it, so nothing can be saved; it was left "
        f"as it is. If it was one, move it aside (mv {path} {aside}) and grade again, which makes a new store"
    )


def _problem(code: str, detail: str) -> StoreProblem:
    return StoreProblem(code=code, detail=detail)


def _about_files(path: Path, size: int, log: LogFile) -> Iterator[StoreProblem]:
    """What makes it unsafe to let SQLite open the file at all. StoreError where it is no store."""
    name = log_of(path).name
    with path.open("rb") as file:
        is_sqlite = file.read(16) == b"SQLite format 3\0"
    if not size and log.commits:
        yield _problem("empty_file", f"the file is empty, and its log {name} holds {log.commits} commits")
    elif size and not is_sqlite:
        if not holds_rows(path):
            raise StoreError(_nothing_in(path))
        yield _problem("lost_header", "its first page is destroyed, and rows of a store stand behind it")
    if log.size and not log.page_size:
        yield _problem("broken_log", f"its log {name} has no header that can be read ({log.size} bytes)")
    elif size and is_sqlite and log.page_size and is_foreign(path):
        yield _problem("foreign_log", f"the log {name} is that of another store")
    elif log.broken:
        detail = (
            f"its log {name} ends in {log.broken} bytes that no program wrote so, after {log.commits} commits"
        )
        yield _problem("broken_log", detail)


def _looked_through(path: Path, connection: sqlite3.Connection, base: StoreCheck) -> StoreCheck:
    try:
        problems = tuple(_about_content(connection))
        rows = (
            {}
            if problems
            else {table: _count(connection, f"SELECT count(*) FROM {table}") for table in _TABLES}
        )
        unused = 0 if problems else _count(connection, _UNUSED)
        running = connection.execute(
            "SELECT id, name FROM grading WHERE status = 'running' ORDER BY id"
        ).fetchall()
    except sqlite3.DatabaseError as error:
        if "lock" in str(error):
            raise StoreError(sentence(path, BUSY_SECONDS, error)) from error
        return msgspec.structs.replace(base, problems=(_problem("damaged_page", str(error)),))
    working = live(path)
    return msgspec.structs.replace(
        base, state="damaged" if problems else "clean", problems=problems, rows=rows, unused=unused,
        unfinished=tuple(name for id_, name in running if id_ not in working),
        live=tuple(name for id_, name in running if id_ in working),
    )  # fmt: skip


_UNUSED = (
    "SELECT count(*) FROM payload p WHERE NOT EXISTS (SELECT 1 FROM cache c WHERE c.payload_id = p.id)"
    " AND p.id NOT IN (SELECT payload_id FROM verdict)"
)


def _count(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _about_content(connection: sqlite3.Connection) -> Iterator[StoreProblem]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({_MOST_TOLD})").fetchall():
        if line != "ok":
            yield _problem("damaged_page", str(line)[:300])
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(_MOST_TOLD):
        yield _problem("orphan", f"row {row} of {table} names a row of {parent} that is not there")
    for name, digest, body in connection.execute("SELECT name, digest, body FROM suite ORDER BY id"):
        if not is_intact(digest, body):
            detail = (
                f"a standard called {name!r:.60} is not the one that was written; grading under the same suite file "
                "again writes it anew, and a repair drops its runs"
            )
            yield _problem("changed_standard", detail)
    told = 0
    for id_, hash_, body in connection.execute("SELECT id, hash, body FROM payload ORDER BY id"):
        if told < _MOST_TOLD and not _is_payload(hash_, body):
            told += 1
            yield _problem("unreadable_payload", f"payload {id_} is not what was written")
    for id_, name in connection.execute(schema.GRADING_NAMES).fetchall():
        try:
            reading.load(connection, id_)
        except (*NONSENSE, sqlite3.DatabaseError) as error:
            yield _problem("unreadable_run", f"run {name} cannot be read: {str(error)[:200]}")


def _is_payload(hash_: object, body: object) -> bool:
    if not isinstance(body, str) or hashlib.sha256(body.encode()).digest() != hash_:
        return False
    with suppress(*NONSENSE):
        decode_body(body)
        return True
    return False
