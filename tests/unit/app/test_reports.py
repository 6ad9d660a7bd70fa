"""Runs and traces as text, through the app."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from scored import criterion, graded, read, suite, task
from steelyard.app.reports import (
    changes,
    collect_traces,
    json_report,
    junit_report,
    markdown_report,
    scoreboard,
    trace_board,
    trace_json,
    whatif_board,
)
from steelyard.app.run import Run
from steelyard.errors import NothingEvaluatedError, UsageError
from steelyard.model.trace import Quarantined

HOSTILE = "\x1b[31m\x00\u202e</script>]]>\n|`<b>&\ufffd"


@pytest.fixture
def hostile() -> Run:
    """Control characters wherever a row, a suite or a file name may hold text."""
    standard = suite(task("a", criterion("C1"), criterion("C2")))
    rows = read([
        graded("a", "C1", 0, reason=HOSTILE, failure_tag=HOSTILE, evidence_refs=[HOSTILE]),
        {"task": "a", "criterion": "C2", "status": "error", "error": HOSTILE, "reason": HOSTILE},
        graded(HOSTILE, "C1", 1),
        {"task": "a", "ended_by": HOSTILE, "measurements": {HOSTILE: 1e308}, "trace": HOSTILE},
    ])  # fmt: skip
    lost = Quarantined(where=b"\xff\x1b[2J.jsonl:1".decode("utf-8", "surrogateescape"), reason=HOSTILE)
    from steelyard.grading.recorded import lost_notices

    return Run(suite=standard, rows=rows, lost=[lost], notices=lost_notices([lost], "rows"))


def strict(data: bytes) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(data.decode("utf-8"), parse_constant=refuse)


def test_hostile_text_reaches_no_terminal(hostile: Run) -> None:
    board = scoreboard(hostile, width=100)
    assert not set(board) & set("\x1b\x00\u202e\udcff")
    assert scoreboard(hostile, unicode=False).isascii()
    assert board.encode("utf-8")


def test_hostile_text_leaves_every_report_well_formed(hostile: Run) -> None:
    found = strict(json_report(hostile))
    assert found["completion"]["value"] == 0.0
    root = ET.fromstring(junit_report(hostile))
    assert root.findall(".//failure") and root.findall(".//error")
    text = markdown_report(hostile)
    assert text.encode("utf-8")
    assert not set(text) & set("\x1b\x00\u202e")


def test_numbers_too_large_to_add_leave_the_json_strict() -> None:
    standard = suite(task("a", criterion("C1")))
    rows = [{"task": "a", "trial": trial, "measurements": {"seconds": 1.7e308}} for trial in (1, 2)]
    run = Run(suite=standard, rows=read([*rows, graded("a", "C1", 1)]))
    found = strict(json_report(run))
    assert found["measurements"] == {}
    assert "measurement_left_out" in {notice["code"] for notice in found["notices"]}


def test_rules_stand_beside_what_failed() -> None:
    standard = suite(task("a", criterion("C1", rule="The answer MUST be Paris.")))
    run = Run(suite=standard, rows=read([graded("a", "C1", 0)]))
    assert "The answer MUST be Paris." in scoreboard(run, width=100)


def test_changes_are_read_as_a_person_types_them() -> None:
    standard = suite(task("a", criterion("C1"), criterion("G1", "grounding")))
    run = Run(suite=standard, rows=read([graded("a", "C1", 0), graded("a", "G1", 0)]))
    asked = changes(run, sets=["a/C1=1"], weights=["a=2"], gates=["a/G1"])
    assert [change.text for change in asked] == ["--set a/C1=1", "--weight a=2", "--gate a/G1"]
    after = run.what_if(asked[:1])
    assert after.scores.completion.value == 1.0
    board = whatif_board(run, after)
    assert "what-if" in board and "0%" in board.replace(" ", "") and "100" in board
    for bad in (
        {"sets": ["zzz/C1=1"]},
        {"sets": ["a/C1=2"]},
        {"weights": ["a=-1"]},
        {"gates": ["a/C9"]},
        {"sets": [""]},
    ):
        with pytest.raises(UsageError):
            changes(run, **bad)


def recording(folder: Path) -> str:
    entries = [
        {
            "task_id": name,
            "trial": trial,
            "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "x"}],
        }
        for name, trial in (("a", 1), ("a", 2), ("b", 1))
    ]
    path = folder / "t.jsonl"
    path.write_text("\n".join([*map(json.dumps, entries), '{"task_id": "b", "mess']))
    return str(path)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [("a", 1), ("a", 2), ("b", 1)]),
        ({"task": "a"}, [("a", 1), ("a", 2)]),
        ({"trial": 1}, [("a", 1), ("b", 1)]),
        ({"task": "a", "trial": 2}, [("a", 2)]),
        ({"task": "zzz"}, []),
    ],
)
def test_traces_are_chosen_by_task_and_trial(
    asked: dict[str, Any], found: list[tuple[str, int]], tmp_path: Path
) -> None:
    traces, lost = collect_traces([recording(tmp_path)], **asked)
    assert [(each.task_id, each.trial) for each in traces] == found
    assert [each.where.rpartition(":")[2] for each in lost] == ["4"]


def test_no_trace_of_a_task_is_no_success(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"task_id": "a", "messages": [{"role": "user", "content": "?"}]}\n')
    with pytest.raises(NothingEvaluatedError, match="no trace of task 'b'"):
        collect_traces([path], task="b")
    with pytest.raises(NothingEvaluatedError, match="leave --task and --trial out"):
        collect_traces([path], trial=7)


def test_traces_as_text_name_what_was_lost(tmp_path: Path) -> None:
    traces, lost = collect_traces([recording(tmp_path)])
    style = {"width": 80, "color": False, "unicode": True}
    for steps in (False, True):
        board = trace_board(traces, lost, steps=steps, **style)
        assert "t.jsonl:4" in board
    found = strict(trace_json(traces, lost))
    assert (len(found["traces"]), len(found["quarantined"])) == (3, 1)
