"""What must hold for checks of end states before any run, and where it is said."""

from __future__ import annotations

import pytest

from standards_texts import problems, read, with_check
from steelyard.standards.queries import query_fault

CSV = "{kind: csv, of: 'file:out.csv', "
SQL = "{kind: sql, rows: [[1]], query: "

CHECKS = [
    ("{kind: files}", "needs files to look at"),
    ("{kind: files, exist: [a]}", "did you mean 'exists'?"),
    ("{kind: files, exists: ['../a']}", "check.exists[0]: '../a' leaves the state's folder"),
    ("{kind: files, unchanged: ['/data/a']}", "check.unchanged[0]: '/data/a' is an absolute path"),
    ("{kind: files, absent: ['C:\\x']}", "absolute path"),
    ("{kind: files, absent: ['']}", "is no path of a file"),
    ("{kind: files, exists: ['*.csv']}", "looks like a pattern; only `unchanged` takes patterns"),
    ("{kind: files, sha256: {a: abc}}", "check.sha256.a: 'abc' is no SHA-256"),
    ("{kind: files, exists: [a], absent: [a]}", "could never pass"),
    ("{kind: files, unchanged: [a], at: start}", "compares the end with the start"),
    ("{kind: files, exists: [a], at: begin}", "at: must be end or start"),
    ("{kind: csv}", "needs something to look for"),
    (CSV + "columns: []}", "name the columns"),
    (CSV + "columns: [a, a]}", "check.columns[1]: 'a' stands more than once"),
    (CSV + "types: {a: intger}}", "check.types.a: must be|did you mean 'integer'?"),
    (CSV + "columns: [a], types: {b: text}}", "check.types.b: 'b' is none of the columns"),
    (CSV + "columns: [account], key: [acount], rows: [[x]]}", "did you mean 'account'?"),
    (CSV + "columns: [a], preserves: {of: 'file:s.csv', column: b}}", "check.preserves.column: 'b' is none"),
    (CSV + "columns: [a, b], rows: [[1]]}", "check.rows[0]: has 1 cells for 2 columns"),
    (CSV + "rows: [{a: 1}, {b: 1}]}", "check.rows[1]: names other columns"),
    (CSV + "rows: [{a: 1}, [1]]}", "check.rows[1]: is written another way"),
    (CSV + "rows: [7]}", "check.rows[0]: must be a list of cells"),
    (CSV + "rows: [[[1]]]}", "check.rows[0][0]: must be one value"),
    (CSV + "rows: [{}]}", "names no column"),
    (CSV + "columns: [a], rows: [{b: 1}]}", "check.rows[0].b: 'b' is none of the columns"),
    (CSV + "tz: Europe/Berln}", "unknown time zone 'Europe/Berln'; did you mean 'Europe/Berlin'?"),
    (CSV + "tz: Europe}", "unknown time zone"),
    (CSV + "tz: '../UTC'}", "unknown time zone"),
    (CSV + "columns: [a], delimiter: ', '}", "not one character"),
    (CSV + "columns: [a], where: {column: b, value: 1}}", "check.where.column: 'b' is none of the columns"),
    (CSV + "where: [{column: a, op: eqals, value: 1}]}", "check.where[0].op: must be"),
    (CSV + "where: [{column: a, op: in, value: x}]}", "check.where[0].value: must be a list"),
    (CSV + "where: [{column: a, op: eq, value: [x]}]}", "must be one value"),
    (CSV + "where: [{column: a, op: filled, value: x}]}", "means nothing beside `filled`"),
    (CSV + "columns: [a], ordered: true}", "belongs to `rows`"),
    (CSV + "rows: [[1]], abs_tol: -1}", "check.abs_tol: is -1"),
    (CSV + "preserves: {of: answer, column: a}}", "must be file:PATH of the start state"),
    (CSV + "preserves: {of: 'file:../a', column: a}}", "leaves the state's folder"),
    ("{kind: csv, of: 'file:../a', columns: [a]}", "check.of: '../a' leaves the state's folder"),
    ("{kind: sql, query: SELECT 1}", "the key 'rows' is missing"),
    (SQL + "DELETE FROM t}", "must be one SELECT (or WITH ... SELECT), not 'DELETE'"),
    (SQL + "'WITH x AS (SELECT 1) DELETE FROM t'}", "not WITH ... DELETE"),
    (SQL + "'SELECT 1; SELECT 2'}", "several statements"),
    (SQL + "SELECT a FORM t u v}", "is no SQL that SQLite reads"),
    (SQL + "SELECT random()}", "reads RANDOM"),
    (SQL + "\"SELECT date('now')\"}", "reads the clock"),
    (SQL + "SELECT current_timestamp}", "reads CURRENT_TIMESTAMP"),
    ("{kind: sql, query: SELECT 1, rows: [[true]]}", "check.rows[0]: holds true or false"),
    ("{kind: sql, query: SELECT 1, rows: [[1]], key: [a]}", "check.key[0]: 'a' is no column"),
    ("{kind: sql, query: SELECT 1, rows: [[1]], db: ../a.db}", "leaves the state's folder"),
    ("{kind: state, pointer: a, value: 1}", "check.pointer: 'a' is no JSON pointer"),
    ("{kind: state, value: 1, ordered_at: [log]}", "check.ordered_at[0]: 'log' is no JSON pointer"),
    ("{kind: state, schema: {type: strin}}", "check.schema: is no JSON Schema"),
    ("{kind: state, schema: {type: string}, ordered: true}", "belongs to `value`"),
    ("{kind: state, value: 1, abs_tol: -0.5}", "0 or more"),
    ("{kind: provenance, derive: [summ]}", "did you mean 'sum'?"),
    ("{kind: provenance, tools: ['']}", "check.tools[0]: is empty"),
    ("{kind: equals, value: 1, of: state_befor#}", "did you mean 'state_before'?"),
    ("{kind: equals, value: 1, of: 'state_before#a'}", "starts with `/`"),
    ("{kind: equals, value: 1, of: 'file_before:/a'}", "absolute path"),
]


