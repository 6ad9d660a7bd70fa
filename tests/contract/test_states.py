"""Checks of end states over hostile ones: never a pass by accident, never another exception than `GraderError`."""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from steelyard.checks import grader_for
from steelyard.errors import GraderError
from steelyard.model.checks import ContainsCheck, EqualsCheck, ExprCheck, JsonCheck, RecordsCheck
from steelyard.model.evidence import resolve
from steelyard.model.state_checks import CsvCheck, FilesCheck, Preserves, RowCondition, SqlCheck, StateCheck
from steelyard.model.trace import EndState, Trace
from steelyard.model.verdict import Score, Undecided
from unit.checks.trials import given, trace_of
from unit.checks.worlds import database

PRESERVES = Preserves(of="file:source.csv", column="id", where=RowCondition(column="status", value="active"))
SPECS: list[Any] = [
    FilesCheck(exists=("out.csv",), unchanged=("source.csv",)),
    FilesCheck(unchanged=("**",)),
    FilesCheck(sha256={"out.csv": "0" * 64}),
    CsvCheck(of="file:out.csv", columns=("id", "at"), tz="UTC"),
    CsvCheck(of="file:out.csv", types={"id": "integer", "at": "datetime"}),
    CsvCheck(of="file:out.csv", rows=(["1", "x"],), where=RowCondition(column="id", op="filled")),
    CsvCheck(of="file:out.csv", preserves=PRESERVES),
    SqlCheck(query="SELECT id FROM orders", rows=([1],)),
    SqlCheck(query="SELECT id FROM orders", rows=([1],), db="out.csv"),
    StateCheck(pointer="/size", value=16),
    StateCheck(pointer="/size", value=16, abs_tol=Decimal("0.5")),
    StateCheck(value={"size": 16, "more": [1, [2]]}, ordered_at=("/more",)),
    StateCheck(schema={"type": "object", "required": ["size"], "properties": {"size": {"const": 16}}}),
    EqualsCheck(of="state#/size", value=16),
    EqualsCheck(of="file:out.csv", value="16"),
    ContainsCheck(of="file:out.csv", all=("sixteen",)),
    JsonCheck(of="file:out.csv", pointer="/size", value=16),
    RecordsCheck(of="state#/size", expected=(16,)),
    ExprCheck(expr="state.size == 16"),
    ExprCheck(expr="size == 16", let={"size": "state_before#/size"}),
]
every_spec = pytest.mark.parametrize("spec", SPECS, ids=range(len(SPECS)))


def graded(spec: Any, trace: Trace) -> Score | Undecided | None:
    one = given(trace)
    try:
        finding = grader_for(spec).grade(spec, one)
    except GraderError as problem:
        assert problem.code
        assert str(problem).encode("utf-8")
        return None
    assert isinstance(finding, Score | Undecided)
    assert finding.reason.encode("utf-8")
    assert "\0" not in finding.reason
    for reference in finding.evidence:
        assert reference.encode("utf-8")
        assert resolve(reference, trace, one.task) is not None
    return finding


def no_pass(spec: Any, trace: Trace) -> None:
    first = graded(spec, trace)
    assert first == graded(spec, trace)
    if isinstance(first, Score):
        assert first.value == Fraction(0)


def deep(levels: int) -> Any:
    value: Any = 16
    for level in range(levels):
        value = [value] if level % 2 else {"size": value}
    return value


JSON_STATES = [
    None, True, "", "\ud800", "\0", 10**5_000, float("nan"), float("inf"), Decimal("sNaN"), Decimal("1e999999999"),
    [], {},
    {"size": "16"}, {"size": True}, {"size": None}, {"size": float("nan")}, {"size": Decimal("sNaN")},
    {"size": deep(100_000)}, deep(100_000), {"": ""}, {"size": {"\ud800": 1}}, ["x"] * 10_000, {1: 2}, b"bytes",
    {"size": 15, "more": [1, 2]},
]  # fmt: skip


@every_spec
@pytest.mark.parametrize("value", JSON_STATES, ids=range(len(JSON_STATES)))
def test_hostile_json(spec: Any, value: Any) -> None:
    no_pass(spec, trace_of(state_after=EndState(json=value), state_before=EndState(json=value)))


