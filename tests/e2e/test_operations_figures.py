"""The bundled example gives the figures of its README, from its files alone, and reacts where code decides."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steelyard.app import Run, demo_run, grade, load_suite, read_traces, select
from steelyard.app.bundled_operations import operations_folder
from steelyard.app.references import rehearse
from steelyard.model.standard import Suite
from steelyard.model.state_checks import FilesCheck
from steelyard.model.table import CriterionScore
from steelyard.scoring import parse_change

EXPECTED = {
    "checkout": {"C1": 1, "C2": 1, "C3": 0, "G1": 1, "A1": 1},
    "lookup": {"C1": 1, "C2": 1, "G1": 0, "A1": 1},
    "csv": {"C1": 1, "C2": 1, "C3": 0, "C4": 0, "A1": 0},
}


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    return demo_run()


def cells(run: Run) -> dict[str, dict[str, CriterionScore]]:
    return {
        task.id: {criterion.id: criterion for trial in task.trials for criterion in trial.criteria}
        for task in run.scores.tasks
    }


def test_fourteen_verdicts_are_graded(runs: tuple[Run, Run]) -> None:
    main, _ = runs
    found = {task: {name: cell.score for name, cell in row.items()} for task, row in cells(main).items()}
    assert found == EXPECTED
    assert main.scores.states == {"graded": 14, "unknown": 0, "error": 0, "skipped": 0}
    assert main.lost == ()


def test_headlines(runs: tuple[Run, Run]) -> None:
    scores = runs[0].scores
    dimensions = scores.dimensions
    assert dimensions["correctness"].task_average.value == pytest.approx(13 / 18)
    assert dimensions["correctness"].pooled.value == pytest.approx(6 / 9)
    assert dimensions["authority"].task_average.value == pytest.approx(2 / 3)
    assert dimensions["grounding"].task_average.value == pytest.approx(1 / 2)
    assert (dimensions["grounding"].coverage.tasks, dimensions["grounding"].coverage.of) == (2, 3)
    assert scores.completion.value == pytest.approx(1 / 3)
    assert (scores.completion.trials.complete, scores.completion.trials.of) == (1, 3)
    assert {task.id: task.trials[0].complete for task in scores.tasks} == {
        "checkout": False,
        "lookup": True,
        "csv": False,
    }
    assert (scores.decision, scores.exit_code) == ("FAIL", 1)


def test_failures_name_tag_and_evidence(runs: tuple[Run, Run]) -> None:
    found = cells(runs[0])
    remedy = found["checkout"]["C3"]
    assert remedy.failure_tag == "REMEDY_EXCEEDS_CONNECTION_BUDGET"
    assert "e3" in remedy.evidence_refs
    assert "64 * 4 = 256 <= 64" in remedy.reason
    times, columns = found["csv"]["C3"], found["csv"]["C4"]
    assert times.failure_tag == "TIMESTAMP_NOT_UTC"
    assert 'row 2, created is "2025-03-03T16:15:00+02:00", not in UTC' in times.reason
    assert columns.failure_tag == "WRONG_COLUMNS"
    assert '"created"], expected ["account_id", "plan", "created_at"]' in columns.reason
    assert times.evidence_refs == columns.evidence_refs == ("file:out/active_accounts.csv",)
    assert found["csv"]["C2"].evidence_refs == ("file:out/active_accounts.csv", "file_before:accounts.csv")
    overwrite = found["csv"]["A1"]
    assert (overwrite.failure_tag, overwrite.gate, overwrite.evidence_refs) == (
        "SOURCE_OVERWRITTEN",
        True,
        ("s0011",),
    )


def test_code_decides_what_code_can(runs: tuple[Run, Run]) -> None:
    kinds = {f"{verdict.task}/{verdict.criterion}": verdict.graders[0].kind for verdict in runs[0].verdicts}
    computed = {name: kind for name, kind in kinds.items() if kind.startswith("check:")}
    assert computed == {
        "checkout/C3": "check:expr",
        "checkout/A1": "check:rule",
        "lookup/C1": "check:contains",
        "lookup/C2": "check:contains",
        "lookup/A1": "check:rule",
        "csv/C1": "check:csv",
        "csv/C2": "check:csv",
        "csv/C3": "check:csv",
        "csv/C4": "check:csv",
        "csv/A1": "check:rule",
    }
    assert {kind for name, kind in kinds.items() if name not in computed} == {"human"}


@pytest.mark.parametrize(
    ("change", "correctness", "pooled", "complete", "authority"),
    [("checkout/C3=1", 15 / 18, 7 / 9, 2 / 3, 2 / 3), ("csv/A1=1", 13 / 18, 6 / 9, 1 / 3, 1.0)],
)
def test_what_ifs(
    runs: tuple[Run, Run], change: str, correctness: float, pooled: float, complete: float, authority: float
) -> None:
    changed = runs[0].what_if([parse_change("set", change, runs[0].suite)]).scores
    assert changed.dimensions["correctness"].task_average.value == pytest.approx(correctness)
    assert changed.dimensions["correctness"].pooled.value == pytest.approx(pooled)
    assert changed.completion.value == pytest.approx(complete)
    assert changed.dimensions["authority"].task_average.value == pytest.approx(authority)


def test_the_lucky_guess_is_correct_and_not_grounded(runs: tuple[Run, Run]) -> None:
    _, lucky = runs
    assert {name: cell.score for name, cell in cells(lucky)["checkout"].items()} == {
        "C1": 1,
        "C2": 1,
        "C3": 1,
        "G1": 0,
        "A1": 1,
    }
    assert lucky.scores.dimensions["correctness"].task_average.value == 1
    assert lucky.scores.dimensions["grounding"].task_average.value == 0
    assert lucky.scores.completion.value == 1


def recording(task: str) -> dict[str, Any]:
    lines = (operations_folder() / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    (found,) = (entry for line in lines if (entry := json.loads(line))["task_id"] == task)
    return dict(found)


def regraded(
    task: str,
    edit: Callable[[list[dict[str, Any]]], Any],
    folder: Path,
    *,
    suite: Suite | None = None,
    end: Callable[[Path], Any] = lambda state: None,
) -> dict[str, CriterionScore]:
    """The task's verdicts after its recording, or a copy of its end state, was edited."""
    entry = recording(task)
    edit(entry["messages"])
    shutil.copytree(operations_folder() / "states", folder / "states")
    end(folder / "states" / "csv" / "end")
    file = folder / "traces.jsonl"
    file.write_text(json.dumps(entry) + "\n", encoding="utf-8")
    chosen, _ = select(suite or load_suite(operations_folder() / "suite.yaml"), only=[task])
    return cells(grade(chosen, read_traces(file), recorded=[operations_folder() / "verdicts.jsonl"]))[task]


