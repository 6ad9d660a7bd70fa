"""Small worlds for tests of end states: files, a database, a JSON value."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from steelyard.model.state_checks import CsvCheck, FilesCheck, ProvenanceCheck, SqlCheck, StateCheck
from steelyard.model.trace import EndState, Trace
from unit.checks.trials import call, said, trace_of


def files_in(folder: Path, files: Mapping[str, str | bytes]) -> str:
    """Writes files, and the folders that they stand in; the folder's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(folder)


def database(
    path: Path, *statements: str, rows: Mapping[str, Iterable[tuple[Any, ...]]] | None = None
) -> str:
    """A SQLite file after these statements, with rows by table; its path."""
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
        for table, several in (rows or {}).items():
            for row in several:
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    connection.close()
    return str(path)


def world(
    tmp: Path,
    *messages: Any,
    end: Mapping[str, str | bytes] | None = None,
    start: Mapping[str, str | bytes] | None = None,
) -> Trace:
    """A trace whose states hold these files; None: the recording has no such files."""
    return trace_of(
        *messages,
        state_before=None if start is None else EndState(files=files_in(tmp / "start", start)),
        state_after=None if end is None else EndState(files=files_in(tmp / "end", end)),
    )


def left(value: Any, before: Any = None) -> Trace:
    """A trace whose end state is a JSON value."""
    return trace_of(state_after=EndState(json=value), state_before=EndState(json=before))


_HOME = Path(tempfile.mkdtemp(prefix="steelyard-tests-"))
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)


def _sized(name: str, size: int) -> Trace:
    """A trial whose whole world says `size`, beside a start that says 1."""
    folder = _HOME / name
    folder.mkdir()
    table = "CREATE TABLE pool (size)"
    before = EndState(
        files=files_in(folder / "start", {"config": "kept", "pool.csv": "id,size\n1,1\n"}), json={"size": 1}
    )
    after = EndState(
        files=files_in(
            folder / "end", {"config": "kept" if size == 16 else "new", "pool.csv": f"id,size\n1,{size}\n"}
        ),
        sqlite=database(folder / "end.db", table, rows={"pool": [(size,)]}),
        json={"size": size},
    )
    asked = said("Set it to 16.", role="user")
    return trace_of(
        asked, call("set", {"size": size}), said(str(size)), state_before=before, state_after=after
    )


_BEST, _WORST = _sized("best", 16), _sized("worst", 64)

STATE_CASES: list[tuple[str, Any, Trace, Trace]] = [
    (kind, spec, _BEST, _WORST)
    for kind, spec in (
        ("files", FilesCheck(unchanged=("config",), exists=("pool.csv",))),
        ("csv", CsvCheck(of="file:pool.csv", columns=("id", "size"), rows=([1, 16],))),
        ("sql", SqlCheck(query="SELECT size FROM pool", rows=([16],))),
        ("state", StateCheck(pointer="/size", value=16)),
        ("state", StateCheck(schema={"properties": {"size": {"maximum": 16}}})),
        ("provenance", ProvenanceCheck(tools=("set",))),
    )
]
"""Kind, a check, a trial that does all it asks, and one that does the opposite."""
