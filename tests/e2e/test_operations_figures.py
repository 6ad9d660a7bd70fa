"""The bundled example gives the figures of its README, from its files alone, and reacts where code decides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.app import Run, demo_run, grade, load_suite, read_traces, select
from steelyard.app.bundled_operations import operations_folder
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
    assert found["csv"]["C3"].failure_tag == "TIMESTAMP_NOT_UTC"
    assert found["csv"]["C4"].failure_tag == "WRONG_COLUMNS"
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
    task: str, edit: Callable[[list[dict[str, Any]]], Any], folder: Path
) -> dict[str, CriterionScore]:
    """The task's verdicts after its recording was edited."""
    entry = recording(task)
    edit(entry["messages"])
    file = folder / "traces.jsonl"
    file.write_text(json.dumps(entry) + "\n", encoding="utf-8")
    suite, _ = select(load_suite(operations_folder() / "suite.yaml"), only=[task])
    return cells(grade(suite, read_traces(file), recorded=[operations_folder() / "verdicts.jsonl"]))[task]


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
