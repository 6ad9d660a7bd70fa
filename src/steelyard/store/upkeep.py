"""What is done to a store on the user's word: looked through, repaired, given its unused space back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from steelyard.errors import StoreError, UsageError
from steelyard.store.checking import StoreCheck, look_through
from steelyard.store.connection import BUSY_SECONDS, connect, is_foreign, path_of, transaction, typed_errors
from steelyard.store.lease import live
from steelyard.store.logfile import log_of, read_log
from steelyard.store.reading_only import connect_to_read
from steelyard.store.salvage import DROP_UNUSED_PAYLOADS, salvage
from steelyard.store.sqlite import SqliteStore

_ABOUT_LOG = frozenset({"broken_log", "foreign_log"})


def check_store(url_or_path: str | Path, *, now: Callable[[], str], repair: bool = False) -> StoreCheck:
    """Look through a whole store; with `repair`, set a damaged one aside and save what it holds.

    A clean store is not touched by `repair`. UsageError when there is none; StoreError when the file is no store, was
    written by a newer version, or is being graded into while it should be repaired.
    """
    path = _there(url_or_path)
    try:
        found = look_through(path, now)
        return repaired(path, found, now) if repair and found.problems else found
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be read or repaired ({error.strerror or error}); check path, rights and space"
        ) from error


def open_untouched(url_or_path: str | Path, *, now: Callable[[], str]) -> SqliteStore:
    """A store to be read without a write to its file or log: an older one is not migrated where it is. StoreError."""
    path = path_of(url_or_path)
    connection, scratch = connect_to_read(path, now=now, seconds=BUSY_SECONDS, touch=False)
    return SqliteStore(path, connection, now=now, busy_seconds=BUSY_SECONDS, scratch=scratch)


def repaired(path: Path, found: StoreCheck, now: Callable[[], str]) -> StoreCheck:
    """Set aside what is damaged; where that is only the log, the file behind it goes on as it is."""
    _refuse_while_live(path, "repaired")
    aside: list[Path] = []
    if {problem.code for problem in found.problems} <= _ABOUT_LOG:
        aside.append(_set_log_aside(path))
        found = look_through(path, now)
    if not found.problems:
        return msgspec.structs.replace(found, set_aside=tuple(map(str, aside)))
    rescued = _beside(path, ".rescued")
    try:
        _remove(rescued)
        saved = salvage(path, rescued, now=now)
        aside += _set_aside(path)
        os.replace(rescued, path)
    finally:
        _remove(rescued)
    return msgspec.structs.replace(look_through(path, now), set_aside=tuple(map(str, aside)), saved=saved)


def _set_log_aside(path: Path) -> Path:
    """A log of which the beginning is right is copied: SQLite then takes over what was committed in it."""
    target = log_of(_free_name(path))
    log = log_of(path)
    if read_log(log).commits and not is_foreign(path):
        shutil.copyfile(log, target)
        connection = connect(path, now=str, seconds=BUSY_SECONDS)
        connection.close()
    else:
        os.replace(log, target)
    _shared(path).unlink(missing_ok=True)
    return target


def _set_aside(path: Path) -> list[Path]:
    """Give the damaged file and its log another name, together, so that SQLite's own tools still take them as one.

    The file keeps its old name too, until the new one replaces it.
    """
    target = _free_name(path)
    aside = [target]
    try:
        os.link(path, target)
    except (OSError, AttributeError):  # a file system without links
        shutil.copyfile(path, target)
    if log_of(path).exists():
        os.replace(log_of(path), log_of(target))
        aside.append(log_of(target))
    _shared(path).unlink(missing_ok=True)
    return aside


def _free_name(path: Path) -> Path:
    number = 1
    while any(_beside(path, f".damaged-{number}{end}").exists() for end in ("", "-wal")):
        number += 1
    return _beside(path, f".damaged-{number}")


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _shared(path: Path) -> Path:
    return _beside(path, "-shm")


def _remove(path: Path) -> None:
    for stale in (path, log_of(path), _shared(path)):
        stale.unlink(missing_ok=True)


def _refuse_while_live(path: Path, what: str) -> None:
    if live(path):
        raise StoreError(
            f"the store {path} cannot be {what} while a run is being graded into it; wait for its end, then try again"
        )


class StoreVacuum(msgspec.Struct, frozen=True, kw_only=True):
    """What a vacuum did: bytes of file and log before and after, and how many findings it dropped."""

    store: str
    bytes_before: int
    bytes_after: int
    dropped: int = 0


def vacuum_store(
    url_or_path: str | Path, *, now: Callable[[], str], drop_findings: bool = False
) -> StoreVacuum:
    """Give back the space that a store does not need; with `drop_findings` also that of findings no run names.

    UsageError when there is no store; StoreError while a run is being graded into it, or when it cannot be written.
    """
    path = _there(url_or_path)
    before = _size(path)
    _refuse_while_live(path, "vacuumed")
    connection = connect(path, now=now, seconds=BUSY_SECONDS)
    try:
        dropped = 0
        with transaction(connection, path, BUSY_SECONDS):
            if drop_findings:
                dropped = connection.execute(_DROP_UNNAMED).rowcount
            connection.execute(DROP_UNUSED_PAYLOADS)
        with typed_errors(path, BUSY_SECONDS):
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    return StoreVacuum(store=str(path), bytes_before=before, bytes_after=_size(path), dropped=dropped)


_DROP_UNNAMED = "DELETE FROM cache WHERE payload_id NOT IN (SELECT payload_id FROM verdict)"


def _there(url_or_path: str | Path) -> Path:
    path = path_of(url_or_path)
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name the file of the store, such as {path / 'store.db'}")
    if not path.is_file():
        raise UsageError(f"there is no store at {path}; `steelyard grade` makes one, or name it with --store")
    return path


def _size(path: Path) -> int:
    log = log_of(path)
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)