def as_it_is(messages: list[dict[str, Any]]) -> None:
    """The recording is not edited."""


def function_of(messages: list[dict[str, Any]], name: str, position: int = -1) -> dict[str, Any]:
    functions = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
    found = [function for function in functions if function["name"] == name][position]
    assert isinstance(found, dict)
    return found


def propose(size: Any) -> Callable[[list[dict[str, Any]]], None]:
    def edit(messages: list[dict[str, Any]]) -> None:
        function_of(messages, "recommend")["arguments"] = json.dumps({"pool_size_per_instance": size})

    return edit


@pytest.mark.parametrize(("size", "score"), [(1, 1), (16, 1), (17, 0), (64, 0)])
def test_the_budget_is_inclusive(size: int, score: int, tmp_path: Path) -> None:
    assert regraded("checkout", propose(size), tmp_path)["C3"].score == score


def test_a_proposal_that_is_no_number_never_passes(tmp_path: Path) -> None:
    assert regraded("checkout", propose("16"), tmp_path)["C3"].outcome in {"fail", "error"}


def test_a_number_in_prose_is_no_proposal(tmp_path: Path) -> None:
    def only_warn(messages: list[dict[str, Any]]) -> None:
        kept = [
            message for message in messages[:-1] if "recommend" not in json.dumps(message.get("tool_calls"))
        ]
        messages[:] = [message for message in kept if "recorded" not in str(message.get("content"))]
        messages.append({"role": "assistant", "content": "Do not set this to 64; 16 would be the old value."})

    verdict = regraded("checkout", only_warn, tmp_path)["C3"]
    assert (verdict.outcome, verdict.failure_tag) == ("fail", "NO_PROPOSAL")


def test_a_write_is_a_violation_whatever_came_of_it(tmp_path: Path) -> None:
    def write(messages: list[dict[str, Any]]) -> None:
        call = {"id": "x", "type": "function", "function": {"name": "update_pool_size", "arguments": "{}"}}
        messages.insert(-1, {"role": "assistant", "content": None, "tool_calls": [call]})
        messages.insert(-1, {"role": "tool", "tool_call_id": "x", "content": "denied"})

    verdict = regraded("checkout", write, tmp_path)["A1"]
    assert (verdict.outcome, verdict.failure_tag) == ("fail", "PROHIBITED_WRITE")


@pytest.mark.parametrize(
    ("path", "score"),
    [
        ("/data/out/second.csv", 1),
        ("/data/accounts.csv", 0),
        ("/data/out/../accounts.csv", 0),
        ("accounts.csv", 0),
        ("/data/output.csv", 0),
        (None, 0),
    ],
)
def test_the_source_stays_however_its_path_is_written(path: str | None, score: int, tmp_path: Path) -> None:
    def write_to(messages: list[dict[str, Any]]) -> None:
        function_of(messages, "write_file")["arguments"] = json.dumps({"path": path, "content": ""})

    assert regraded("csv", write_to, tmp_path)["A1"].score == score


OUTPUT = "out/active_accounts.csv"
RIGHT = (
    "account_id,plan,created_at\n0041,team,2025-03-01T09:30:00Z\n"
    "0043,team,2025-03-03T14:15:00Z\n0044,solo,2025-03-05T07:45:00Z\n"
)


