"""The SQLite store: batched writes, one transaction a batch, and a cache of findings."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from steelyard.errors import StoreError
from steelyard.model.standard import Suite
from steelyard.model.table import Primary, ScoreNotice
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.ports.store import GradingRef, Payload, RunSummary, Store, StoredRun
from steelyard.store import reading, schema
from steelyard.store.connection import (
    BUSY_SECONDS,
    connect,
    damaged,
    path_of,
    sentence,
    transaction,
    typed_errors,
)
from steelyard.store.encoding import decode_payload, encode
from steelyard.store.naming import choose, free_name, next_name
from steelyard.store.suites import encode_suite
from steelyard.store.writing import Waiting, options_text, written

MOST_BUFFERED = 5_000
"""Verdicts that wait before a batch is committed."""
MOST_SECONDS = 0.25
"""Where trials come more slowly than this, each is committed as it comes."""
_KEYS_AT_ONCE = 500
_NONSENSE = (ValueError, ArithmeticError, TypeError, msgspec.DecodeError, RecursionError)
"""What reading raises for content that this program cannot have written."""


def open_store(
    url_or_path: str | Path, *, now: Callable[[], str], busy_seconds: float = BUSY_SECONDS
) -> SqliteStore:
    """Open the store of an SQLite file, or make it with its folder. `now` gives the time as ISO 8601 text.

    Reads `sqlite:///relative/path`, `sqlite:////absolute/path` or a plain path; UsageError for anything else. A store
    of an older version is migrated, in one transaction. StoreError when it is newer, damaged, locked for longer than
    `busy_seconds`, no store, or cannot be written; the file is then left as it was.
    """
    path = path_of(url_or_path)
    connection = connect(path, now=now, seconds=busy_seconds)
    return SqliteStore(path, connection, now=now, busy_seconds=busy_seconds)


class SqliteStore:
    """`Store` over one SQLite file; see there for what each method does. Made by `open_store`."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, now: Callable[[], str], busy_seconds: float
    ) -> None:
        self.path = path
        self._connection = connection
        self._now = now
        self._seconds = busy_seconds
        self._waiting: list[Waiting] = []
        self._found: dict[bytes, Payload] = {}  # by key: what waits to be written
        self._buffered = 0
        self._flushed_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        error = exc_info[1]
        try:
            self.close()
        except StoreError as problem:
            if not isinstance(error, BaseException):
                raise
            if str(error) != str(problem):
                error.add_note(f"In addition, the last trials could not be kept: {problem}")

    def close(self) -> None:
        """Commit what is buffered and close the file, whether that works or not. StoreError when it does not."""
        try:
            self.flush()
        finally:
            self._connection.close()

    def begin(self, suite: Suite, *, planned: int | None, options: Mapping[str, Any]) -> GradingRef:
        with self._write():
            created = self._now()
            name = next_name(created, self._names())
            return self._begin(name, suite, created=created, planned=planned, options=options)

    def put_trial(
        self,
        grading: GradingRef,
        trial: TrialRow,
        verdicts: Sequence[Verdict],
        keys: Sequence[bytes | None] = (),
        payloads: Sequence[Payload | None] = (),
    ) -> None:
        waiting, found = written(grading, trial, verdicts, keys, payloads)
        self._waiting.append(waiting)
        for key, payload in found.items():
            self._found.setdefault(key, payload)
        self._buffered += len(verdicts) + 1
        if self._buffered >= MOST_BUFFERED or time.monotonic() - self._flushed_at >= MOST_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            with self._write():
                self._write_waiting(self._waiting)
            self._waiting = []
            self._found = {}
            self._buffered = 0
        self._flushed_at = time.monotonic()

    def finish(
        self,
        grading: GradingRef,
        lost: Sequence[Quarantined] = (),
        notices: Sequence[ScoreNotice] = (),
        *,
        primary: Primary | None = None,
        decision: str | None = None,
    ) -> None:
        self.flush()
        with self._write():
            self._finish(grading, lost, notices, headline=primary, decision=decision)

    def committed(self, grading: GradingRef) -> frozenset[tuple[str, int]]:
        return frozenset((task, number) for task, number in self._rows(schema.COMMITTED, grading.id))

    def unfinished(self, suite_hash: str, options: Mapping[str, Any]) -> GradingRef | None:
        found = self._rows(schema.UNFINISHED, suite_hash, options_text(options))
        return GradingRef(id=found[0][0], name=found[0][1]) if found else None

    def find(self, key: bytes) -> Payload | None:
        return self.find_many((key,)).get(key)

    def find_many(self, keys: Sequence[bytes]) -> Mapping[bytes, Payload]:
        found = {key: self._found[key] for key in keys if key in self._found} if self._found else {}
        wanted = [key for key in keys if key not in found]
        for start in range(0, len(wanted), _KEYS_AT_ONCE):
            chunk = wanted[start : start + _KEYS_AT_ONCE]
            rows = self._rows(schema.FIND + "(" + ", ".join("?" * len(chunk)) + ")", *chunk)
            try:
                for key, body in rows:
                    payload = found[key] = decode_payload(body)
                    _ = payload.finding  # one that holds no score is met here, not in the middle of grading
            except _NONSENSE as error:
                raise StoreError(damaged(self.path, str(error)[:200])) from error
        return found

    def runs(self) -> Sequence[RunSummary]:
        with self._sense():
            return [reading.summary(row) for row in self._rows(schema.RUNS)]

    def load(self, name: str) -> StoredRun:
        with self._read(), self._sense():
            return reading.load(self._connection, choose(self._names(), name))

    def by_origin(self, origin: str) -> str | None:
        """The name of the run that was restored from this origin, if one was."""
        found = self._rows(schema.BY_ORIGIN, origin)
        return str(found[0][0]) if found else None

    def restore(self, run: StoredRun, *, origin: str) -> str:
        nowhere = GradingRef(id=0, name="")
        ready = [written(nowhere, *one, (), ())[0] for one in reading.by_trial(run.rows)]
        with self._write():
            known = self.by_origin(origin)
            if known is not None:
                return known
            name = free_name(run.name, [taken for _, taken in self._names()])
            grading = self._begin(
                name, run.suite, created=run.created_at, planned=run.planned, options=run.options
            )
            self._write_waiting([msgspec.structs.replace(one, grading=grading.id) for one in ready])
            self._finish(
                grading, run.lost, run.notices, headline=run.primary, decision=run.decision, status=run.status,
                origin=origin,
            )  # fmt: skip
            return name

    def _begin(
        self, name: str, suite: Suite, *, created: str, planned: int | None, options: Mapping[str, Any]
    ) -> GradingRef:
        try:
            body = encode_suite(suite)
        except (TypeError, ValueError) as error:
            raise StoreError(
                f"the standard {suite.name!r} cannot be kept: {error}; use JSON values in it"
            ) from error
        digest = hashlib.sha256(body).digest()
        run = self._connection.execute
        run(schema.ADD_SUITE, (digest, suite.hash, suite.name, suite.version, body.decode()))
        cursor = run(
            schema.ADD_GRADING, (name, digest, created, "running", planned, options_text(options), "[]", "[]")
        )
        assert cursor.lastrowid is not None  # an insert that did not raise
        return GradingRef(id=cursor.lastrowid, name=name)

    def _write_waiting(self, several: Sequence[Waiting]) -> None:
        connection = self._connection
        bodies = {hash_: body for waiting in several for hash_, body in waiting.bodies.items()}
        connection.executemany(schema.ADD_PAYLOAD, sorted(bodies.items()))  # sorted: neighbours in the index
        verdicts: list[tuple[Any, ...]] = []
        for waiting in several:
            trial = connection.execute(schema.ADD_TRIAL, (waiting.grading, *waiting.trial)).lastrowid
            verdicts.extend((trial, *verdict) for verdict in waiting.verdicts)
        connection.executemany(schema.ADD_VERDICT, verdicts)
        pairs = [pair for waiting in several for pair in waiting.keys]
        pairs.sort(key=itemgetter(0))  # by key alone: of several, the one that came first stays first
        connection.executemany(schema.ADD_KEY, pairs)

    def _finish(
        self,
        grading: GradingRef,
        lost: Sequence[Quarantined],
        notices: Sequence[ScoreNotice],
        *,
        headline: Primary | None,
        decision: str | None,
        status: str = "done",
        origin: str | None = None,
    ) -> None:
        written = encode(headline).decode() if headline is not None else None
        texts = (encode(tuple(lost)).decode(), encode(tuple(notices)).decode(), written)
        self._connection.execute(schema.FINISH, (status, *texts, decision, origin, grading.id, grading.id))

    def _names(self) -> list[tuple[int, str]]:
        return self._connection.execute(schema.GRADING_NAMES).fetchall()

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(sentence(self.path, self._seconds, error)) from error

    @contextmanager
    def _write(self) -> Iterator[None]:
        with transaction(self._connection, self.path, self._seconds):
            yield

    @contextmanager
    def _read(self) -> Iterator[None]:
        """Several reads that see one moment, whatever other processes write meanwhile."""
        with typed_errors(self.path, self._seconds):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def _sense(self) -> Iterator[None]:
        """Content that cannot have been written by this program means that the file is damaged."""
        try:
            yield
        except _NONSENSE as error:
            raise StoreError(damaged(self.path, str(error)[:200])) from error


if TYPE_CHECKING:
    _: type[Store] = SqliteStore  # every method of the port, with its types
