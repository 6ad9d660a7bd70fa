"""One SQLite file: opened, checked, migrated; every failure of it is a sentence that says what to do next."""

from __future__ import annotations

import re
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import StoreError, UsageError
from steelyard.store.logfile import HEADER, identity_in_log, log_of, read_header
from steelyard.store.schema import ADD_MIGRATION, APPLIED, MIGRATIONS, NEW, SQLITE

BUSY_SECONDS = 30.0
"""How long a writer waits for another one. Batches take milliseconds, so this is only reached when one hangs."""

_MAGIC = b"SQLite format 3\x00"
_MOMENT = 0.2
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://(?P<rest>.*)", re.S)
_ELSEWHERE = "or keep runs elsewhere with STEELYARD_STORE=sqlite:///PATH"


def path_of(url_or_path: str | Path) -> Path:
    """The file that `sqlite:///relative`, `sqlite:////absolute`, `sqlite:///C:/x` or a plain path means.

    A link gives the file it leads to, since SQLite keeps its log beside that one. UsageError for other URLs and for
    what no file can be called.
    """
    text = str(url_or_path)
    matched = _URL.fullmatch(text)
    if matched is not None and matched["scheme"].lower() in ("postgresql", "postgres"):
        raise UsageError(f"stores in PostgreSQL are not there yet; write sqlite:///PATH instead of {text!r}")
    if matched is not None and (matched["scheme"].lower() != "sqlite" or not matched["rest"].startswith("/")):
        raise UsageError(f"{text!r} is no store; write sqlite:///PATH (four slashes for an absolute path)")
    name = matched["rest"][1:] if matched is not None else text
    if not name or "\0" in name or name.startswith(":memory:"):
        raise UsageError(f"{text!r} names no file; write the store as sqlite:///PATH")
    path = Path(name)
    return path.resolve() if path.is_symlink() else path


