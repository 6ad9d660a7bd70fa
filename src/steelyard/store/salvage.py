"""What a damaged store still holds, written to a new one: whole trials only, under the names and ids they had.

A row is believed when its shape is that of its table and, for standards and payloads, its text has the hash it is kept
under. A trial is whole when every criterion of its task has a verdict that can be read (a trial that ended by a fault
has none). A run that is no longer complete counts as broken off, so that `--resume` grades what is missing. The
findings that later runs would use again are not taken over: nothing says which key they belong to.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UsageError
from steelyard.model.standard import Suite, Task
from steelyard.model.trace import FAULTS
from steelyard.model.verdict import Verdict
from steelyard.store import reading, schema
from steelyard.store.connection import BUSY_SECONDS, connect, is_foreign
from steelyard.store.encoding import decode_body, measurements_of, verdict_of
from steelyard.store.logfile import log_of, read_log
from steelyard.store.pages import Pages, Record, page_size_of
from steelyard.store.suites import decode_suite

NONSENSE = (ValueError, ArithmeticError, TypeError, LookupError, msgspec.DecodeError, RecursionError)
_AT_ONCE = 5_000
_HASH = 32

_COLUMNS: Mapping[str, str] = {
    "suite": "digest, hash, name, version, body",
    "payload": "hash, body",
    "grading": (
        "name, suite_id, created_at, status, planned, options, lost, notices, headline, decision, trials, origin"
    ),
    "trial": "grading_id, task, number, ended_by, measurements, trace",
    "verdict": "trial_id, criterion, status, score, failure_tag, payload_id",
}


class Salvaged(msgspec.Struct, frozen=True, kw_only=True):
    """What was saved. `lost_trials` were found and are not whole; what left no trace at all is not counted."""

    whole: tuple[str, ...] = ()
    broken_off: tuple[str, ...] = ()
    trials: int = 0
    verdicts: int = 0
    lost_trials: int = 0


def pages_of(source: Path) -> Pages:
    """The pages of a store and of the committed part of its log, if that log is its own. OSError."""
    body = source.read_bytes()
    log = read_log(log_of(source))
    own = bool(log.page_size) and (len(body) < 64 or not is_foreign(source))
    size = log.page_size if own else page_size_of(body)
    return Pages(body, size, log.pages if own else {})


def holds_rows(source: Path) -> bool:
    """Whether anything of a store can be found in a file, whatever its first page says."""
    return any(_table(record) in ("suite", "grading") for record in pages_of(source).records())


def salvage(source: Path, target: Path, *, now: Callable[[], str]) -> Salvaged:
    """Make a new store at `target` out of what `source` holds, which is only read. StoreError and OSError."""
    connection = connect(target, now=now, seconds=BUSY_SECONDS)
    try:
        connection.execute("PRAGMA foreign_keys = OFF")  # parents may be lost
        connection.execute("BEGIN IMMEDIATE")
        _add_rows(connection, pages_of(source).records())
        lost = _drop_what_is_not_whole(connection)
        broken_off = _reopen(connection)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return _told(connection, lost, broken_off)
    finally:
        connection.close()


def _table(record: Record) -> str | None:
    """The table whose rows look so."""
    _, columns = record
    match columns:
        case (None, bytes(key), str(), str(), str(), str()) if len(key) == _HASH:
            return "suite"
        case (None, bytes(key), str()) if len(key) == _HASH:
            return "payload"
        case (None, int(), str(), int(), str() | None, str(), str() | None):
            return "trial"
        case (None, int(), str(), int(), None | int() | float(), str() | None, int()):
            return "verdict"
        case (None, str(), int(), str(), str(), None | int(), str(), str(), str(), *more) if len(more) in (
            0,
            4,
        ):
            return "grading"
    return None


def _add_rows(connection: sqlite3.Connection, records: Iterator[Record]) -> None:
    waiting: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _COLUMNS}
    for id_, columns in records:
        table = _table((id_, columns))
        if table is None or (table in ("suite", "payload") and not _is_its_hash(columns)):
            continue
        waiting[table].append((id_, *columns[1:]))
        if len(waiting[table]) >= _AT_ONCE:
            _add(connection, table, waiting[table])
    for table, rows in waiting.items():
        _add(connection, table, rows)


def _is_its_hash(columns: tuple[Any, ...]) -> bool:
    return bool(hashlib.sha256(columns[-1].encode()).digest() == columns[1])


def _add(connection: sqlite3.Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    names = _COLUMNS[table]
    width = names.count(",") + 2
    full = [(*row, *(None,) * (width - len(row))) for row in rows]
    if table == "grading":  # of two versions of a row the finished one is the newer
        full.sort(key=lambda row: row[4] == "done")
    word = "REPLACE" if table == "grading" else "IGNORE"
    marks = ", ".join("?" * width)
    connection.executemany(f"INSERT OR {word} INTO {table} (id, {names}) VALUES ({marks})", full)
    rows.clear()


def _drop_what_is_not_whole(connection: sqlite3.Connection) -> int:
    """Trials that lack anything go, with their verdicts; the number of those whose run is still there."""
    suites = {id_: {task.id: task for task in suite.tasks} for id_, suite in _suites(connection)}
    gradings = {
        id_: suites[suite]
        for id_, suite in connection.execute("SELECT id, suite_id FROM grading")
        if suite in suites
    }
    whole: list[tuple[int]] = []
    found = 0
    by_trial = _verdicts_by_trial(connection)
    next_id, verdicts = next(by_trial, (0, []))
    for row in connection.execute(
        "SELECT id, grading_id, task, number, ended_by, measurements FROM trial ORDER BY id"
    ):
        while next_id and next_id < row[0]:
            next_id, verdicts = next(by_trial, (0, []))
        found += row[1] in gradings
        if row[1] in gradings and _is_whole(gradings[row[1]], row, verdicts if next_id == row[0] else []):
            whole.append((row[0],))
    connection.execute("CREATE TEMP TABLE whole (id INTEGER PRIMARY KEY)")
    connection.executemany("INSERT INTO whole VALUES (?)", whole)
    connection.execute("DELETE FROM trial WHERE id NOT IN (SELECT id FROM whole)")
    connection.execute("DELETE FROM verdict WHERE trial_id NOT IN (SELECT id FROM whole)")
    connection.execute(DROP_UNUSED_PAYLOADS)
    connection.executemany("DELETE FROM grading WHERE id = ?", _without_standard(connection, gradings))
    return found - len(whole)


DROP_UNUSED_PAYLOADS = (
    "DELETE FROM payload WHERE id NOT IN (SELECT payload_id FROM verdict)"
    " AND id NOT IN (SELECT payload_id FROM cache)"
)


def _without_standard(connection: sqlite3.Connection, gradings: Mapping[int, object]) -> list[tuple[int]]:
    return [
        (id_,) for (id_,) in connection.execute("SELECT id FROM grading").fetchall() if id_ not in gradings
    ]


def _suites(connection: sqlite3.Connection) -> Iterator[tuple[int, Suite]]:
    for id_, body in connection.execute("SELECT id, body FROM suite"):
        try:
            yield id_, decode_suite(body.encode())
        except NONSENSE:
            continue


def _verdicts_by_trial(connection: sqlite3.Connection) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    rows = connection.execute(
        "SELECT v.trial_id, v.criterion, v.status, v.score, v.failure_tag, p.body FROM verdict v"
        " LEFT JOIN payload p ON p.id = v.payload_id ORDER BY v.trial_id, v.id"
    )
    current, several = 0, list[tuple[Any, ...]]()
    for trial, *rest in rows:
        if trial != current and several:
            yield current, several
            several = []
        current = trial
        several.append(tuple(rest))
    if several:
        yield current, several


def _is_whole(tasks: Mapping[str, Task], trial: tuple[Any, ...], verdicts: list[tuple[Any, ...]]) -> bool:
    _, _, name, number, ended_by, measurements = trial
    task = tasks.get(name)
    if task is None:
        return False
    try:
        measurements_of(measurements)
        read = [_verdict(name, number, columns) for columns in verdicts]
    except NONSENSE:
        return False
    asked = {criterion.id for criterion in task.criteria}
    return {verdict.criterion for verdict in read} == asked or (not read and ended_by in FAULTS)


def _verdict(task: str, number: int, columns: tuple[Any, ...]) -> Verdict:
    criterion, status, score, tag, body = columns
    if body is None or not 0 <= status < len(schema.STATUSES):
        raise ValueError("a verdict without its payload or status")
    return verdict_of((task, number, criterion), schema.STATUSES[status], score, tag, decode_body(body))


def _reopen(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Runs that were finished and lack trials now go on as broken off; the names of all that are not finished."""
    missing = (
        "status = 'done' AND coalesce(trials, -1) <> (SELECT count(*) FROM"
        " (SELECT DISTINCT task, number FROM trial WHERE grading_id = grading.id))"
    )
    connection.execute(
        "UPDATE grading SET status = 'running', headline = NULL, decision = NULL, trials = NULL, origin = NULL"
        f" WHERE {missing}"
    )
    for id_, _ in connection.execute(schema.GRADING_NAMES).fetchall():
        try:
            reading.load(connection, id_)
        except (*NONSENSE, UsageError):
            connection.execute(
                "DELETE FROM verdict WHERE trial_id IN (SELECT id FROM trial WHERE grading_id = ?)", (id_,)
            )
            connection.execute("DELETE FROM trial WHERE grading_id = ?", (id_,))
            connection.execute("DELETE FROM grading WHERE id = ?", (id_,))
    return tuple(
        name
        for (name,) in connection.execute("SELECT name FROM grading WHERE status = 'running' ORDER BY id")
    )


def _told(connection: sqlite3.Connection, lost: int, broken_off: tuple[str, ...]) -> Salvaged:
    def count(table: str) -> int:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    names = [name for _, name in connection.execute(schema.GRADING_NAMES)]
    return Salvaged(
        whole=tuple(name for name in names if name not in broken_off), broken_off=broken_off,
        trials=count("trial"), verdicts=count("verdict"), lost_trials=lost,
    )  # fmt: skip
