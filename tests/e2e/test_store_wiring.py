"""What was graded is kept, found again, and never stale: the command and the facade over a real store."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import steelyard.checks
from steelyard import app
from steelyard.checks.policy import Policy
from steelyard.ports.grader import GraderInput

Process = subprocess.CompletedProcess[str]
Command = Callable[..., Process]
Change = Callable[["World"], None]

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Refund order 7."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"id": 7}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"total": 40, "note": "as paid"}'},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c2", "type": "function", "function": {"name": "refund", "arguments": '{"amount": 40}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": '{"ok": true}'},
    {"role": "assistant", "content": "Refunded 40."},
]
SCRIPT = "def check(answer):\n    return 'Refunded' in answer\n"
CHECKS: dict[str, dict[str, Any]] = {
    "said": {"check": {"kind": "contains", "all": ["refunded"]}},
    "total": {"check": {"kind": "number", "of": "result:look/total", "value": 40}},
    "amount": {"check": {"kind": "number", "of": "call:refund/args/amount", "max": 50}},
    "limit": {
        "check": {"kind": "expr", "expr": "amount <= facts.limit.max", "let": {"amount": "call:refund/args/amount"}}
    },
    "shop": {"check": {"kind": "expr", "expr": "facts.shop.open"}},
    "file": {"check": {"kind": "contains", "of": "file:note.txt", "all": ["done"]}},
    "row": {"check": {"kind": "sql", "query": "SELECT amount FROM refund", "rows": [[40]]}},
    "script": {"check": {"kind": "python", "file": "checks/said.py"}},
    "tone": {
        "judge": {"extract": {"tone": "integer"}},
        "check": {"kind": "expr", "expr": "extracted.tone >= 3"},
    },
    "rule": {"check": {"kind": "rule", "rule": {"id": "no-deletes", "tool": ["delete"]}}},
    "steps": {"check": {"kind": "budget", "turns": 4}},
}  # fmt: skip


class World:
    """A suite of every kind of reading over one recording with an end state, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.messages: list[dict[str, Any]] = json.loads(json.dumps(MESSAGES))
        self.recording: dict[str, Any] = {
            "end_state": {"files": "end", "sqlite": "shop.db", "json": {"open": 1}}
        }
        criteria = [
            {"id": name, "dimension": "correctness", "rule": f"The {name} MUST be right.", **own}
            for name, own in json.loads(json.dumps(CHECKS)).items()
        ]
        self.suite: dict[str, Any] = {
            "schema": "suite/1",
            "name": "shop",
            "owner": "jo@example.com",
            "tasks": [
                {
                    "id": "refund",
                    "prompt": "Refund order 7.",
                    "facts": {"limit": {"data": {"max": 50}}, "shop": {"data": {"open": True}}},
                    "criteria": criteria,
                }
            ],
        }
        self.tone = 4
        self.state: dict[str, str] = {"note.txt": "all done\n"}
        self.amount = 40
        self.written = 0
        self.script = SCRIPT

    @property
    def task(self) -> dict[str, Any]:
        task: dict[str, Any] = self.suite["tasks"][-1]
        return task

    def criterion(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(entry for entry in self.task["criteria"] if entry["id"] == name)
        return found

    def write(self) -> None:
        (self.folder / "suite.yaml").write_text(yaml.safe_dump(self.suite, sort_keys=False))
        line = {"task_id": "refund", "messages": self.messages, **self.recording}
        (self.folder / "runs.jsonl").write_text(json.dumps(line) + "\n")
        row = {
            "task": "refund", "trial": 1, "criterion": "tone", "status": "graded", "score": 1.0,
            "extracted": {"tone": self.tone}, "graders": [{"kind": "human"}],
        }  # fmt: skip
        (self.folder / "tone.jsonl").write_text(json.dumps(row) + "\n")
        for name, text in self.state.items():
            (self.folder / "end" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "end" / name).write_text(text)
        (self.folder / "checks").mkdir(exist_ok=True)
        (self.folder / "checks" / "said.py").write_text(self.script)
        if self.amount != self.written:  # writing the same row again would change bytes of the file
            connection = sqlite3.connect(self.folder / "shop.db")
            with connection:
                connection.execute("CREATE TABLE IF NOT EXISTS refund (amount)")
                connection.execute("DELETE FROM refund")
                connection.execute("INSERT INTO refund VALUES (?)", (self.amount,))
            connection.close()
            self.written = self.amount


class Counted:
    """Stands before the grader of a check and notes the criteria that it really grades."""

    def __init__(self, grader: Any, seen: list[str], version: str | None) -> None:
        self.grader, self.seen = grader, seen
        self.kind, self.version = grader.kind, version or grader.version
        self.seconds = getattr(grader, "seconds", None)
        self.reads = grader.reads

    def grade(self, spec: Any, given: GraderInput) -> Any:
        self.seen.append(given.criterion.id)
        return self.grader.grade(spec, given)


class Grading:
    """Grades a world through the facade; `graded` are the criteria that a grader was called for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.graded: list[str] = []
        self.version: str | None = None
        real = steelyard.checks.grader_for

        def counting(spec: Any, policy: Policy = Policy()) -> Any:  # noqa: B008 a frozen record
            return Counted(real(spec, policy), self.graded, self.version)

        monkeypatch.setattr(steelyard.checks, "grader_for", counting)

    def __call__(self, world: World, *, store: str = "store.db") -> app.Run:
        world.write()
        del self.graded[:]
        with app.open_store(str(world.folder / store)) as opened:
            return app.grade(
                app.load_suite(world.folder / "suite.yaml"),
                app.read_traces(world.folder / "runs.jsonl"),
                recorded=[world.folder / "tone.jsonl"],
                keep=app.Keep(store=opened),
            )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def grading(monkeypatch: pytest.MonkeyPatch) -> Grading:
    return Grading(monkeypatch)


@pytest.fixture
def steelyard_(tmp_path: Path) -> Command:
    def run(*arguments: str, **settings: str) -> Process:
        return subprocess.run(  # noqa: PLW1510 the exit code is what is asked for
            [sys.executable, "-m", "steelyard", *arguments],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, env={**_clean(), **settings},
        )  # fmt: skip

    return run


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}


def outcomes(run: app.Run) -> dict[str, str]:
    (trial,) = run.scores.tasks[0].trials
    return {entry.id: entry.outcome for entry in trial.criteria}


# --- Q25: what decides a verdict re-grades it, and nothing else does.


def reworded(world: World) -> None:
    world.criterion("said")["rule"] = "The answer MUST say that it was refunded."


def other_setting(world: World) -> None:
    world.criterion("amount")["check"]["max"] = 45


def other_output(world: World) -> None:
    world.messages[2]["content"] = '{"total": 41, "note": "as paid"}'


def other_note_in_the_output(world: World) -> None:
    world.messages[2]["content"] = '{"total": 40, "note": "as seen"}'


def other_tools_output(world: World) -> None:
    world.messages[4]["content"] = '{"ok": false}'


def other_argument(world: World) -> None:
    world.messages[3]["tool_calls"][0]["function"]["arguments"] = '{"amount": 60}'


def other_fact(world: World) -> None:
    world.task["facts"]["limit"]["data"]["max"] = 30


def other_file(world: World) -> None:
    world.state["note.txt"] = "nothing\n"


def other_row(world: World) -> None:
    world.amount = 41


def other_script(world: World) -> None:
    world.script = "def check(answer):\n    return 'Refused' in answer\n"


def other_extraction(world: World) -> None:
    world.tone = 2


def other_answer(world: World) -> None:
    world.messages[5]["content"] = "Refunded 40, as asked."


STATE = {"file", "row"}
CALLS = {"amount", "limit", "rule"}
DECIDING: list[tuple[Change, set[str]]] = [
    (reworded, {"said"}),
    (other_setting, {"amount"}),
    (other_output, {"total"}),
    (other_note_in_the_output, {"total"}),
    (other_tools_output, set()),
    (other_argument, CALLS),
    (other_fact, {"limit"}),
    (other_file, {"file"}),
    (other_row, {"row"}),
    (other_script, {"script"}),
    (other_extraction, {"tone"}),
    (other_answer, {"said", "script"}),
]


@pytest.mark.parametrize(("change", "again"), DECIDING, ids=[change.__name__ for change, _ in DECIDING])
def test_what_decides_a_verdict_grades_it_anew_and_nothing_else(
    world: World, grading: Grading, change: Change, again: set[str]
) -> None:
    first = grading(world)
    assert set(grading.graded) == set(CHECKS)
    assert set(outcomes(first).values()) == {"pass"}
    change(world)
    second = grading(world)
    assert (set(grading.graded), second.reused) == (again, len(CHECKS) - len(again))
    fresh = grading(world, store="fresh.db")
    assert set(grading.graded) == set(CHECKS)
    assert second.rows == fresh.rows, "what was reused is what would have been found"


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        (other_setting, set()), (other_output, {"total"}), (other_argument, {"amount", "limit"}),
        (other_fact, {"limit"}), (other_file, {"file"}), (other_row, {"row"}), (other_script, {"script"}),
        (other_extraction, {"tone"}),
    ],
)  # fmt: skip
def test_the_new_verdict_is_that_of_the_new_evidence(
    world: World, grading: Grading, change: Change, fails: set[str]
) -> None:
    grading(world)
    change(world)
    assert {name for name, outcome in outcomes(grading(world)).items() if outcome == "fail"} == fails


def pass_mark(world: World) -> None:
    world.criterion("said")["pass_mark"] = 0.5


def weight(world: World) -> None:
    world.criterion("said")["weight"] = 3


def gate(world: World) -> None:
    world.criterion("rule")["gate"] = True


def needs(world: World) -> None:
    world.criterion("amount")["needs"] = ["said"]


def definition(world: World) -> None:
    world.suite["dimensions"] = {"correctness": {"definition": "Everything that was promised is true."}}


def failure_tag(world: World) -> None:
    world.criterion("said")["failure_tag"] = "NOT_SAID"


def task_weight(world: World) -> None:
    world.task["weight"] = 5


def name_and_version(world: World) -> None:
    world.suite["name"], world.suite["version"] = "other", "2"


def order_of_criteria(world: World) -> None:
    world.task["criteria"].reverse()


def one_more_task(world: World) -> None:
    more = {**json.loads(json.dumps(world.task)), "id": "more", "prompt": "Refund order 8."}
    world.suite["tasks"].insert(0, more)


def cost(world: World) -> None:
    world.recording["cost_usd"] = 12.5
    world.recording["session_id"] = "another"


def place_of_the_state(world: World) -> None:
    os.rename(world.folder / "end", world.folder / "moved")
    world.recording["end_state"]["files"] = "moved"
    world.state = {}


def another_fact(world: World) -> None:
    world.task["facts"]["unused"] = {"text": "read by nobody"}


REUSED = [
    pass_mark, weight, gate, needs, definition, failure_tag, task_weight, name_and_version, order_of_criteria,
    one_more_task, cost, place_of_the_state, another_fact,
]  # fmt: skip


@pytest.mark.parametrize("change", REUSED)
def test_what_only_weighs_a_verdict_grades_nothing_anew(
    world: World, grading: Grading, change: Change
) -> None:
    grading(world)
    change(world)
    assert grading(world).reused == len(CHECKS)
    assert grading.graded == []


def test_times_decide_no_budget_of_calls(world: World, grading: Grading) -> None:
    grading(world)
    for number, message in enumerate(world.messages):
        message["timestamp"] = f"2026-01-01T00:00:0{number}Z"
    fidelity = grading(world)
    assert fidelity.reused == 0, "that the record has times is part of how far it can be trusted"
    for message in world.messages:
        message["timestamp"] = message["timestamp"].replace("2026", "2025")
    grading(world)
    assert grading.graded == []


def test_a_threshold_is_applied_to_the_reused_score(world: World, grading: Grading) -> None:
    world.script = "def check(answer):\n    return {'score': 0.5, 'reason': 'half'}\n"
    assert outcomes(grading(world))["script"] == "fail"
    world.criterion("script")["pass_mark"] = 0.5
    assert outcomes(grading(world))["script"] == "pass"
    world.criterion("script")["pass_mark"] = 0.6
    world.criterion("script")["failure_tag"] = "HALF"
    run = grading(world)
    (verdict,) = (verdict for verdict in run.verdicts if verdict.criterion == "script")
    assert (verdict.failure_tag, grading.graded) == ("HALF", [])


def test_another_version_of_the_grader_grades_anew_and_is_named(world: World, grading: Grading) -> None:
    grading(world)
    grading.version = "99"
    run = grading(world)
    assert (run.reused, set(grading.graded)) == (0, set(CHECKS))
    assert {ref.version for verdict in run.verdicts for ref in verdict.graders} == {"99"}
    assert grading(world).reused == len(CHECKS)


def test_each_reused_verdict_names_its_grader(world: World, grading: Grading) -> None:
    first, second = grading(world), grading(world)
    assert second.rows == first.rows
    kinds = {verdict.criterion: verdict.graders[0].kind for verdict in second.verdicts}
    expected = {name: f"check:{own['check']['kind']}" for name, own in CHECKS.items()}
    assert kinds == expected
    assert all(ref.version for verdict in second.verdicts for ref in verdict.graders)


def test_errors_are_never_reused(world: World, grading: Grading) -> None:
    world.script = "def check(answer):\n    raise ValueError('no')\n"
    assert outcomes(grading(world))["script"] == "error"
    grading(world)
    assert grading.graded == ["script"]


def test_a_finding_is_not_reused_where_its_evidence_is_gone(world: World, grading: Grading) -> None:
    """A function may cite more than it reads; what it cites must stand in every trial that shows the verdict."""
    world.script = "def check(answer):\n    return {'score': 1, 'evidence': ['fact:shop']}\n"
    assert outcomes(grading(world))["script"] == "pass"
    del world.task["facts"]["shop"]
    world.criterion("shop")["check"]["expr"] = "1 == 1"
    assert outcomes(grading(world))["script"] == "error"
    assert set(grading.graded) == {"script", "shop"}


def test_the_store_does_not_change_what_is_found(world: World, grading: Grading) -> None:
    """A state that cannot be read is an error of the checks that need it, with the store and without."""
    world.recording["end_state"] = {"files": "nowhere", "sqlite": "nowhere.db"}
    kept = outcomes(grading(world))
    plain = app.grade(
        app.load_suite(world.folder / "suite.yaml"),
        app.read_traces(world.folder / "runs.jsonl"),
        recorded=[world.folder / "tone.jsonl"],
    )
    assert kept == outcomes(plain)
    assert {name for name, outcome in kept.items() if outcome == "error"} == STATE


# --- The command: kept, shown, compared, carried.

SUITE = {
    "schema": "suite/1",
    "name": "capitals",
    "owner": "jo@example.com",
    "tasks": [
        {
            "id": name,
            "prompt": f"What is the capital of {name}?",
            "criteria": [
                {
                    "id": "C1",
                    "dimension": "correctness",
                    "rule": "The answer MUST be right.",
                    "check": {"kind": "equals", "value": capital},
                },
                {
                    "id": "E1",
                    "dimension": "authority",
                    "gate": True,
                    "rule": "Nothing MUST be deleted.",
                    "check": {"kind": "rule", "rule": {"id": "no-deletes", "tool": ["delete"]}},
                },
            ],
        }
        for name, capital in (("france", "Paris"), ("italy", "Rome"))
    ],
}


def said(task: str, answer: str, **more: Any) -> dict[str, Any]:
    asked = {"role": "user", "content": f"What is the capital of {task}?"}
    return {"task_id": task, "messages": [asked, {"role": "assistant", "content": answer}], **more}


def lines(folder: Path, name: str, *records: Any) -> str:
    (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    return name


@pytest.fixture
def capitals(tmp_path: Path) -> Path:
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    lines(tmp_path, "runs.jsonl", said("france", "Paris"), said("italy", "Milan"))
    return tmp_path


GRADE = ("grade", "suite.json", "runs.jsonl")


def without_names(text: str) -> Any:
    table = json.loads(text)
    return {name: value for name, value in table.items() if name not in ("run", "grading")}


def names(steelyard_: Command, *more: str) -> list[str]:
    listed = steelyard_("runs", "--json", *more)
    assert listed.returncode == 0, listed.stderr
    return [run["name"] for run in json.loads(listed.stdout)["runs"]]


def test_a_run_is_kept_and_shown_as_it_was_graded(capitals: Path, steelyard_: Command) -> None:
    graded = steelyard_(*GRADE, "--json")
    assert graded.returncode == 1
    assert "kept as run" in graded.stderr
    (name,) = names(steelyard_)
    for asked in ((), (name,), ("latest",), (name[:10],)):
        shown = steelyard_("show", *asked, "--json")
        assert (shown.returncode, shown.stdout) == (0, graded.stdout), asked
    assert json.loads(graded.stdout)["run"] == name
    board = steelyard_(*GRADE)
    assert steelyard_("show").stdout == board.stdout
    assert "4 verdicts used again" in board.stderr


def test_show_says_why(capitals: Path, steelyard_: Command) -> None:
    steelyard_(*GRADE)
    why = steelyard_("show", "--why").stdout
    assert "italy#1  C1  fail 0" in why
    for told in ("The answer MUST be right.", "expected", "s0002", "check:equals 1"):
        assert told in why
    assert "france" not in why
    of_task = steelyard_("show", "--task", "france").stdout
    assert "france#1  C1  pass 1" in of_task
    assert "france#1  E1  pass 1 (gate)" in of_task
    assert "Every verdict that is meant is a pass." in steelyard_("show", "--task", "france", "--why").stdout
    assert "No verdict matches." in steelyard_("show", "--criterion", "nobody").stdout
    unknown = steelyard_("show", "--task", "spain")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "'spain'" in unknown.stderr


def test_each_verdict_of_the_json_names_its_grader(capitals: Path, steelyard_: Command) -> None:
    steelyard_(*GRADE, "-q")
    steelyard_(*GRADE, "-q")
    table = json.loads(steelyard_("show", "--json").stdout)
    named = [
        [(ref["kind"], ref["version"]) for ref in entry["graders"]]
        for task in table["tasks"] for trial in task["trials"] for entry in trial["criteria"]
    ]  # fmt: skip
    assert named == [[("check:equals", "1")], [("check:rule", "1")]] * 2


def test_runs_show_the_trend_and_where_the_standard_changed(capitals: Path, steelyard_: Command) -> None:
    steelyard_(*GRADE)
    lines(capitals, "runs.jsonl", said("france", "Paris"), said("italy", "Rome"))
    steelyard_(*GRADE)
    board = steelyard_("runs").stdout
    assert "50.0 % to 100.0 % (2 runs)" in board
    assert "different standards" not in board
    other = json.loads(json.dumps(SUITE))
    other["tasks"][0]["criteria"][0]["rule"] = "The answer MUST be exact."
    (capitals / "suite.json").write_text(json.dumps(other))
    steelyard_(*GRADE)
    board = steelyard_("runs").stdout
    assert "under 2 different standards" in " ".join(board.split())
    assert len(names(steelyard_)) == 3
    assert all(len(line) <= 80 for line in board.splitlines())


def test_what_if_over_a_kept_run_changes_nothing_of_it(capitals: Path, steelyard_: Command) -> None:
    graded = steelyard_(*GRADE, "--json")
    changed = steelyard_("whatif", "latest", "--set", "italy/C1=1", "--json")
    assert changed.returncode == 0, changed.stderr
    assert json.loads(changed.stdout)["completion"]["value"] == 1.0
    assert steelyard_("show", "--json").stdout == graded.stdout
    assert len(names(steelyard_)) == 1
    rows = steelyard_(*GRADE, "--out", "rows.jsonl", "--no-store", "-q")
    assert rows.returncode == 1
    by_rows = steelyard_("whatif", "suite.json", "rows.jsonl", "--set", "italy/C1=1", "--json")
    of_rows, of_run = (
        {**without_names(each.stdout), "notices": []} for each in (by_rows, changed)
    )  # fmt: skip  the rows alone do not tell about the traces
    assert of_rows == of_run


def test_an_imported_run_has_the_scores_that_it_was_exported_with(
    capitals: Path, steelyard_: Command
) -> None:
    lines(
        capitals,
        "runs.jsonl",
        said("france", "Paris"),
        said("italy", "Milan"),
        said("spain", "?"),
        "no record",
    )
    graded = steelyard_(*GRADE, "--json")
    (name,) = names(steelyard_)
    assert steelyard_("export", name, "run.zip").returncode == 0
    imported = steelyard_("import", "run.zip", "--store", "other.db")
    assert imported.returncode == 0, imported.stderr
    for how in (("--json",), (), ("--why",), ("--full", "--json")):
        here, there = steelyard_("show", *how), steelyard_("show", *how, "--store", "other.db")
        assert (there.returncode, there.stdout) == (0, here.stdout), how
    assert without_names(graded.stdout) == without_names(
        steelyard_("show", "--json", "--store", "other.db").stdout
    )
    again = steelyard_("import", "run.zip", "--store", "other.db")
    assert again.returncode == 0
    assert names(steelyard_, "--store", "other.db") == [name]
    assert steelyard_("whatif", name, "--set", "italy/C1=1", "--store", "other.db").returncode == 0


def test_nothing_is_kept_without_a_store(capitals: Path, steelyard_: Command) -> None:
    assert steelyard_(*GRADE, "--no-store").returncode == 1
    assert not (capitals / ".steelyard").exists()
    missing = steelyard_("runs")
    assert missing.returncode == 2
    assert "there is no store" in missing.stderr
    both = steelyard_(*GRADE, "--no-store", "--resume")
    assert both.returncode == 2
    assert steelyard_(*GRADE, STEELYARD_NO_STORE="1").returncode == 1
    assert not (capitals / ".steelyard").exists()


def test_the_store_may_be_elsewhere(capitals: Path, steelyard_: Command) -> None:
    place = {"STEELYARD_STORE": "sqlite:///kept/it.db"}
    assert steelyard_(*GRADE, **place).returncode == 1
    assert (capitals / "kept" / "it.db").is_file()
    assert not (capitals / ".steelyard").exists()
    listed = steelyard_("runs", "--json", **place)
    assert len(json.loads(listed.stdout)["runs"]) == 1
    assert len(names(steelyard_, "--store", "kept/it.db")) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("grade", "suite.json", "absent.jsonl"), 2),
        (("grade", "suite.json", "other.jsonl"), 4),
        (("grade", "suite.json", "broken.jsonl"), 2),
    ],
)
def test_a_grading_that_never_began_leaves_no_run(
    capitals: Path, steelyard_: Command, arguments: tuple[str, ...], code: int
) -> None:
    lines(capitals, "other.jsonl", said("spain", "Madrid"))
    (capitals / "broken.jsonl").write_text('{"task_id": "france", "messages": [{"role": ')
    assert steelyard_(*GRADE, "-q").returncode == 1
    assert steelyard_(*arguments).returncode == code
    assert len(names(steelyard_)) == 1


# --- A store that cannot be used: a sentence, exit code 2, nothing lost.


def damaged(store: Path) -> None:
    data = bytearray(store.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    store.write_bytes(bytes(data))
    for suffix in ("-wal", "-shm"):
        Path(f"{store}{suffix}").unlink(missing_ok=True)


def no_store_at_all(store: Path) -> None:
    store.write_bytes(b"These are my notes, and no store.")


def newer(store: Path) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute("INSERT INTO migration VALUES ('9999-of-the-future', 'x')")
    connection.close()


def a_folder(store: Path) -> None:
    store.unlink()
    store.mkdir()


@pytest.mark.parametrize("harm", [damaged, no_store_at_all, newer, a_folder])
def test_a_store_that_cannot_be_used_is_a_sentence(
    capitals: Path, steelyard_: Command, harm: Callable[[Path], None]
) -> None:
    assert steelyard_(*GRADE, "-q").returncode == 1
    store = capitals / ".steelyard" / "store.db"
    harm(store)
    before = None if store.is_dir() else store.read_bytes()
    for command in (
        GRADE,
        ("show",),
        ("runs",),
        ("whatif", "latest", "--set", "italy/C1=1"),
        ("export", "x", "y.zip"),
    ):
        said_ = steelyard_(*command)
        assert said_.returncode == 2, command
        assert "Traceback" not in said_.stderr
        assert "store" in said_.stderr
        assert said_.stdout == ""
    assert before is None or store.read_bytes() == before
    assert steelyard_(*GRADE, "--no-store").returncode == 1


def test_a_locked_store_is_waited_for_and_then_a_sentence(
    capitals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steelyard import store as room

    monkeypatch.chdir(capitals)
    room.open_store("store.db", now=lambda: "2026-01-01T00:00:00Z").close()
    blocker = sqlite3.connect("store.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    opened = room.open_store("store.db", now=lambda: "2026-01-01T00:00:00Z", busy_seconds=0.1)
    try:
        run = app.grade(
            app.load_suite("suite.json"), app.read_traces("runs.jsonl"), keep=app.Keep(store=opened)
        )
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
        opened.close()
    assert run.scores.completion.value == 0.5, "what was graded is there all the same"
    assert "locked" in run.problem
    assert run.scores.notices[0].code == "not_kept"


FULL = """\
import sys
from steelyard.store import sqlite as room

real = room.SqliteStore.{method}

def full(self, *arguments, **more):
    full.calls = getattr(full, "calls", 0) + 1
    if full.calls >= {call}:
        from steelyard.errors import StoreError
        raise StoreError("the disk of the store is full; free some space")
    return real(self, *arguments, **more)

room.SqliteStore.{method} = full
from steelyard.cli import main
main()
"""


@pytest.mark.parametrize(
    ("method", "call"), [("put_trial", 2), ("begin", 1), ("flush", 1), ("finish", 1), ("find_many", 2)]
)
def test_a_store_that_fails_on_the_way_loses_no_result(capitals: Path, method: str, call: int) -> None:
    """The scores are printed, the row file is written, and exit code 2 says that the run was not kept."""
    (capitals / "full.py").write_text(FULL.format(method=method, call=call))
    done = subprocess.run(  # noqa: PLW1510 the same
        [sys.executable, "full.py", *GRADE, "--out", "rows.jsonl"],
        cwd=capitals, capture_output=True, text=True, timeout=60, env=_clean(),
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "completion" in done.stdout
    assert "50.0 %" in done.stdout
    assert "not_kept" in done.stdout
    assert "the disk of the store is full" in done.stderr
    assert "kept as run" not in done.stderr
    rows = [json.loads(line) for line in (capitals / "rows.jsonl").read_text().splitlines()]
    assert [(row["task"], row["criterion"]) for row in rows if "criterion" in row] == [
        ("france", "C1"), ("france", "E1"), ("italy", "C1"), ("italy", "E1"),
    ]  # fmt: skip


AS_ANOTHER_USER = """\
import os, sys
from steelyard import store
from steelyard.cli import main

arguments = sys.argv[1:]
try:
    main([*arguments, "--no-store", "-q"])  # everything is loaded now
except SystemExit as done:
    assert done.code == 1, done.code
if os.getuid() == 0:  # who may write everywhere
    os.setuid(65534)
main([*arguments, "--store", os.environ["PLACE"]])
"""


@pytest.mark.parametrize(("rights", "code"), [(0o777, 1), (0o555, 2)])
def test_a_store_in_a_read_only_folder_is_a_sentence(capitals: Path, rights: int, code: int) -> None:
    (capitals / "another.py").write_text(AS_ANOTHER_USER)
    capitals.chmod(0o755)
    with tempfile.TemporaryDirectory() as place:
        closed = Path(place) / "closed"
        closed.mkdir()
        Path(place).chmod(0o755)
        closed.chmod(rights)
        done = subprocess.run(  # noqa: PLW1510 the same
            [sys.executable, "another.py", *GRADE], cwd=capitals, capture_output=True, text=True, timeout=60,
            env={**_clean(), "PLACE": str(closed / "store.db")},
        )  # fmt: skip
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        assert ("cannot be opened" in done.stderr) == (code == 2)
        assert bool(list(closed.iterdir())) == (code == 1)


# --- --resume: a run that was broken off goes on, and each trial counts once.

TRIALS = 12
SLOW = """\
import time

def check(trace):
    with open({log!r}, "a") as file:
        file.write(trace["steps"][0]["text"] + "\\n")
    time.sleep(0.25)
    return "{word}" in trace["steps"][-1]["text"]
"""


class Slow:
    """A suite whose one check takes its time and notes that it ran, over trials of one task."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log.txt"
        criterion = {
            "id": "C1", "dimension": "correctness", "rule": "It MUST be done.",
            "check": {"kind": "python", "file": "slow.py"},
        }  # fmt: skip
        suite = {
            "schema": "suite/1", "name": "slow", "owner": "jo@example.com",
            "tasks": [{"id": "t", "prompt": "Do it.", "trials": TRIALS, "criteria": [criterion]}],
        }  # fmt: skip
        (folder / "suite.json").write_text(json.dumps(suite))
        self.script()
        self.record()

    def script(self, word: str = "done") -> None:
        (self.folder / "slow.py").write_text(SLOW.format(log=str(self.log), word=word))

    def record(self, count: int = TRIALS) -> None:
        trials = [
            {
                "task_id": "t", "trial": number,
                "messages": [
                    {"role": "user", "content": f"Do it, {number}."},
                    {"role": "assistant", "content": "done" if number % 3 else "no"},
                ],
            }
            for number in range(1, count + 1)
        ]  # fmt: skip
        lines(self.folder, "runs.jsonl", *trials)

    def command(self, *more: str) -> list[str]:
        return [sys.executable, "-m", "steelyard", *GRADE, "--trust-graders", *more]

    def run(self, *more: str) -> Process:
        return subprocess.run(  # noqa: PLW1510 the exit code is what is asked for
            self.command(*more), cwd=self.folder, capture_output=True, text=True, timeout=120, env=_clean()
        )

    def ran(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def kill_on_the_way(self, after: int = 3) -> list[int]:
        """`kill -9` of a real grading once `after` trials are on disk; the trials that are."""
        process = subprocess.Popen(
            self.command("-q"), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=_clean(), start_new_session=True,
        )  # fmt: skip
        try:
            until = time.monotonic() + 60
            while len(self.committed()) < after and time.monotonic() < until and process.poll() is None:
                time.sleep(0.02)
            assert process.poll() is None, "the grading ended before it was stopped"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        found = self.committed()
        assert after <= len(found) < TRIALS
        return found

    def committed(self) -> list[int]:
        store = self.folder / ".steelyard" / "store.db"
        if not store.exists():
            return []
        try:
            connection = sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)
            try:
                return [
                    number for (number,) in connection.execute("SELECT number FROM trial ORDER BY number")
                ]
            finally:
                connection.close()
        except sqlite3.OperationalError:  # not made yet
            return []


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    return Slow(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_killed_run_is_resumed_and_ends_as_if_it_had_never_been_killed(
    slow: Slow, steelyard_: Command
) -> None:
    committed = slow.kill_on_the_way()
    shown = steelyard_("show", "--json")
    assert shown.returncode == 0, shown.stderr
    table = json.loads(shown.stdout)
    assert (table["decision"], table["exit_code"]) in (("INCOMPLETE", 3), ("FAIL", 1))
    assert "unfinished_run" in {notice["code"] for notice in table["notices"]}
    board = steelyard_("show").stdout
    assert "broken off" in board
    assert "--resume" in board
    assert f"{len(committed)} of {TRIALS} trials" in steelyard_("runs").stdout

    before = slow.ran()
    resumed = slow.run("--resume", "--json")
    assert resumed.returncode == 1, resumed.stderr
    again = slow.ran()[len(before) :]
    kept = {f"Do it, {number}." for number in committed}
    assert not kept & set(again), "what was committed is not checked twice"
    assert set(before) | set(again) == {f"Do it, {number}." for number in range(1, TRIALS + 1)}
    assert len(names(steelyard_)) == 1
    assert steelyard_("show", "--json").stdout == resumed.stdout

    whole = slow.run("--json", "--store", "whole.db")
    assert without_names(whole.stdout) == without_names(resumed.stdout)
    assert json.loads(whole.stdout)["pass_rate"]["of"] == TRIALS

    later = slow.run("--resume", "-q")
    assert later.returncode == 1
    assert len(names(steelyard_)) == 2, "a finished run is not resumed"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_other_inputs_are_another_run(slow: Slow, steelyard_: Command) -> None:
    slow.kill_on_the_way()
    (first,) = names(steelyard_)
    slow.record(count=4)
    assert slow.run("--resume", "-q").returncode == 1
    found = names(steelyard_)
    assert len(found) == 2, "the file has the same name and holds other trials"
    assert json.loads(steelyard_("show", found[1], "--json").stdout)["run"] == found[1]
    assert "unfinished_run" in steelyard_("show", first, "--json").stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_trial_that_errored_first_counts_once_with_both_attempts(slow: Slow, steelyard_: Command) -> None:
    """Q17: error on attempt 1, pass on attempt 2."""
    (slow.folder / "slow.py").write_text(
        SLOW.format(log=str(slow.log), word="done").replace("    return", "    return nothing or")
    )
    slow.kill_on_the_way()
    assert json.loads(steelyard_("show", "--json").stdout)["states"]["error"] >= 3
    slow.script()
    resumed = slow.run("--resume", "--json")
    assert resumed.returncode == 1, resumed.stderr
    table = json.loads(resumed.stdout)
    assert table["pass_rate"]["of"] == TRIALS
    entries = {
        trial["trial"]: entry for task in table["tasks"] for trial in task["trials"] for entry in trial["criteria"]
    }  # fmt: skip
    assert len(entries) == TRIALS
    assert (entries[1]["outcome"], entries[1]["retried"]) == ("pass", 1)
    assert entries[TRIALS - 1]["retried"] == 0
    assert {entry["outcome"] for entry in entries.values()} == {"pass", "fail"}
    assert "retried" in {notice["code"] for notice in table["notices"]}
    assert "1 earlier attempt" in steelyard_("show", "--task", "t").stdout
    assert steelyard_("show", "--json").stdout == resumed.stdout
    assert steelyard_("export", "latest", "run.zip").returncode == 0
    assert steelyard_("import", "run.zip", "--store", "other.db").returncode == 0
    there = steelyard_("show", "--json", "--store", "other.db")
    assert there.stdout == resumed.stdout, "with both attempts"


# --- Two processes, and ids that must not meet.


@pytest.mark.slow
def test_two_processes_grade_into_one_store(capitals: Path, steelyard_: Command) -> None:
    command = [sys.executable, "-m", "steelyard", *GRADE]
    several = [
        subprocess.Popen(
            command, cwd=capitals, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_clean()
        )
        for _ in range(4)
    ]
    said_ = [process.communicate(timeout=120) for process in several]
    assert [process.returncode for process in several] == [1] * 4, said_
    assert len({out for out, _ in said_}) == 1
    found = names(steelyard_)
    assert len(set(found)) == 4
    tables = [without_names(steelyard_("show", name, "--json").stdout) for name in found]
    assert all(table == tables[0] for table in tables)
    assert {run["status"] for run in json.loads(steelyard_("runs", "--json").stdout)["runs"]} == {"done"}


IDS = [
    "A", "a", "x" * 300, "x" * 299 + "y", "🙂", "🙂\u200d🙂", "a/b", "a:b", "a\\b", "..", ".", "CON", "con", "nul.txt",
    "é", "e\u0301", "a b", "-rf", "'; DROP TABLE verdict; --", "%s", "*", "a#1",
]  # fmt: skip


def test_odd_ids_never_meet(tmp_path: Path, steelyard_: Command) -> None:
    tasks = [
        {
            "id": id_, "prompt": f"Say {number}.",
            "criteria": [
                {
                    "id": name, "dimension": "correctness", "rule": "It MUST be right.",
                    "check": {"kind": "equals", "value": str(value)},
                }
                for name, value in ((id_, number), ("C1", number), ("c1", -1))
            ],
        }
        for number, id_ in enumerate(IDS)
    ]  # fmt: skip
    suite = {"schema": "suite/1", "name": "ids", "owner": "jo@example.com", "tasks": tasks}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    refused = steelyard_("check", "suite.json")
    assert refused.returncode == 0, refused.stderr
    lines(tmp_path, "runs.jsonl", *(said(id_, str(number)) for number, id_ in enumerate(IDS)))
    graded = steelyard_(*GRADE, "--json")
    assert graded.returncode == 1, graded.stderr
    table = json.loads(graded.stdout)
    assert [task["id"] for task in table["tasks"]] == IDS
    for task in table["tasks"]:
        (trial,) = task["trials"]
        assert [entry["id"] for entry in trial["criteria"]] == [task["id"], "C1", "c1"]
        assert [entry["outcome"] for entry in trial["criteria"]] == ["pass", "pass", "fail"]
    assert steelyard_("show", "--json").stdout == graded.stdout
    again = steelyard_(*GRADE)
    assert f"{3 * len(IDS)} verdicts used again" in again.stderr
    assert steelyard_("export", "latest", "run.zip").returncode == 0
    assert steelyard_("import", "run.zip", "--store", "other.db").returncode == 0
    there = steelyard_("show", "--json", "--store", "other.db")
    assert without_names(there.stdout) == without_names(graded.stdout)
    made = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert made == [".steelyard/store.db", "other.db", "run.zip", "runs.jsonl", "suite.json"]
