"""A store that may be read and not written: opened where it lies if that is safe, else as a private copy."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from steelyard.errors import StoreError
from steelyard.store.connection import connect, look_at, missing_migrations, typed_errors
from steelyard.store.logfile import log_of

Scratch = tempfile.TemporaryDirectory[str]
_NO_PLACE = (
    "SQLITE_READONLY",
    "SQLITE_CANTOPEN",
    "SQLITE_PERM",
    "SQLITE_AUTH",
    "SQLITE_IOERR",
    "SQLITE_FULL",
)
"""SQLite writes a little even to read: that is what a read-only or full disk refuses."""


def connect_to_read(
    path: Path, *, now: Callable[[], str], seconds: float, touch: bool = True
) -> tuple[sqlite3.Connection, Scratch | None]:
    """A connection that is only read from, and the folder of the copy behind it, if one was needed.

    A store that may be written is opened as for writing (an older one is then migrated), unless `touch` is false.
    StoreError as for `connect`.
    """
    if touch and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        try:
            return connect(path, now=now, seconds=seconds), None
        except StoreError as error:
            if not _for_want_of_place(error):
                raise
    look_at(path, make_folder=False)
    in_place = _in_place(path)
    if in_place is not None:
        return in_place, None
    return _copied(path, now=now, seconds=seconds)


def _for_want_of_place(error: StoreError) -> bool:
    name = getattr(error.__cause__, "sqlite_errorname", "") or ""
    return name.startswith(_NO_PLACE)


def _in_place(path: Path) -> sqlite3.Connection | None:
    """The file itself; null where its log must be read and cannot be, or its tables are those of an older version.

    Without a log nobody has it open, and the file alone says everything.
    """
    log = log_of(path)
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
    except sqlite3.Error:
        return None
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        if not missing_migrations(path, connection):
            return connection
    except sqlite3.Error:
        pass
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def _copied(path: Path, *, now: Callable[[], str], seconds: float) -> tuple[sqlite3.Connection, Scratch]:
    scratch = tempfile.TemporaryDirectory(prefix="steelyard-", ignore_cleanup_errors=True)
    copy = Path(scratch.name) / "store.db"
    try:
        shutil.copyfile(path, copy)
        if log_of(path).exists():
            shutil.copyfile(log_of(path), log_of(copy))
        with typed_errors(path, seconds):
            return connect(copy, now=now, seconds=seconds), scratch
    except OSError as error:
        scratch.cleanup()
        raise StoreError(
            f"the store {path} cannot be read where it is, nor copied to be read ({error.strerror or error}); "
            "free some space, or give this user the right to write the file and its folder"
        ) from error
    except BaseException:
        scratch.cleanup()
        raise