@contextmanager
def typed_errors(path: Path, seconds: float) -> Iterator[None]:
    """Turns what SQLite raises into StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(sentence(path, seconds, error)) from error


def sentence(path: Path, seconds: float, error: sqlite3.Error) -> str:
    """What happened to the store, and what to do next."""
    name = getattr(error, "sqlite_errorname", "") or ""
    kind = "_".join(name.split("_")[:2])
    if kind in ("SQLITE_BUSY", "SQLITE_LOCKED"):
        return (
            f"the store {path} is locked: another program has been writing to it for more than {seconds:g} s; "
            f"wait for it or stop it, then try again, {_ELSEWHERE}"
        )
    if kind == "SQLITE_FULL" or (kind in _MAY_BE_SPACE and not _has_space(path)):
        return (
            f"the disk of the store {path} is full; free some space and run again with --resume: "
            f"every trial that was committed is kept; {_ELSEWHERE}"
        )
    if kind in ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"):
        return (
            f"the store {path} cannot be opened for writing ({error}); give this user the right to write the "
            f"file and its folder, {_ELSEWHERE}, or use --no-store"
        )
    if kind in ("SQLITE_CORRUPT", "SQLITE_NOTADB") or "decode to UTF-8" in str(error):
        return damaged(path, str(error))
    return f"the store {path} cannot be used ({error}); check its disk, {_ELSEWHERE}"


_MAY_BE_SPACE = ("SQLITE_IOERR", "SQLITE_CANTOPEN")
_LEAST_SPACE = 128 * 1024
"""SQLite asks for a log and 32 KiB of shared memory before it reads; without room it speaks of an I/O error."""


def _has_space(path: Path) -> bool:
    folder = path.parent
    try:
        return shutil.disk_usage(folder).free >= _LEAST_SPACE
    except OSError:
        return True


def _not_a_store(path: Path) -> str:
    return (
        f"{path} is not a Steelyard store; it was left as it is; move it away to start a new one, {_ELSEWHERE}; "
        "if it was one, `steelyard store check` says what can be saved"
    )


def damaged(path: Path, detail: str) -> str:
    """The sentence for a store whose content makes no sense."""
    return (
        f"the store {path} is damaged ({detail}); it was left as it is: `steelyard store check` says what is wrong, "
        "and with --repair it sets the damaged file aside and saves every whole trial; or move it away to start a new "
        "one"
    )


def connect(path: Path, *, now: Callable[[], str], seconds: float) -> sqlite3.Connection:
    """Open and, where needed, create or migrate. StoreError when that cannot be; the file is then as it was."""
    look_at(path, make_folder=True)
    with typed_errors(path, seconds):
        connection = sqlite3.connect(path, timeout=seconds, isolation_level=None)
    try:
        with typed_errors(path, seconds):
            connection.execute(
                "PRAGMA trusted_schema = OFF"
            )  # views and triggers of a forged file run nothing
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(
                "PRAGMA cache_size = -16000"
            )  # KiB; a batch that does not fit is written twice
            missing = missing_migrations(path, connection)
            _write_ahead(connection, seconds)
            connection.execute("PRAGMA synchronous = FULL")  # a commit outlives a power cut
            if missing:
                migrate(path, connection, now=now, seconds=seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def look_at(path: Path, *, make_folder: bool) -> None:
    """Refuse what SQLite would take for an empty database. StoreError."""
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise StoreError(f"{path} is a folder; name a file for the store, such as {path / 'store.db'}")
        if path.exists() and (problem := _problem_of(path)):
            time.sleep(_MOMENT)  # another process may just be making or closing it
            if problem := _problem_of(path):
                raise StoreError(problem)
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be opened ({error.strerror or error}); check path and rights, {_ELSEWHERE}"
        ) from error


def _problem_of(path: Path) -> str | None:
    """What SQLite would throw away without a word, or write into a file that it is not of."""
    with path.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start and start != _MAGIC:
        return _not_a_store(path)
    log = log_of(path)
    size = log.stat().st_size if log.exists() else 0
    if size < HEADER:  # a log that was just begun holds nothing yet
        return None
    if not start:
        return damaged(path, f"the file is empty, and its log {log.name} is not")
    if read_header(log) is None:
        return damaged(path, f"its log {log.name} has no header that can be read")
    return damaged(path, f"the log {log.name} is that of another store") if is_foreign(path) else None


def is_foreign(path: Path) -> bool:
    """Whether the log beside a store was written for another one. Stores of older versions carry no number to tell."""
    with path.open("rb") as file:
        own = int.from_bytes(file.read(64)[60:64], "big")
    logged = identity_in_log(log_of(path))
    return bool(own and logged and own != logged)


def missing_migrations(path: Path, connection: sqlite3.Connection) -> Sequence[str]:
    """Names of the migrations that the file still needs. StoreError for a newer store or another program's file."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables and pages > 1:
        raise StoreError(damaged(path, f"it has {pages} pages, and its first one names no table"))
    if not tables:
        return [name for name, _ in MIGRATIONS]
    if "migration" not in tables:
        raise StoreError(_not_a_store(path))
    try:
        applied = {name for (name,) in connection.execute(APPLIED)}
    except sqlite3.OperationalError as error:
        if "no such column" in str(error):
            raise StoreError(_not_a_store(path)) from error
        raise
    known = {name for name, _ in MIGRATIONS}
    if applied - known:
        newer = ", ".join(sorted(map(str, applied - known)))
        raise StoreError(
            f"the store {path} was written by a newer Steelyard (it has {newer}); "
            f"nothing was changed: upgrade with `pip install -U steelyard`, {_ELSEWHERE}"
        )
    return [name for name, _ in MIGRATIONS if name not in applied]


def _write_ahead(connection: sqlite3.Connection, seconds: float) -> None:
    """Switch to a write-ahead log, so that readers and a writer do not wait for each other.

    Another process that does the same at the same moment makes SQLite say busy at once, without its usual patience.
    """
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        return
    until = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def migrate(path: Path, connection: sqlite3.Connection, *, now: Callable[[], str], seconds: float) -> None:
    """Apply every missing migration in one transaction: all of them or none."""
    with transaction(connection, path, seconds):
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone() is None:
            connection.execute(NEW)
            number = 1 + secrets.randbelow(2**31 - 2)  # which store this is: see `is_foreign`
            connection.execute(f"PRAGMA user_version = {number}")
        missing = missing_migrations(path, connection)  # again: another process may have been faster
        for name, statements in MIGRATIONS:
            if name not in missing:
                continue
            for statement in statements:
                connection.execute(statement.format(**SQLITE))
            connection.execute(ADD_MIGRATION, (name, now()))


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path, seconds: float) -> Iterator[None]:
    """One write transaction; nothing of it stays when anything raises. StoreError for what SQLite raises."""
    with typed_errors(path, seconds):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