@pytest.mark.parametrize(("check", "said"), CHECKS)
def test_faults_are_said_where_they_stand(check: str, said: str) -> None:
    lines = problems(with_check(check))
    assert any(all(part in line for part in said.split("|")) for line in lines), lines


@pytest.mark.parametrize(
    "check",
    [
        "{kind: files, unchanged: ['**/*.csv', data], exists: [a], sha256: {b: " + "0" * 64 + "}}",
        CSV
        + "columns: [a, b], types: {a: text, b: datetime}, tz: UTC, rows: [[x, y]], where: {column: a, value: x}}",
        CSV + "tz: Europe/Berlin}",
        CSV + "preserves: {of: 'file:s.csv', column: a, where: [{column: s, op: not_in, value: [x]}]}}",
        CSV + "rows: []}",
        SQL + "'WITH x AS (SELECT 1 AS a) SELECT a FROM x -- all'}",
        SQL + '"SELECT \';\' || \\"delete\\" FROM t /* ; */;"}',
        SQL + "\"SELECT replace(a, 'x', 'y') FROM unknown_table\"}",
        "{kind: sql, query: SELECT a FROM t, rows: [], ordered: true, db: data/a.db, at: start}",
        "{kind: state, value: null}",
        "{kind: state, pointer: /a, value: [1], ordered_at: ['', '/*/b']}",
        "{kind: provenance, tools: [book], derive: [sum, difference, lower, upper, today], ignore: [true, USD, 1]}",
    ],
)
def test_sound_checks(check: str) -> None:
    assert read(with_check(check)).tasks[0].criteria[0].check is not None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1", "select 1;", "  -- note\n/* ; */ WITH a AS (SELECT 1), b AS (SELECT 2) SELECT * FROM a, b",
        "SELECT 'it''s; DROP' AS \"update\"", "SELECT [delete] FROM `insert`", "SELECT max(random) FROM t",
        "SELECT (SELECT 1)", "SELECT 1 UNION SELECT 2",
    ],
)  # fmt: skip
def test_queries_that_only_read(query: str) -> None:
    assert query_fault(query) is None


@pytest.mark.parametrize(
    "query",
    [
        "", ";", "VALUES (1)", "EXPLAIN SELECT 1", "PRAGMA user_version", "WITH a AS (SELECT 1)",
        "SELECT 1; ;DROP TABLE x",
        "SELECT 'open", "SELECT (1", "SELECT \0", "INSERT INTO t SELECT 1",
        "WITH a AS (SELECT 1) REPLACE INTO t SELECT 1",
        "x" * 30_000, "SELECT randomblob(4)", "SELECT time( 'NOW' )",
    ],
)  # fmt: skip
def test_queries_that_are_refused(query: str) -> None:
    assert query_fault(query)
