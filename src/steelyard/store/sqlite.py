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
from steelyard.store.columns import read_columns
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
from steelyard.store.held import Address, digest_of, held
from steelyard.store.lease import Leases, worker
from steelyard.store.naming import choose, free_name, next_name
from steelyard.store.reading_only import Scratch, connect_to_read
from steelyard.store.stored_rows import StoredRows
from steelyard.store.suites import encode_suite
from steelyard.store.writing import Waiting, options_text, written

MOST_BUFFERED = 5_000
"""Verdicts that wait before a batch is committed."""
MOST_SECONDS = 0.25
"""Where trials come more slowly than this, each is committed as it comes."""
MOST_OWN = 25_000
"""Keys of this run that are remembered, so that a store without any is not asked for those that it cannot have."""
_NOT_LOOKED: set[bytes] = set()
_KEYS_AT_ONCE = 500
_NONSENSE = (ValueError, ArithmeticError, TypeError, msgspec.DecodeError, RecursionError)
"""What reading raises for content that this program cannot have written."""


def open_store(
    url_or_path: str | Path,
    *,
    now: Callable[[], str],
    busy_seconds: float = BUSY_SECONDS,
    only_read: bool = False,
) -> SqliteStore:
    """Open the store of an SQLite file, or make it with its folder. `now` gives the time as ISO 8601 text.

    Reads `sqlite:///relative/path`, `sqlite:////absolute/path` or a plain path; UsageError for anything else. A store
    of an older version is migrated, in one transaction. StoreError when it is newer, damaged, locked for longer than
    `busy_seconds`, no store, or cannot be written; the file is then left as it was. With `only_read`, one that
    may not be written is opened all the same, for reading.
    """
    path = path_of(url_or_path)
    if only_read:
        connection, scratch = connect_to_read(path, now=now, seconds=busy_seconds)
        return SqliteStore(path, connection, now=now, busy_seconds=busy_seconds, scratch=scratch)
    connection = connect(path, now=now, seconds=busy_seconds)
    return SqliteStore(path, connection, now=now, busy_seconds=busy_seconds)