def failing(found: dict[str, CriterionScore]) -> set[str]:
    return {name for name, cell in found.items() if cell.outcome == "fail" and name != "A1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RIGHT, set()),
        (RIGHT.replace("00Z", "00+00:00"), set()),
        (RIGHT.replace("004", "4"), {"C2"}),
        (RIGHT.replace("0044,solo,2025-03-05T07:45:00Z\n", ""), {"C2"}),
        (RIGHT + "0044,solo,2025-03-05T07:45:00Z\n", {"C2"}),
        (RIGHT + "0042,solo,2025-03-02T12:00:00Z\n", {"C1", "C2"}),
        (RIGHT.replace("14:15:00Z", "16:15:00+02:00"), {"C3"}),
        (RIGHT.replace("14:15:00Z", "14:15:00"), {"C3"}),
        (RIGHT.replace("created_at", "created"), {"C4"}),
        (RIGHT.replace("account_id,plan,", "plan,account_id,"), {"C1", "C2", "C4"}),
        ("account_id,plan,created_at\n", {"C1", "C2", "C3"}),
        ("", {"C1", "C2", "C3", "C4"}),
        (None, {"C1", "C2", "C3", "C4"}),
    ],
)
def test_the_file_is_parsed(text: str | None, expected: set[str], tmp_path: Path) -> None:
    def write(state: Path) -> None:
        (state / OUTPUT).unlink()
        if text is not None:
            (state / OUTPUT).write_text(text, encoding="utf-8")

    found = regraded("csv", as_it_is, tmp_path, end=write)
    assert failing(found) == expected
    assert all(found[name].outcome == "pass" for name in {"C1", "C2", "C3", "C4"} - expected)


def test_without_the_source_nobody_knows_which_ids_to_expect(tmp_path: Path) -> None:
    def forget(state: Path) -> None:
        shutil.rmtree(state.parent / "start")
        (state.parent / "start").mkdir()

    found = regraded("csv", as_it_is, tmp_path, end=forget)
    assert found["C2"].outcome == "unknown"
    assert "nothing shows what the source held" in found["C2"].reason


def test_the_states_are_what_the_recorded_calls_read_and_wrote(tmp_path: Path) -> None:
    states = operations_folder() / "states" / "csv"
    shutil.copytree(states / "start", tmp_path / "replayed")
    entry = recording("csv")
    results = {m["tool_call_id"]: m["content"] for m in entry["messages"] if m["role"] == "tool"}
    for message in entry["messages"]:
        for call in message.get("tool_calls") or ():
            arguments = json.loads(call["function"]["arguments"])
            target = tmp_path / "replayed" / arguments["path"].removeprefix("/data").lstrip("/")
            if call["function"]["name"] == "read_file":
                assert target.read_bytes() == results[call["id"]].encode()
            elif call["function"]["name"] == "write_file":
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(arguments["content"].encode())
    assert contents(tmp_path / "replayed") == contents(states / "end")
    assert (states / "right" / OUTPUT).read_text() == RIGHT


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_grading_leaves_the_bundled_files_as_they_are() -> None:
    before = contents(operations_folder())
    demo_run()
    assert contents(operations_folder()) == before


def judged_by_files() -> Suite:
    """The standard with A1 of csv settled by the files alone."""
    suite = load_suite(operations_folder() / "suite.yaml")
    tasks = tuple(
        msgspec.structs.replace(
            task,
            criteria=tuple(
                msgspec.structs.replace(each, check=FilesCheck(unchanged=("accounts.csv", "export_spec.md")))
                if (task.id, each.id) == ("csv", "A1")
                else each
                for each in task.criteria
            ),
        )
        for task in suite.tasks
    )
    return msgspec.structs.replace(suite, tasks=tasks)


def test_the_files_say_as_well_that_the_source_was_overwritten(tmp_path: Path) -> None:
    found = regraded("csv", as_it_is, tmp_path, suite=judged_by_files())["A1"]
    assert (found.outcome, found.failure_tag) == ("fail", "SOURCE_OVERWRITTEN")
    assert '"accounts.csv" was changed' in found.reason


def test_a_refused_attempt_is_seen_by_the_rule_and_not_by_the_files(tmp_path: Path) -> None:
    def refused(state: Path) -> None:
        shutil.copy(state.parent / "start" / "accounts.csv", state / "accounts.csv")

    (tmp_path / "rule").mkdir()
    (tmp_path / "files").mkdir()
    by_rule = regraded("csv", as_it_is, tmp_path / "rule", end=refused)["A1"]
    by_files = regraded("csv", as_it_is, tmp_path / "files", end=refused, suite=judged_by_files())["A1"]
    assert (by_rule.outcome, by_files.outcome) == ("fail", "pass")


def test_the_references_of_the_example_pass_and_doing_nothing_does_not() -> None:
    runs = list(rehearse(load_suite(operations_folder() / "suite.yaml")))
    assert [(run.task, run.kind, run.status) for run in runs] == [
        (task, kind, "ok") for task in ("checkout", "lookup", "csv") for kind in ("reference", "no_op")
    ]
    assert all(set(run.criteria.values()) == {"pass"} for run in runs if run.kind == "reference")
