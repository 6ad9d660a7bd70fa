"""Queries on the database of a state: values as SQLite holds them, and nothing but reading."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from steelyard.checks import sqlite
from steelyard.errors import GraderError
from steelyard.model.state_checks import SqlCheck
from steelyard.model.trace import EndState
from steelyard.model.verdict import Undecided
from unit.checks.trials import grade, trace_of, verdict
from unit.checks.worlds import database, files_in

TABLE = "CREATE TABLE orders (id, amount, note)"
ROWS = [(1, 1.5, "a"), (2, 2, None), ("1", 3, ""), (2, 2, None)]


@pytest.fixture
def trace(tmp_path: Path) -> Any:
    return trace_of(state_after=EndState(sqlite=database(tmp_path / "a.db", TABLE, rows={"orders": ROWS})))


def check(query: str, *rows: Any, **more: Any) -> SqlCheck:
    return SqlCheck(query=query, rows=rows, **more)


def refused(spec: SqlCheck, trace: Any) -> GraderError:
    with pytest.raises(GraderError) as raised:
        grade(spec, trace)
    return raised.value


ALL = "SELECT id, amount, note FROM orders"


def test_rows_are_a_multiset_unless_ordered(trace: Any) -> None:
    shuffled = ([2, 2, None], ["1", 3.0, ""], [1, 1.5, "a"], [2, 2.0, None])
    assert verdict(check(ALL, *shuffled), trace) == 1
    assert verdict(check(ALL, *shuffled[:3]), trace) == 0
    assert "same rows, other order" in grade(check(ALL, *shuffled, ordered=True), trace).reason
    by_name = [dict(zip(("note", "id", "amount"), (row[2], row[0], row[1]), strict=True)) for row in ROWS]
    assert verdict(check(ALL, *by_name, ordered=True), trace) == 1
    assert verdict(check("SELECT count(*) FROM orders WHERE id = 9", [0]), trace) == 1
    assert verdict(check("SELECT id FROM orders WHERE id = 9"), trace) == 1


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        ("1", 1, True), ("1", 1.0, True), ("1.0", 1, True), ("'1'", 1, False), ("1", "1", False), ("NULL", None, True),
        ("NULL", "", False), ("''", None, False), ("''", "", True), ("0", None, False), ("1", True, False),
        ("0.1 + 0.2", 0.3, False), ("9e999", 1, False), ("x'41'", "A", False), ("9007199254740993",
        9007199254740993, True),
        ("9007199254740993", 9007199254740992, False), ("'é'", "e\u0301", True),
    ],
)  # fmt: skip
def test_values_are_those_of_sqlite(trace: Any, value: str, expected: Any, same: bool) -> None:
    assert verdict(check(f"SELECT {value}", [expected]), trace) == same


def test_differences_name_row_and_column(trace: Any) -> None:
    query = "SELECT id, note FROM orders WHERE amount = 1.5"
    assert 'row 1, note, is "a", expected "b"' in grade(check(query, {"id": 1, "note": "b"}), trace).reason
    many = grade(check("SELECT id FROM orders", [1]), trace).reason
    assert "(4 rows, expected 1)" in many and "not expected" in many
    assert refused(check(query, [1]), trace).code == "bad_check"
    assert refused(check(query, {"id": 1}), trace).code == "bad_check"


def test_numbers_may_be_near(trace: Any) -> None:
    query = "SELECT amount FROM orders WHERE id IN (1, 2)"
    rows = ([1.4], [2.05], [1.95])
    assert verdict(check(query, *rows), trace) == 0
    assert verdict(check(query, *rows, abs_tol=Decimal("0.1")), trace) == 1
    assert verdict(check(query, *rows, abs_tol=Decimal("0.06")), trace) == 0


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM orders", "UPDATE orders SET id = 5", "INSERT INTO orders VALUES (1, 2, 3)", "DROP TABLE orders",
        "CREATE TABLE x (a)", "ATTACH ':memory:' AS b", "DETACH main", "PRAGMA user_version = 5", "VACUUM INTO 'x.db'",
        "PRAGMA table_info(orders)", "BEGIN", "SELECT load_extension('x')", "SELECT random()",
        "SELECT CURRENT_TIMESTAMP",
        "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE orders", "WITH x AS (SELECT 1) DELETE FROM orders", "nonsense", "",
        "SELECT writefile('x', 'y')", "SELECT readfile('/etc/passwd')", "REINDEX", "ANALYZE",
        "WITH x AS (SELECT 1) INSERT INTO orders SELECT 1, 2, 3",
    ],
)  # fmt: skip
def test_nothing_but_reading(trace: Any, query: str, tmp_path: Path) -> None:
    before = (tmp_path / "a.db").read_bytes()
    assert refused(check(query, [1]), trace).code == "bad_query"
    assert (tmp_path / "a.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_json_in_a_column_can_be_read(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (j)", rows={"t": [('{"tags": ["x", "y"]}',)]})
    trace = trace_of(state_after=EndState(sqlite=path))
    assert verdict(check("SELECT e.value FROM t, json_each(t.j, '$.tags') e", ["y"], ["x"]), trace) == 1
    assert verdict(check("SELECT json_extract(j, '$.tags[0]') FROM t", ["x"]), trace) == 1


def test_time_rows_and_bytes_are_bounded(trace: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r)"
    assert refused(check(f"{endless} SELECT x FROM r", [1]), trace).code == "too_large"
    assert refused(check(f"{endless} SELECT printf('%1000000d', x) FROM r", [1]), trace).code == "too_large"
    assert refused(check("SELECT zeroblob(1000000000)", [1]), trace).code == "bad_query"
    monkeypatch.setattr(sqlite, "SECONDS", 0.2)
    assert refused(check(f"{endless} SELECT count(*) FROM r", [1]), trace).code == "timeout"


def test_what_is_no_database_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "d.db"
    folder.mkdir()
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at" * 50)
    whole = database(tmp_path / "a.db", TABLE, rows={"orders": ROWS * 500})
    data = Path(whole).read_bytes()
    (tmp_path / "cut.db").write_bytes(data[: len(data) // 2])
    for name in ("d.db", "text.db", "cut.db", "none.db", "a\0b.db"):
        trace = trace_of(state_after=EndState(sqlite=str(tmp_path / name)))
        assert refused(check("SELECT sum(amount) FROM orders", [1]), trace).code == "bad_state", name


def test_an_empty_file_is_an_empty_database(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    trace = trace_of(state_after=EndState(sqlite=str(tmp_path / "empty.db")))
    assert verdict(check("SELECT count(*) FROM sqlite_schema", [0]), trace) == 1


def test_without_a_database_it_is_unknown() -> None:
    for trace in (trace_of(), trace_of(state_after=EndState(json={}))):
        assert isinstance(grade(check("SELECT 1", [1]), trace), Undecided)


def test_a_table_that_the_agent_dropped_is_a_fail(tmp_path: Path) -> None:
    old = database(tmp_path / "old.db", TABLE)
    new = database(tmp_path / "new.db", "CREATE TABLE other (a)")
    both = trace_of(state_before=EndState(sqlite=old), state_after=EndState(sqlite=new))
    assert grade(check(ALL), both).reason == "no such table: orders, which the start state has"
    assert verdict(check(ALL), both) == 0
    assert refused(check("SELECT * FROM nowhere"), both).code == "bad_query"
    assert refused(check(ALL), trace_of(state_after=EndState(sqlite=new))).code == "bad_query"
    assert verdict(check("SELECT count(*) FROM orders", [0], at="start"), both) == 1


def test_a_database_that_was_not_closed_is_read_as_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    with connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (7)")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert before["live.db-wal"]
    assert verdict(check("SELECT a FROM t", [7]), trace_of(state_after=EndState(sqlite=str(path)))) == 1
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    connection.close()


def test_a_database_among_the_files(tmp_path: Path) -> None:
    files_in(tmp_path / "end", {"x": ""})
    database(tmp_path / "end" / "a b?#%.db", TABLE, rows={"orders": ROWS})
    trace = trace_of(state_after=EndState(files=str(tmp_path / "end")))
    spec = check("SELECT count(*) FROM orders", [4], db="a b?#%.db")
    assert verdict(spec, trace) == 1
    assert grade(spec, trace).evidence == ("file:a b?#%.db",)
    assert verdict(check("SELECT 1", [1], db="none.db"), trace) == 0
    assert refused(check("SELECT 1", [1], db="../a.db"), trace).code == "bad_path"
    assert isinstance(grade(check("SELECT 1", [1], db="a.db"), trace_of()), Undecided)


def test_text_that_is_no_utf8_is_compared_and_shown(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))")
    finding = grade(check("SELECT a FROM t", ["A"]), trace_of(state_after=EndState(sqlite=path)))
    assert finding.reason.encode()
    assert finding.value == 0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "query",
    ["SELECT datetime()", "SELECT unixepoch() > 0", "SELECT julianday('n' || 'ow')", "SELECT strftime('%Y')"],
)
def test_no_query_reads_the_clock(trace: Any, query: str) -> None:
    assert refused(check(query, [1]), trace).code == "bad_query"


def test_stated_times_are_computed_with(trace: Any) -> None:
    assert verdict(check("SELECT date('2025-01-31', '+1 month')", ["2025-03-03"]), trace) == 1
    assert verdict(check("SELECT strftime('%Y', '2025-01-31T10:00:00')", ["2025"]), trace) == 1