class SqliteStore:
    """`Store` over one SQLite file; see there for what each method does. Made by `open_store`."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        now: Callable[[], str],
        busy_seconds: float,
        scratch: Scratch | None = None,
    ) -> None:
        self.path = path
        self._scratch = scratch
        self._closed = False
        self._leases = Leases(path)
        self._connection = connection
        self._now = now
        self._seconds = busy_seconds
        self._waiting: list[Waiting] = []
        self._held: dict[Address, bytes] = {}
        self._own: set[bytes] | None = (
            _NOT_LOOKED  # keys written since, where there were none before; null: all count
        )
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
            self._closed = True
            self._connection.close()
            self._leases.close()
            if self._scratch is not None:
                self._scratch.cleanup()

    def begin(self, suite: Suite, *, planned: int | None, options: Mapping[str, Any]) -> GradingRef:
        with self._write():
            created = self._now()
            name = next_name(created, self._names())
            grading = self._begin(name, suite, created=created, planned=planned, options=options)
            self._leases.take(grading.id)
            return grading

    def put_trial(
        self,
        grading: GradingRef,
        trial: TrialRow,
        verdicts: Sequence[Verdict],
        keys: Sequence[bytes | None] = (),
        payloads: Sequence[Payload | None] = (),
    ) -> None:
        waiting, found = written(grading, trial, verdicts, keys, payloads)
        if self._held:
            address = (grading.id, trial.task, trial.trial)
            if self._held.get(address) == digest_of(waiting.trial, waiting.verdicts):
                return
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
            if self._own is not None and self._own is not _NOT_LOOKED:
                self._own.update(self._found)
                self._own = self._own if len(self._own) <= MOST_OWN else None
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
        self._leases.give_back(grading.id)

    def committed(self, grading: GradingRef) -> frozenset[tuple[str, int]]:
        return frozenset((task, number) for task, number in self._rows(schema.COMMITTED, grading.id))

    def unfinished(self, suite_hash: str, options: Mapping[str, Any]) -> GradingRef | None:
        asked = (schema.UNFINISHED, suite_hash, options_text(options))
        found = self._rows(*asked)
        for id_, name in found:
            if not self._leases.take(id_):
                continue
            if (id_, name) in self._rows(*asked):  # not finished in between
                return GradingRef(id=id_, name=name)
            self._leases.give_back(id_)
        if found:
            id_, name = found[0]
            raise StoreError(
                f"the run {name} in {self.path} is being graded by {worker(self.path, id_)} right now, so it cannot be "
                "resumed; wait for its end or stop it, or grade without --resume to begin another run"
            )
        return None

    def skip_kept(self, grading: GradingRef) -> None:
        with typed_errors(self.path, self._seconds):
            self._held.update(held(self._connection, grading.id))

    def find(self, key: bytes) -> Payload | None:
        return self.find_many((key,)).get(key)

    def find_many(self, keys: Sequence[bytes]) -> Mapping[bytes, Payload]:
        found = {key: self._found[key] for key in keys if key in self._found} if self._found else {}
        wanted = [key for key in keys if key not in found]
        if self._own is _NOT_LOOKED:
            self._own = None if self._rows(schema.ANY_KEY) else set()
        if self._own is not None:
            wanted = [key for key in wanted if key in self._own]
        for chunk in _chunks(wanted):
            rows = self._rows(schema.FIND + _marks(chunk), *chunk)
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

    def columns(self, name: str) -> StoredRun:
        with self._read(), self._sense():
            grading = choose(self._names(), name)
            found, merged = read_columns(self._connection, grading)
            return reading.load(
                self._connection, grading, StoredRows(self._reading_again, grading, found, merged)
            )

    @contextmanager
    def _reading_again(self) -> Iterator[sqlite3.Connection]:
        """The connection of this store; once it is closed another one, for as long as it is used."""
        if not self._closed:
            with self._read(), self._sense():
                yield self._connection
            return
        connection, scratch = connect_to_read(self.path, now=self._now, seconds=self._seconds)
        try:
            with typed_errors(self.path, self._seconds), self._sense():
                yield connection
        finally:
            connection.close()
            if scratch is not None:
                scratch.cleanup()

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
        digest, text = hashlib.sha256(body).digest(), body.decode()
        del body  # of a large standard one copy less
        run = self._connection.execute
        if not run(schema.ADD_SUITE, (digest, suite.hash, suite.name, suite.version, text)).rowcount:
            (kept,) = run(schema.SUITE_BODY, (digest,)).fetchone()
            if kept != text:  # damaged since; the digest is that of what was written, which is here again
                run(schema.MEND_SUITE, (suite.hash, suite.name, suite.version, text, digest))
            del kept
        run(
            schema.ADD_SUITE, (digest, "", "", "", "")
        )  # adds nothing; a statement holds the texts it last had
        del text
        cursor = run(
            schema.ADD_GRADING, (name, digest, created, "running", planned, options_text(options), "[]", "[]")
        )
        assert cursor.lastrowid is not None  # an insert that did not raise
        return GradingRef(id=cursor.lastrowid, name=name)

    def _write_waiting(self, several: Sequence[Waiting]) -> None:
        """Within a transaction: nobody else writes, so that ids are known before the rows are there."""
        connection = self._connection
        payloads = self._add_payloads({hash_: body for one in several for hash_, body in one.bodies.items()})
        ((last,),) = connection.execute(schema.LAST_TRIAL)
        numbered = list(enumerate(several, last + 1))
        connection.executemany(schema.ADD_TRIAL, [(id_, one.grading, *one.trial) for id_, one in numbered])
        connection.executemany(
            schema.ADD_VERDICT,
            [(id_, *verdict, payloads[hash_]) for id_, one in numbered for *verdict, hash_ in one.verdicts],
        )
        pairs = [(key, payloads[hash_]) for one in several for key, hash_ in one.keys]
        pairs.sort(key=itemgetter(0))  # by key alone: of several, the one that came first stays first
        connection.executemany(schema.ADD_KEY, pairs)

    def _add_payloads(self, bodies: Mapping[bytes, str]) -> Mapping[bytes, int]:
        """Ids by hash, of those that were there and of those that are added."""
        ids: dict[bytes, int] = {}
        ((last,),) = self._connection.execute(schema.LAST_PAYLOAD)
        hashes = sorted(bodies)  # neighbours in the index
        if last:
            for chunk in _chunks(hashes):
                ids.update(self._connection.execute(schema.PAYLOAD_IDS + _marks(chunk), chunk))
        new = [(id_, hash_) for id_, hash_ in enumerate((h for h in hashes if h not in ids), last + 1)]
        self._connection.executemany(schema.ADD_PAYLOAD, [(id_, hash_, bodies[hash_]) for id_, hash_ in new])
        ids.update((hash_, id_) for id_, hash_ in new)
        return ids

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


def _chunks(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (keys[start : start + _KEYS_AT_ONCE] for start in range(0, len(keys), _KEYS_AT_ONCE))


def _marks(values: Sequence[bytes]) -> str:
    return f"({', '.join('?' * len(values))})"


if TYPE_CHECKING:
    _: type[Store] = SqliteStore  # every method of the port, with its types
