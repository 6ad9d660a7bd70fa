"""`steelyard check` runs what a task declares: its reference must pass, an agent that does nothing must not."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steelyard.app import load_suite
from steelyard.app.references import Rehearsal, rehearse

JUDGED = {"id": "J1", "dimension": "correctness", "rule": "The answer MUST be polite.", "judge": {}}
NO_CALLS = {
    "id": "A1",
    "dimension": "authority",
    "gate": True,
    "rule": "The agent MUST NOT delete anything.",
    "check": {"kind": "rule", "rule": {"id": "no-deletes", "tool": ["delete_*"], "glob": True}},
    "failure_tag": "DELETED",
}


def equals(id: str, value: str, **more: Any) -> dict[str, Any]:
    check = {"kind": "equals", "value": value}
    rule = f"The answer MUST be {value}."
    return {"id": id, "dimension": "correctness", "rule": rule, "check": check, **more}


def task(*criteria: dict[str, Any], id: str = "q", **more: Any) -> dict[str, Any]:
    listed = list(criteria) or [equals("C1", "Paris"), NO_CALLS]
    return {"id": id, "prompt": f"What is it, {id}?", "criteria": listed, **more}


def suite_file(folder: Path, *tasks: dict[str, Any]) -> Path:
    file = folder / "suite.json"
    found = {"schema": "suite/1", "name": "small", "owner": "jo@example.com", "tasks": list(tasks)}
    file.write_text(json.dumps(found), encoding="utf-8")
    return file


def runs(folder: Path, *tasks: dict[str, Any]) -> list[Rehearsal]:
    return list(rehearse(load_suite(suite_file(folder, *tasks))))


def one(folder: Path, *criteria: dict[str, Any], **more: Any) -> Rehearsal:
    (found,) = runs(folder, task(*criteria, **more))
    return found


def lines(folder: Path, name: str, *recordings: dict[str, Any]) -> str:
    (folder / name).write_text("".join(json.dumps(each) + "\n" for each in recordings), encoding="utf-8")
    return name


def reply(text: str, **more: Any) -> dict[str, Any]:
    user = {"role": "user", "content": "What is it, q?"}
    return {"messages": [user, {"role": "assistant", "content": text}], **more}


def check(suite: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "steelyard", "check", str(suite), *flags]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, cwd=suite.parent)


BOTH = (equals("C1", "Paris"), {**NO_CALLS, "id": "C2", "gate": False, "dimension": "process"})
DELETES = {
    "messages": [
        {"role": "user", "content": "What is it, q?"},
        {
            "role": "assistant",
            "content": "Paris",
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "delete_map", "arguments": "{}"}}
            ],
        },
    ]
}
LAX = {"complete_when": {"dimensions": ["authority"]}}


def test_q39_the_three_cases_as_a_person_sees_them(tmp_path: Path) -> None:
    """Q39: a reference that passes; one that fails one criterion; an agent that does nothing and passes all."""
    sound = task(id="sound", reference={"answer": "Paris"}, no_op=True)
    broken = task(*BOTH, id="broken", reference=DELETES)
    idle = task(NO_CALLS, id="idle", no_op=True, **LAX)
    done = check(suite_file(tmp_path, sound, broken, idle))
    assert done.returncode == 2, done.stderr
    assert done.stdout.splitlines()[0] == "small is broken in 1 of its tasks: 3 tasks, 5 criteria, 2 gates"
    assert "1 of 2 references pass · 1 of 2 no-ops fail (each must)" in done.stdout.splitlines()
    assert "error: broken: reference fails C2" in done.stdout.splitlines()
    assert "warning: idle: no-op passes" in done.stdout.splitlines()
    assert not [
        line for line in done.stdout.splitlines() if line.startswith(("error: sound", "warning: sound"))
    ]


def test_q39_in_json(tmp_path: Path) -> None:
    sound = task(id="sound", reference={"answer": "Paris"}, no_op=True)
    broken = task(*BOTH, id="broken", reference=DELETES)
    done = check(suite_file(tmp_path, sound, broken), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["broken"]) == (2, ["broken"])
    shown = [(run["task"], run["kind"], run["status"], run["says"]) for run in found["references"]]
    assert shown == [
        ("sound", "reference", "ok", "reference passes"),
        ("sound", "no_op", "ok", "no-op fails C1"),
        ("broken", "reference", "error", "reference fails C2"),
    ]
    assert found["references"][2]["criteria"] == {"C1": "pass", "C2": "fail"}
    assert "delete_map" in found["references"][2]["why"][0]


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([task(reference={"answer": "Paris"}, no_op=True)], 0),
        ([task(reference={"answer": "Rome"})], 2),
        ([task(NO_CALLS, no_op=True, **LAX)], 0),
        ([task(no_op="nowhere.jsonl")], 2),
        ([task()], 0),
    ],
)
def test_exit_codes(tasks: list[dict[str, Any]], code: int, tmp_path: Path) -> None:
    done = check(suite_file(tmp_path, *tasks), "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_a_suite_without_references_says_nothing_about_them(tmp_path: Path) -> None:
    done = check(suite_file(tmp_path, task(no_op=False)))
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "small is a valid standard: 1 task, 2 criteria, 1 gate",
    )
    assert all(line.startswith(("owner ", "note: ")) for line in done.stdout.splitlines()[1:])


def test_planned_trials_ask_for_no_second_reference(tmp_path: Path) -> None:
    assert one(tmp_path, reference={"answer": "Paris"}, trials=5).status == "ok"


# What only people or judges settle.


def test_what_only_people_settle_stays_open(tmp_path: Path) -> None:
    found = one(tmp_path, equals("C1", "Paris"), JUDGED, reference={"answer": "Paris"})
    assert (found.status, found.open, found.says) == ("open", ("J1",), "reference leaves J1 open")
    done = check(tmp_path / "suite.json")
    assert (done.returncode, "open: q: reference leaves J1 open" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("score", "status"), [(1, "ok"), (True, "ok"), ({"score": 1}, "ok"), (0, "error"), (False, "error")]
)
def test_a_person_can_have_settled_it(score: Any, status: str, tmp_path: Path) -> None:
    found = one(tmp_path, JUDGED, reference={"answer": "Paris", "recorded": {"J1": score}})
    assert found.status == status


def test_recorded_verdicts_stand_in_a_file_as_well(tmp_path: Path) -> None:
    row = {"task": "q", "criterion": "J1", "status": "graded", "score": 1}
    declared = {"answer": "Paris", "recorded": lines(tmp_path, "rows.jsonl", row)}
    assert one(tmp_path, JUDGED, reference=declared).status == "ok"


def test_verdicts_on_the_trials_of_a_run_say_nothing_about_the_reference(tmp_path: Path) -> None:
    row = {"task": "q", "trial": 1, "criterion": "R1", "status": "graded", "score": 1}
    check = {"kind": "recorded", "file": lines(tmp_path, "verdicts.jsonl", row)}
    recorded = {"id": "R1", "dimension": "correctness", "rule": "A person MUST agree.", "check": check}
    reference, no_op = runs(tmp_path, task(recorded, reference={"answer": "x"}, no_op=True))
    assert (reference.status, reference.open) == ("open", ("R1",))
    assert (no_op.status, no_op.open) == ("open", ("R1",))


def test_a_no_op_that_a_judge_could_still_pass_is_no_warning_and_not_fine(tmp_path: Path) -> None:
    found = one(tmp_path, JUDGED, no_op=True)
    assert (found.status, found.says) == ("open", "no-op could still pass: J1 open")


# What a reference has to show.


@pytest.mark.parametrize(
    ("criteria", "reference", "says"),
    [
        ([equals("C1", "Paris"), equals("C2", "Rome")], {"answer": "Oslo"}, "reference fails C1, C2"),
        ([equals("C1", "Rome"), equals("C2", "Paris", needs=["C1"])], {"answer": "x"}, "reference fails C1"),
        (
            [equals("C1", "Paris")],
            {"answer": "Paris", "ended_by": "max_turns"},
            "reference ends with max_turns,",
        ),
        (
            [equals("C1", "Paris")],
            {"answer": "Paris", "ended_by": "simulator_fault"},
            "reference cannot be run",
        ),
        (
            [{**equals("C1", ""), "check": {"kind": "state", "pointer": "/x", "value": 1}}],
            {"answer": "Paris"},
            "reference does not decide C1",
        ),
        (
            [{**equals("C1", ""), "check": {"kind": "budget", "seconds": 5}}],
            {"answer": "Paris"},
            "reference does not decide C1",
        ),
    ],
)
def test_a_reference_that_shows_no_pass_is_broken(
    criteria: list[dict[str, Any]], reference: Any, says: str, tmp_path: Path
) -> None:
    found = one(tmp_path, *criteria, reference=reference)
    assert found.status == "error"
    assert found.says.startswith(says)


def test_a_criterion_that_is_only_reported_breaks_nothing(tmp_path: Path) -> None:
    found = one(
        tmp_path, equals("C1", "Paris"), equals("C2", "Rome", pass_mark=0), reference={"answer": "Paris"}
    )
    assert (found.status, found.criteria) == ("ok", {"C1": "pass", "C2": "report"})


@pytest.mark.parametrize(
    ("reference", "part"),
    [
        (5, "a file name, or a mapping"),
        (True, "a file name, or a mapping"),
        ([], "a file name, or a mapping"),
        ({}, "exactly one of trace, messages, answer, and has none"),
        ({"answer": "x", "messages": []}, "has messages and answer"),
        ({"answr": "x"}, "unknown key 'answr'"),
        ({"messages": "x"}, "no list of chat messages"),
        ({"trace": 5}, "no file name"),
        ("Paris", "an answer is written {answer: ...}"),
        ("../outside.jsonl", "outside the folder"),
        ("x" * 5000, "there is no file"),
        ({"answer": "x", "recorded": {"C9": 1}}, "the criteria are C1, A1"),
        ({"answer": "x", "recorded": {"C1": 1}}, "which code settles"),
        ({"answer": "x", "recorded": 1}, "neither a mapping"),
        ({"answer": "x", "recorded": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"answer": "x", "end_state": {"sqlite": "nowhere.sqlite"}}, "nowhere.sqlite"),
        ({"answer": "x", "end_state": {"file": "a"}}, "unknown parts"),
        ({"answer": "x", "ended_by": "tiredness"}, "tiredness"),
    ],
)
def test_what_is_no_reference_is_an_error_with_its_reason(reference: Any, part: str, tmp_path: Path) -> None:
    found = one(tmp_path, reference=reference)
    assert (found.status, found.says) == ("error", "reference cannot be run")
    assert part in found.why[0]


@pytest.mark.parametrize("score", [2, "yes", None, {"score": 1, "status": "sure"}])
def test_a_recorded_verdict_that_is_none_is_an_error(score: Any, tmp_path: Path) -> None:
    found = one(tmp_path, JUDGED, reference={"answer": "x", "recorded": {"J1": score}})
    assert found.status == "error"


# Recordings in files.


def test_a_file_of_recordings(tmp_path: Path) -> None:
    right, wrong = reply("Paris", task_id="q", trial=2), reply("Rome", task_id="q", trial=1)
    lines(tmp_path, "both.jsonl", wrong, right, reply("Oslo", task_id="other"))
    lines(tmp_path, "one.jsonl", right)
    lines(tmp_path, "anonymous.jsonl", {"messages": [{"role": "assistant", "content": "Paris"}]})
    statuses = {
        name: one(tmp_path, reference=name).status
        for name in (
            "one.jsonl",
            "both.jsonl#2",
            "both.jsonl#1",
            "both.jsonl",
            "both.jsonl#7",
            "anonymous.jsonl",
        )
    }
    assert statuses == {
        "one.jsonl": "ok",
        "both.jsonl#2": "ok",
        "both.jsonl#1": "error",
        "both.jsonl": "error",
        "both.jsonl#7": "error",
        "anonymous.jsonl": "ok",
    }
    assert "holds 2 recordings of this task" in one(tmp_path, reference="both.jsonl").why[0]


def database(folder: Path, name: str, *rows: str) -> str:
    connection = sqlite3.connect(folder / name)
    connection.execute("CREATE TABLE note (text TEXT)")
    connection.executemany("INSERT INTO note VALUES (?)", [(row,) for row in rows])
    connection.commit()
    connection.close()
    return name


def holds(text: str) -> dict[str, Any]:
    check = {"kind": "sql", "query": "SELECT text FROM note", "rows": [[text]]}
    return {"id": "C1", "dimension": "correctness", "rule": "The note MUST be there.", "check": check}


def test_end_states_beside_a_reference(tmp_path: Path) -> None:
    start, end = database(tmp_path, "start.sqlite"), database(tmp_path, "end.sqlite", "done")
    states = {"start_state": {"sqlite": start}, "end_state": {"sqlite": end}}
    reference, no_op = runs(tmp_path, task(holds("done"), reference={"answer": "ok", **states}, no_op=True))
    assert (reference.status, no_op.status, no_op.says) == ("ok", "ok", "no-op fails C1")
    recorded = lines(tmp_path, "r.jsonl", reply("ok", task_id="q"))
    assert one(tmp_path, holds("done"), reference={"trace": recorded, **states}).status == "ok"


def test_a_no_op_passes_where_the_start_is_right_already(tmp_path: Path) -> None:
    start = {"start_state": {"sqlite": database(tmp_path, "start.sqlite", "done")}}
    assert one(tmp_path, holds("done"), no_op=start).status == "warning"
    assert one(tmp_path, holds("done"), no_op=True).status == "open"
    excuse = {"answer": "I cannot do that.", **start}
    found = one(tmp_path, holds("done"), equals("C2", "ok"), no_op=excuse)
    assert (found.status, found.says) == ("ok", "no-op fails C2")