def _loop(folder: Path) -> None:
    (folder / "out.csv").symlink_to("out.csv")
    (folder / "self").symlink_to(".")


def _out(folder: Path) -> None:
    (folder / "out.csv").symlink_to("/etc/passwd")


def _odd_name(folder: Path) -> None:
    with open(os.path.join(os.fsencode(folder), b"\xff\n\x1b[31m"), "w") as file:
        file.write("x")


CONTENTS: list[Callable[[Path], object]] = [
    lambda folder: None,
    _loop,
    _out,
    _odd_name,
    lambda folder: os.mkfifo(folder / "out.csv"),
    lambda folder: (folder / "out.csv").mkdir(),
    lambda folder: (folder / "out.csv").symlink_to("nowhere"),
    *(
        lambda folder, data=data: (folder / "out.csv").write_bytes(data)
        for data in (
            b"", b"\0", b"\xff\xfe\x00", b"id,at\n", b"id,at\n1\n", b"id;at\n1;2\n", b'id,at\n"1,2\n', b"\xef\xbb\xbf",
            b"id,at\n" + b"," * 100_000, b"a" * 200_000, b"id,at\r1,2\r", b"SQLite format 3\0" + b"\xff" * 5_000,
            b"id,at\n1,2025-03-01T24:61:00\n", b"id,at\n1,9999-12-31T23:59:59-14:00\n", b"{" * 50_000,
            b"id,at\n\"\"\"\n",
        )
    ),
]  # fmt: skip


@every_spec
@pytest.mark.parametrize("make", CONTENTS, ids=range(len(CONTENTS)))
def test_hostile_files(spec: Any, make: Callable[[Path], object], tmp_path: Path) -> None:
    for name in ("end", "start"):
        (tmp_path / name).mkdir()
    make(tmp_path / "end")
    (tmp_path / "start" / "source.csv").write_text("id,status\n7,active\n")
    (tmp_path / "start" / "gone").touch()
    before, after = EndState(files=str(tmp_path / "start")), EndState(files=str(tmp_path / "end"))
    no_pass(spec, trace_of(state_after=after, state_before=before))
    make_start = trace_of(state_after=before, state_before=after)
    no_pass(spec, make_start)


DATABASES: list[Callable[[Path], object]] = [
    lambda path: None,
    lambda path: path.mkdir(),
    lambda path: os.mkfifo(path),
    lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(4_000)),
    lambda path: database(path, "CREATE TABLE orders (id)"),
    lambda path: database(path, "CREATE TABLE orders (id)", "INSERT INTO orders VALUES ('1'), (NULL), (9e999)"),
    lambda path: database(path, "CREATE TABLE \"or\nders\" (\"i\x1bd\")"),
    lambda path: database(path, "CREATE TABLE orders (id)", "INSERT INTO orders VALUES (x'01')"),
    lambda path: database(path, "CREATE TABLE orders (id)", "INSERT INTO orders VALUES (1), (1)"),
    lambda path: database(
        path,
        "CREATE VIEW orders AS WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r) SELECT id FROM r",
    ),
    lambda path: database(path, "CREATE VIEW orders AS SELECT load_extension('x') AS id"),
    lambda path: database(path, "CREATE VIEW orders AS SELECT random() AS id"),
]  # fmt: skip


@pytest.mark.parametrize("make", DATABASES, ids=range(len(DATABASES)))
def test_hostile_databases(make: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    make(path)
    trace = trace_of(
        state_after=EndState(sqlite=str(path), files=str(tmp_path)), state_before=EndState(sqlite=str(path))
    )
    for spec in (SPECS[7], SqlCheck(query="SELECT id FROM orders", rows=([1],), db="state.db")):
        no_pass(spec, trace)


FAULTS: Any = {"files": "it leads out", "sqlite": "there are two", "json": "it is no JSON"}


@every_spec
def test_states_with_faults_and_none_at_all(spec: Any) -> None:
    faulty = EndState(faults=FAULTS)
    assert graded(spec, trace_of(state_after=faulty, state_before=faulty)) is None
    assert isinstance(graded(spec, trace_of()), Undecided)
    assert isinstance(graded(spec, trace_of(state_after=EndState(), state_before=EndState())), Undecided)
