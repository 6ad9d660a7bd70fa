"""Tables of a state: columns, types, zones, conditions, rows, and what a source has to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import GraderError
from steelyard.model.state_checks import CsvCheck, Preserves, RowCondition
from steelyard.model.verdict import Undecided
from unit.checks.trials import call, grade, said, trace_of, verdict
from unit.checks.worlds import world

SOURCE = (
    "account_id,plan,status,created\n0041,team,active,2025-03-01T09:30:00+00:00\n"
    "0042,solo,closed,2025-03-02T12:00:00+00:00\n0043,team,active,2025-03-03T16:15:00+02:00\n"
)
GOOD = "account_id,plan,created_at\n0041,team,2025-03-01T09:30:00Z\n0043,team,2025-03-03T14:15:00Z\n"
OF = "file:out.csv"


def table(tmp: Path, text: str | bytes, source: str | None = SOURCE) -> Any:
    return world(tmp, end={"out.csv": text}, start=None if source is None else {"accounts.csv": source})


def reason(spec: CsvCheck, trace: Any) -> str:
    finding = grade(spec, trace)
    assert verdict(spec, trace) in (0, None)
    return finding.reason


def code_of(spec: Any, trace: Any) -> str:
    with pytest.raises(GraderError) as raised:
        grade(spec, trace)
    return raised.value.code


FULL = CsvCheck(
    of=OF,
    columns=("account_id", "plan", "created_at"),
    rows=(["0043", "team", "2025-03-03T16:15:00+02:00"], ["0041", "team", "2025-03-01T09:30:00Z"]),
    types={"account_id": "text", "created_at": "datetime"},
    tz="UTC",
    where=RowCondition(column="plan", op="in", value=["team", "solo"]),
    preserves=Preserves(
        of="file:accounts.csv", column="account_id", where=(RowCondition(column="status", value="active"),)
    ),
)


def test_everything_at_once(tmp_path: Path) -> None:
    finding = grade(FULL, table(tmp_path, GOOD))
    assert verdict(FULL, table(tmp_path, GOOD)) == 1
    assert finding.evidence == ("file:out.csv", "file_before:accounts.csv")


@pytest.mark.parametrize(
    ("text", "said_of"),
    [
        (GOOD.replace("created_at", "created"), 'expected ["account_id", "plan", "created_at"]'),
        (GOOD.replace("account_id,plan", "plan,account_id"), "same columns, other order"),
        (GOOD.replace("0041", "41"), 'account_id lacks "0041"'),
        (
            GOOD + "0042,solo,2025-03-02T12:00:00Z\n",
            'account_id has "0042", which file:accounts.csv does not have',
        ),
        (GOOD + "0043,team,2025-03-03T14:15:00Z\n", 'account_id has "0043"'),
        (
            GOOD.replace("09:30:00Z", "09:30:00"),
            'row 1, created_at is "2025-03-01T09:30:00", a time without offset',
        ),
        (
            GOOD.replace("14:15:00Z", "16:15:00+02:00"),
            'row 2, created_at is "2025-03-03T16:15:00+02:00", not in UTC',
        ),
        (
            GOOD.replace("2025-03-01T09:30:00Z", "yesterday"),
            'row 1, created_at is "yesterday", no date and time',
        ),
        (GOOD.replace("0043,team", "0043,pro"), 'row 2, plan is "pro", which is not in ["team", "solo"]'),
        (GOOD.replace("03T14:15", "03T14:16"), "row 2, created_at, is"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(tmp_path: Path, text: str, said_of: str) -> None:
    assert said_of in reason(FULL, table(tmp_path, text))


def test_bom_crlf_quotes_newlines_and_empty_lines(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbfid,input,expected\r\n1,"{""a"": ""b""}",x\r\n2,"line, one\r\nline two",y\r\n3,z,w\r\n\r\n'
    rows = (
        {"id": "1", "input": '{"a": "b"}'},
        {"id": "2", "input": "line, one\nline two"},
        {"id": "3", "input": "z"},
    )
    spec = CsvCheck(of=OF, columns=("id", "input", "expected"), rows=rows[::-1])
    assert verdict(spec, table(tmp_path, text)) == 1
    assert verdict(CsvCheck(of=OF, rows=rows, ordered=True), table(tmp_path, text)) == 1
    assert "same rows, other order" in reason(
        CsvCheck(of=OF, rows=rows[::-1], ordered=True), table(tmp_path, text)
    )


@pytest.mark.parametrize(
    ("text", "said_of"),
    [
        ("a,b\n1,2\n3\n", 'row 2 has only 1 cell, the header has 2: ["3"]'),
        ("a,b\n1,2,3\n", "row 1 has 3 cells, the header has 2"),
        ("a;b\n1;2\n", "its columns are separated by semicolons, not by commas"),
        ("a\tb\n1\t2\n", "separated by tabs"),
        ("", "it is empty, so it has no header"),
        ("\n\n", "it is empty"),
        ("a,\n1,2\n", "has no name"),
        ("a,a\n1,2\n", 'the column "a" stands in the header more than once'),
        ('a,b\n1,"2\n', "row 1 is not valid CSV"),
        ('"a,b\n', "the header is not valid CSV"),
        ("a,b\n1,\0\n", "NUL"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, said_of: str) -> None:
    assert said_of in reason(CsvCheck(of=OF, columns=("a", "b")), table(tmp_path, text))


def test_a_declared_delimiter(tmp_path: Path) -> None:
    trace = table(tmp_path, "a;b\n1;2,5\n")
    assert verdict(CsvCheck(of=OF, columns=("a", "b"), rows=(["1", "2,5"],), delimiter=";"), trace) == 1
    assert code_of(CsvCheck(of=OF, columns=("a",), delimiter=";;"), trace) == "bad_check"


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("integer", ["0", "-5", "12345678901234567890"], ["0041", "1.0", "", " 1", "+1", "x", "1e3", "٣"]),
        ("number", ["0", "-5.25", "1e3"], ["0041", '"1,5"', "", "NaN", "Infinity", ".5", "1 "]),
        ("boolean", ["true", "False"], ["1", "yes", ""]),
        ("date", ["2024-02-29"], ["2025-02-29", "20250301", "2025-03-01T00:00:00Z", "1/2/2025", ""]),
        (
            "datetime",
            [
                "2025-03-01T09:30:00Z",
                "2025-03-01 09:30:00 UTC",
                "2025-03-01T09:30+01:00",
                "2025-03-01T09:30:00.5",
            ],
            ["2025-03-01", "09:30", "", "2025-13-01T00:00:00Z", "2025-03-01T25:00:00Z"],
        ),
    ],
)
def test_types(tmp_path: Path, kind: Any, good: list[str], bad: list[str]) -> None:
    spec = CsvCheck(of=OF, types={"a": kind})
    trace = table(tmp_path, "a,b\n" + "".join(f"{cell},1\n" for cell in good))
    assert verdict(spec, trace) == 1
    for cell in bad:
        assert "row 1, a is" in reason(spec, table(tmp_path, f"a,b\n{cell},1\n"))
    assert verdict(CsvCheck(of=OF, types={"a": kind}, optional=("a",)), table(tmp_path, "a,b\n,1\n")) == 1
    assert 'there is no column "a"' in reason(spec, table(tmp_path, "b\n1\n"))


@pytest.mark.parametrize(
    ("tz", "cell", "holds"),
    [
        ("UTC", "2025-07-01T10:00:00Z", True),
        ("UTC", "2025-07-01T10:00:00+00:00", True),
        ("UTC", "2025-07-01 10:00:00 UTC", True),
        ("UTC", "2025-07-01T10:00:00+01:00", False),
        ("UTC", "2025-07-01T10:00:00", False),
        ("Europe/Berlin", "2025-07-01T10:00:00+02:00", True),
        ("Europe/Berlin", "2025-01-01T10:00:00+02:00", False),
        ("Europe/Berlin", "2025-01-01T10:00:00+01:00", True),
        ("Europe/Berlin", "2025-07-01T08:00:00Z", False),
        ("Europe/Berlin", "0001-01-01T00:00:00+14:00", False),
    ],
)
def test_zones(tmp_path: Path, tz: str, cell: str, holds: bool) -> None:
    text = f"id,when\n1,{cell}\n"
    for types in ({}, {"when": "datetime"}):
        assert verdict(CsvCheck(of=OF, tz=tz, types=types), table(tmp_path, text)) == holds  # type: ignore[arg-type]


def test_a_column_of_times_is_known_by_one_time(tmp_path: Path) -> None:
    text = "id,when\n1,2025-07-01T10:00:00Z\n2,July 1st\n"
    assert 'row 2, when is "July 1st"' in reason(CsvCheck(of=OF, tz="UTC"), table(tmp_path, text))
    assert "no cell holds a time" in reason(CsvCheck(of=OF, tz="UTC"), table(tmp_path, "id\n1\n"))
    assert code_of(CsvCheck(of=OF, tz="Europe/Berln"), table(tmp_path, text)) == "bad_zone"


def test_a_table_without_rows_shows_nothing(tmp_path: Path) -> None:
    trace = table(tmp_path, "a,b\n")
    for spec in (
        CsvCheck(of=OF, types={"a": "integer"}),
        CsvCheck(of=OF, tz="UTC"),
        CsvCheck(of=OF, where=RowCondition(column="a", value="x")),
    ):
        assert "it has no rows" in reason(spec, trace)
    assert verdict(CsvCheck(of=OF, columns=("a", "b")), trace) == 1
    assert verdict(CsvCheck(of=OF, types={"a": "integer"}, rows=()), trace) == 1
    assert verdict(CsvCheck(of=OF, rows=()), table(tmp_path, "a\n1\n")) == 0


def test_rows_compare_by_value_where_the_expected_value_has_one(tmp_path: Path) -> None:
    trace = table(tmp_path, "id,n,ok,note\n0041,1.50,TRUE,\n7,2,false,x\n")
    rows = (["7", 2, False, "x"], ["0041", 1.5, True, None])
    assert verdict(CsvCheck(of=OF, rows=rows), trace) == 1
    assert verdict(CsvCheck(of=OF, rows=(["7", 2, False, "x"], [41, 1.5, True, None])), trace) == 0
    assert verdict(CsvCheck(of=OF, rows=({"n": 1.4}, {"n": 2})), trace) == 0
    assert verdict(CsvCheck(of=OF, rows=({"n": 1.4}, {"n": 2}), abs_tol="0.1"), trace) == 1  # type: ignore[arg-type]
    keyed = CsvCheck(of=OF, rows=({"id": "7", "note": "y"}, {"id": "0041", "note": ""}), key=("id",))
    assert 'row 2, note, is "x", expected "y"' in reason(keyed, trace)
    assert code_of(CsvCheck(of=OF, rows=(["7"],)), trace) == "bad_check"
    assert code_of(CsvCheck(of=OF, rows=({"id": "7"}, {"n": 2})), trace) == "bad_check"
    assert "there is no column" in reason(CsvCheck(of=OF, rows=({"nope": "7"},)), trace)


@pytest.mark.parametrize(
    ("op", "value", "holds"),
    [
        ("eq", "team", True), ("eq", "Team", False), ("ne", "solo", True), ("ne", "team", False),
        ("in", ["team"], True), ("in", ["solo"], False), ("not_in", ["solo"], True), ("not_in", ["team"], False),
        ("filled", None, True), ("empty", None, False),
    ],
)  # fmt: skip
def test_conditions(tmp_path: Path, op: Any, value: Any, holds: bool) -> None:
    spec = CsvCheck(of=OF, where=(RowCondition(column="plan", op=op, value=value),))
    assert verdict(spec, table(tmp_path, GOOD)) == holds
    assert "no column" in reason(
        CsvCheck(of=OF, where=RowCondition(column="x", value=1)), table(tmp_path, GOOD)
    )


def test_conditions_on_numbers_and_nothing(tmp_path: Path) -> None:
    trace = table(tmp_path, "n,m\n1.0,\n")
    assert verdict(CsvCheck(of=OF, where=RowCondition(column="n", value=1)), trace) == 1
    assert verdict(CsvCheck(of=OF, where=RowCondition(column="n", value="1")), trace) == 0
    assert verdict(CsvCheck(of=OF, where=RowCondition(column="m", value=None)), trace) == 1
    assert code_of(CsvCheck(of=OF, where=RowCondition(column="m", op="in", value="x")), trace) == "bad_check"


def test_what_the_source_held_is_read_at_the_start(tmp_path: Path) -> None:
    spec = CsvCheck(of=OF, preserves=FULL.preserves)
    assert isinstance(grade(spec, table(tmp_path, GOOD, None)), Undecided)
    assert isinstance(grade(spec, world(tmp_path / "2", end={"out.csv": GOOD}, start={"x": ""})), Undecided)
    assert code_of(spec, table(tmp_path / "3", GOOD, "a;b\n1;2\n")) == "bad_state"
    assert code_of(spec, table(tmp_path / "4", GOOD, "account_id\n1\n")) == "bad_state"
    renamed = Preserves(of="file_before:accounts.csv", column="id", source_column="account_id")
    everyone = "id\n0043\n0042\n0041\n"
    assert verdict(CsvCheck(of=OF, preserves=renamed), table(tmp_path / "5", everyone)) == 1
    assert "no column" in reason(CsvCheck(of=OF, preserves=renamed), table(tmp_path / "6", GOOD))


def test_a_file_that_is_not_there_and_one_that_nobody_recorded(tmp_path: Path) -> None:
    spec = CsvCheck(of=OF, columns=("a",))
    assert "there is no file" in reason(spec, world(tmp_path, end={}))
    assert verdict(spec, world(tmp_path, end={})) == 0
    assert isinstance(grade(spec, trace_of()), Undecided)
    assert "UTF-8" in reason(spec, table(tmp_path, b"a\n\xff\n"))
    assert code_of(CsvCheck(of=OF), table(tmp_path, GOOD)) == "empty_check"


def test_a_table_in_an_argument_or_reply() -> None:
    trace = trace_of(call("write", {"content": "a,b\n1,2\n", "n": 5}), said("a,b\n1,2"))
    assert verdict(CsvCheck(of="call:write/args/content", columns=("a", "b")), trace) == 1
    assert verdict(CsvCheck(columns=("a", "b"), rows=(["1", "2"],)), trace) == 1
    assert "not the text of a table" in reason(CsvCheck(of="call:write/args/n", columns=("a",)), trace)


def test_tables_without_measure_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.checks.tables.MAX_ROWS", 2)
    assert code_of(CsvCheck(of=OF, columns=("a",)), table(tmp_path, "a\n1\n2\n3\n")) == "too_large"
    assert code_of(CsvCheck(of=OF, columns=("a",)), table(tmp_path, f"a\n{'x' * 140_000}\n")) == "too_large"
