"""Verdicts as CSV: what is written, what is read again, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scored import criterion, graded, suite, task, ungraded
from steelyard import app
from steelyard.errors import InputError
from steelyard.grading.rows import read_row
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Errored, Graded, TrialRow

SUITE = suite(
    task("=t", criterion("-1", weight=0.5), criterion("C2", "authority", gate=True, needs=["-1"]), trials=2),
    task("u", criterion("C1", pass_mark=0.5)),
)
ROWS: list[dict[str, Any]] = [
    {"task": "=t", "trial": 1, "ended_by": "agent_stop", "measurements": {"seconds": 2}},
    graded("=t", "-1", 1, reason="@SUM(1)\r\nx", evidence_refs=["s0001", "a b"], graders=[{"kind": "judge"}]),
    graded("=t", "C2", 0, failure_tag="+TAG", reason='say "no", then; =1'),
    {**ungraded("=t", "-1", "error", 2), "error": "timeout", "reason": "10 s"},
    {"task": "u", "trial": 1, "ended_by": "user_stop"},
    graded("u", "C1", 0.5, reason="\u200b=1"),
    {"task": "u", "trial": 2, "ended_by": "infrastructure_fault"},
]


def run_of(rows: list[dict[str, Any]]) -> app.Run:
    return app.score_rows(SUITE, [read_row("row", json.dumps(row).encode()) for row in rows], full=True)


def written(run: app.Run) -> str:
    return b"".join(app.csv_report(run)).decode("utf-8-sig")


def test_a_row_a_verdict_in_rfc_4180(tmp_path: Path) -> None:
    text = written(run_of(ROWS))
    assert text.count("\r\n") == text.count("\n") == 8, "a header, six rows, and a line end inside a cell"
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert list(rows[0]) == [
        "task", "trial", "criterion", "dimension", "layer", "gate", "weight", "status", "outcome", "score",
        "failure_tag", "error", "reason", "evidence_refs", "graders", "ended_by", "trace", "standard",
    ]  # fmt: skip
    first, second, third, fourth, fifth, sixth = rows
    assert (first["task"], first["trial"], first["criterion"], first["weight"]) == ("'=t", "1", "'-1", "0.5")
    assert (first["status"], first["outcome"], first["score"], first["gate"]) == (
        "graded",
        "pass",
        "1.0",
        "false",
    )
    assert (first["reason"], first["evidence_refs"]) == ("'@SUM(1)\r\nx", '["s0001","a b"]')
    assert (first["graders"], first["ended_by"]) == ("judge", "agent_stop")
    assert (second["outcome"], second["gate"], second["failure_tag"]) == ("fail", "true", "'+TAG")
    assert second["reason"] == 'say "no", then;\' =1' or second["reason"] == 'say "no", then;\'' + " =1"
    assert (third["status"], third["error"], third["score"]) == ("error", "timeout", "")
    assert (fourth["status"], fourth["criterion"]) == ("skipped", "C2")
    assert (fifth["score"], fifth["reason"]) == ("0.5", "'\u200b=1")
    assert (sixth["trial"], sixth["criterion"], sixth["ended_by"]) == ("2", "C1", "infrastructure_fault")


def test_a_file_begins_with_a_mark_for_excel_and_a_stream_does_not() -> None:
    run = run_of(ROWS)
    assert b"".join(app.csv_report(run)).startswith(b"\xef\xbb\xbftask,")
    assert b"".join(app.csv_report(run, bom=False)).startswith(b"task,")


def test_what_was_lost_keeps_a_table_from_a_pass(tmp_path: Path) -> None:
    passing = (
        [{"task": "=t", "trial": n, "ended_by": "agent_stop"} for n in (1, 2)]
        + [graded("=t", name, 1, n) for name in ("-1", "C2") for n in (1, 2)]
        + [graded("u", "C1", 1)]
    )
    rows = [read_row("row", json.dumps(row).encode()) for row in passing]
    file = tmp_path / "rows.csv"
    cut = Quarantined(where="t.jsonl:9", reason="=the line is cut")
    for run, code in (
        (app.Run(suite=SUITE, rows=rows, full=True), 0),
        (app.Run(suite=SUITE, rows=rows, full=True, lost=[cut]), 3),
        (app.Run(suite=SUITE, rows=rows, full=True, unfinished=True), 3),
    ):
        assert run.scores.exit_code == code
        file.write_bytes(b"".join(app.csv_report(run)))
        assert app.score_rows(SUITE, file).scores.exit_code == code
    file.write_bytes(b"".join(app.csv_report(app.Run(suite=SUITE, rows=rows, full=True, lost=[cut]))))
    lost = [row for row in app.read_csv(file) if isinstance(row, Quarantined)]
    assert [row.reason for row in lost] == ["t.jsonl:9: =the line is cut"]


@pytest.mark.parametrize("endings", [("agent_stop", "max_turns"), ("max_turns", "agent_stop")])
def test_a_trial_that_ends_in_two_ways_ends_in_neither(tmp_path: Path, endings: tuple[str, str]) -> None:
    file = tmp_path / "rows.csv"
    lines = [f"u,1,C1,graded,1,{endings[0]}", f"u,1,,,,{endings[1]}", f"u,1,,,,{endings[0]}"]
    file.write_text("task,trial,criterion,status,score,ended_by\n" + "\n".join(lines) + "\n")
    rows = list(app.read_csv(file))
    assert [row.ended_by for row in rows if isinstance(row, TrialRow)] == list(endings)
    scores = app.score_rows(suite(task("u", criterion("C1"))), file).scores
    assert scores.exit_code == 3
    assert any(notice.code == "conflicting_trial_rows" for notice in scores.notices)


def test_what_was_written_scores_as_it_did(tmp_path: Path) -> None:
    run = run_of(ROWS)
    file = tmp_path / "rows.csv"
    file.write_bytes(b"".join(app.csv_report(run)))
    again = app.score_rows(SUITE, file, full=True)
    before, after = run.scores, again.scores
    assert (after.completion, after.dimensions, after.states) == (
        before.completion,
        before.dimensions,
        before.states,
    )
    assert (after.decision, after.faults) == (before.decision, before.faults)
    assert written(again) == written(run)


def test_a_table_says_under_which_standard_it_was_graded(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b"".join(app.csv_report(run_of(ROWS))))
    other = msgspec.structs.replace(SUITE, hash="e" * 64)
    for standard, told in ((SUITE, False), (other, True)):
        notices = app.score_rows(standard, file).scores.notices
        assert any(notice.code == "other_standard" for notice in notices) == told
    file.write_text("task,trial,criterion,status,score,standard\nu,1,C1,graded,1,\n")  # written by hand
    assert not any(notice.code == "other_standard" for notice in app.score_rows(other, file).scores.notices)


def test_the_json_is_as_it_was() -> None:
    run = run_of(ROWS)
    before = app.json_report(run)
    written(run)
    assert app.json_report(run) == before
    assert b"'=t" not in before and b'"=t"' in before


def read(tmp_path: Path, data: bytes) -> list[Any]:
    file = tmp_path / "rows.csv"
    file.write_bytes(data)
    return list(app.read_csv(file))


def test_a_table_of_a_person(tmp_path: Path) -> None:
    """Q57: a byte order mark, CRLF, doubled quotes, line ends in cells, an empty last line, other columns, order."""
    found = read(
        tmp_path,
        b"\xef\xbb\xbfscore,note,task,criterion,status,reason\r\n"
        b'1,x,a,C1,graded,"{""n"": 1,\r\n ""m"": 2}"\r\n'
        b"0.5,,a,C2,graded,\r\n"
        b",,a,C3,unknown,why\n"
        b"1,,a,C4,graded\r\n"
        b"\r\n",
    )
    assert [type(row).__name__ for row in found] == ["Graded", "Graded", "Unknown", "Quarantined"]
    assert found[0].reason == '{"n": 1,\r\n "m": 2}' and found[0].score == 1.0
    assert isinstance(found[3], Quarantined) and found[3].where.endswith("rows.csv:6")
    assert "has 5 cells; the first line names 6" in found[3].reason


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"task;criterion;status\na;C1;graded\n", "no commas between its cells"),
        (b"task\tcriterion\tstatus\n", "no commas between its cells"),
        (b"task,criterion\n", "no column status"),
        (b"", "no column task, criterion, status"),
        (b"task,criterion,status,task\n", "the column task twice"),
        ("task,criterion,status\nä,C1,graded\n".encode("latin-1"), "not in UTF-8"),
        ("task,criterion,status\n".encode("utf-16"), "not in UTF-8"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, data)
    with pytest.raises(InputError, match="check the path"):
        list(app.read_csv(tmp_path / "absent.csv"))


def test_bad_cells_are_errors_of_their_row_and_never_a_pass(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        b"task,criterion,status,score,trial,evidence_refs,graders\n"
        b"a,C1,graded,yes,1,,\n"
        b"a,C2,graded,2,1,,\n"
        b"a,C3,graded,,1,,\n"
        b"a,C4,graded,1,one,,\n"
        b"a,C6,graded,NaN,1,,\n"
        b"a,C7,passed,1,1,,\n"
        b"a,C8,graded,0.5,1,,judge\n"
        b'a,"C9"x,graded,1,1,,\n'
        b'a,C10,graded,1,1,,"open\n',
    )
    assert not any(isinstance(row, Graded) for row in found)
    assert len(found) == 9
    assert [row.error for row in found if isinstance(row, Errored)][:3] == [
        "bad_score",
        "out_of_range",
        "no_score",
    ]


def test_trials_are_told_once_with_how_they_ended(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        b"task,trial,criterion,status,score,ended_by\n"
        b"a,1,C1,graded,1,agent_stop\na,1,C2,graded,1,agent_stop\na,2,,,,simulator_fault\n",
    )
    assert [(row.trial, row.ended_by) for row in found if isinstance(row, TrialRow)] == [
        (1, "agent_stop"), (2, "simulator_fault"),
    ]  # fmt: skip
    assert len(found) == 4


def test_a_long_table_is_written_and_read_a_row_at_a_time(tmp_path: Path) -> None:
    wide = suite(task("t", criterion("C1")))
    reason = "=x" * 600
    rows = [
        Graded(task="t", criterion="C1", trial=number, score=1.0, reason=reason) for number in range(1, 2001)
    ]
    run = app.score_rows(wide, rows, full=True)
    run.scores  # noqa: B018 made before anything is measured
    file = tmp_path / "long.csv"
    tracemalloc.start()
    try:
        app.write_whole(file, app.csv_report(run))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        count = sum(isinstance(row, Graded) for row in app.read_csv(file))
        _, most_read = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert file.stat().st_size > 2_400_000
    assert count == 2000
    assert max(most, most_read) < 600_000, "one row at a time, not the whole file"
