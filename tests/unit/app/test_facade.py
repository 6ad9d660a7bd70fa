"""The facade: choosing tasks, scoring row files, grading recordings."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from scored import criterion, graded, suite, task
from steelyard.app.facade import grade, load_suite, read_traces, score_rows, select
from steelyard.errors import InputError, NothingEvaluatedError, StandardError, UsageError
from steelyard.model.standard import Suite
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Errored, Graded

ANSWER = {"kind": "equals", "value": "Paris"}
STANDARD = suite(
    task("france", criterion("C1", check=ANSWER), tags={"kind": "capital", "size": "big"}),
    task("italy", criterion("C1", check=ANSWER), tags={"kind": "capital"}),
    task("sum[1]", criterion("C1", check=ANSWER), tags={"kind": "maths"}),
    task("kind=odd", criterion("C1", check=ANSWER)),
)


def chosen(**asked: Any) -> list[str]:
    return [each.id for each in select(STANDARD, **asked)[0].tasks]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({}, ["france", "italy", "sum[1]", "kind=odd"]),
        ({"only": ["france"]}, ["france"]),
        ({"only": ["italy", "france"]}, ["france", "italy"]),
        ({"only": ["*al*"]}, ["italy"]),
        ({"only": ["kind=capital"]}, ["france", "italy"]),
        ({"only": ["kind=c*"]}, ["france", "italy"]),
        ({"only": ["size=big", "kind=maths"]}, ["france", "sum[1]"]),
        ({"only": ["sum[1]"]}, ["sum[1]"]),
        ({"only": ["kind=odd"]}, ["kind=odd"]),
        ({"limit": 2}, ["france", "italy"]),
        ({"limit": 99}, ["france", "italy", "sum[1]", "kind=odd"]),
        ({"only": ["kind=capital"], "limit": 1}, ["france"]),
    ],
)
def test_tasks_are_chosen_by_id_pattern_tag_and_number(asked: dict[str, Any], names: list[str]) -> None:
    assert chosen(**asked) == names


def test_a_choice_is_told_and_no_choice_is_not() -> None:
    part, notices = select(STANDARD, only=["france"])
    assert [notice.code for notice in notices] == ["selection"]
    assert "1 of 4" in notices[0].detail
    assert part.dimensions == STANDARD.dimensions
    assert select(STANDARD, only=["*"]) == (STANDARD, ())


@pytest.mark.parametrize(
    "asked",
    [{"only": ["spain"]}, {"only": ["FRANCE"]}, {"only": ["kind=none"]}, {"limit": 0}, {"only": [""]}],
)
def test_a_choice_that_leaves_nothing_is_no_success(asked: dict[str, Any]) -> None:
    """Q18."""
    with pytest.raises(NothingEvaluatedError, match="no task matches") as caught:
        select(STANDARD, **asked)
    assert caught.value.exit_code == 4


def test_a_negative_limit_does_not_count_from_the_end() -> None:
    with pytest.raises(UsageError, match="-1"):
        select(STANDARD, limit=-1)


def test_weights_of_a_missing_group_are_shared_among_the_others() -> None:
    shares = {"by": "kind", "shares": {"a": 0.7, "b": 0.3}}
    standard = suite(
        task("x", criterion("C1"), tags={"kind": "a"}),
        task("y", criterion("C1"), tags={"kind": "b"}),
        weights=shares,
    )
    part, _ = select(standard, only=["y"])
    run = score_rows(part, read_lines([graded("y", "C1", 1)]))
    assert run.scores.dimensions["correctness"].task_average.value == 1.0


def read_lines(rows: list[Any]) -> list[Any]:
    from steelyard.grading import read_row

    return [read_row(f"r.jsonl:{number}", json.dumps(row).encode()) for number, row in enumerate(rows, 1)]


RECORDED = suite(task("a", criterion("C1"), criterion("C2")))


def rows_file(folder: Path, *lines: Any) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_rows_of_a_file_are_scored(tmp_path: Path) -> None:
    run = score_rows(RECORDED, rows_file(tmp_path, graded("a", "C1", 1), graded("a", "C2", 1)))
    assert (run.scores.exit_code, run.scores.completion.value) == (0, 1.0)


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot read the rows"):
            score_rows(RECORDED, path)


@pytest.mark.parametrize("text", ["", "\n \n\t\n"])
def test_an_empty_file_evaluated_nothing(text: str, tmp_path: Path) -> None:
    table = score_rows(RECORDED, rows_file(tmp_path, text)).scores
    assert (table.exit_code, table.states["error"]) == (4, 2)
    average = table.dimensions["correctness"].task_average
    assert (average.value, average.low, average.high) == (None, 0.0, 1.0)


def test_a_file_of_bad_lines_only_is_an_input_error_that_names_the_first(tmp_path: Path) -> None:
    path = rows_file(tmp_path, "", "# rows", '{"task": 7}')
    with pytest.raises(InputError, match=r"no readable row \(first: .*rows.jsonl:2: "):
        score_rows(RECORDED, str(path))


def test_one_bad_line_keeps_a_pass_from_being_one(tmp_path: Path) -> None:
    run = score_rows(RECORDED, rows_file(tmp_path, graded("a", "C1", 1), graded("a", "C2", 1), "{cut"))
    assert (run.scores.exit_code, len(run.lost)) == (3, 1)
    assert "rows.jsonl:3" in run.notices[0].detail


def test_many_bad_lines_are_counted_and_the_first_named(tmp_path: Path) -> None:
    run = score_rows(RECORDED, rows_file(tmp_path, graded("a", "C1", 1), *["{cut"] * 30))
    assert len(run.lost) == 30
    told = [notice.detail for notice in run.notices if notice.code == "quarantined"]
    assert (len(told), told[-1]) == (21, "and 10 more rows")


def test_rows_of_another_suite_evaluate_nothing_here(tmp_path: Path) -> None:
    table = score_rows(RECORDED, rows_file(tmp_path, graded("b", "C1", 1), graded("a", "C9", 1))).scores
    assert table.exit_code == 4
    assert [notice.code for notice in table.notices].count("unmatched_row") == 2


def test_rows_written_with_what_was_lost_stay_incomplete(tmp_path: Path) -> None:
    lost = {"quarantined": {"where": "t.jsonl:3", "reason": "cut off"}}
    run = score_rows(RECORDED, rows_file(tmp_path, graded("a", "C1", 1), graded("a", "C2", 1), lost))
    assert run.lost == (Quarantined(where="t.jsonl:3", reason="cut off"),)
    assert run.scores.exit_code == 3


def test_contradicting_rows_are_an_error_in_any_order(tmp_path: Path) -> None:
    rows = [graded("a", "C1", 1), graded("a", "C1", 0), graded("a", "C1", 1), graded("a", "C2", 1)]
    for order in (rows, rows[::-1]):
        assert score_rows(RECORDED, rows_file(tmp_path, *order)).scores.states["error"] == 1


def test_rows_may_be_given_as_records() -> None:
    run = score_rows(
        RECORDED, [Graded(task="a", criterion="C1", score=1.0), Quarantined(where="x", reason="y")]
    )
    assert (len(run.rows), len(run.lost)) == (1, 1)
    assert score_rows(RECORDED, [Graded(task="a", criterion="C1", score=7.0)]).scores.states["error"] == 2


# --- grading


def recordings(folder: Path, *entries: dict[str, Any]) -> list[str]:
    path = folder / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)))
    return [str(path)]


def said(task_id: str | None, reply: str = "Paris", ask: str = "?") -> dict[str, Any]:
    messages = [{"role": "user", "content": ask}, {"role": "assistant", "content": reply}]
    return {"messages": messages} if task_id is None else {"task_id": task_id, "messages": messages}


def test_traces_of_tasks_that_were_not_chosen_are_passed_over(tmp_path: Path) -> None:
    traces = recordings(
        tmp_path, said("france"), said("italy", "Rome"), said(None, ask="Do italy."), said("spain")
    )
    run = grade(STANDARD, read_traces(traces), only=["france"])
    assert [each.id for each in run.suite.tasks] == ["france"]
    assert run.scores.exit_code == 0
    details = [notice.detail for notice in run.notices if notice.code == "unmatched_trace"]
    assert len(details) == 1 and "'spain'" in details[0]


def test_traces_of_no_chosen_task_evaluate_nothing(tmp_path: Path) -> None:
    traces = recordings(tmp_path, said("italy"))
    with pytest.raises(NothingEvaluatedError, match="no traces of the chosen tasks"):
        grade(STANDARD, read_traces(traces), only=["france"])
    with pytest.raises(NothingEvaluatedError, match="'spain'"):
        grade(STANDARD, read_traces(recordings(tmp_path, said("spain"))))
    with pytest.raises(NothingEvaluatedError, match="holds no traces"):
        grade(STANDARD, [])
    with pytest.raises(InputError, match=r"x:1: cut off"):
        grade(STANDARD, [Quarantined(where="x:1", reason="cut off")])


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    grade(
        STANDARD,
        read_traces(recordings(tmp_path, said("france"), said("italy"))),
        progress=lambda *x: told.append(x),
    )
    assert told[-1] == (2, 4)


@pytest.mark.parametrize(
    ("arguments", "equal_to_none"),
    [
        ('{"id": 7,', False), ("plain text", False), ("[1,2]", False), ('{"id": 7, "id": 8}', False),
        ("NaN", False), ("x" * 3_000_000, False), ("{}", True), ("", True),
    ],
)  # fmt: skip
def test_malformed_arguments_never_count_as_no_arguments(
    arguments: str, equal_to_none: bool, tmp_path: Path
) -> None:
    """Q45: the check fails at that call, and the rest of the run goes on."""
    expected = {"kind": "calls", "mode": "exact", "expected": [{"name": "look", "args": {}}]}
    standard = suite(task("a", criterion("C1", check=expected), criterion("C2", check=ANSWER)))
    called = {"id": "1", "type": "function", "function": {"name": "look", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "1", "content": "seen"},
        {"role": "assistant", "content": "Paris"},
    ]
    run = grade(standard, read_traces(recordings(tmp_path, {"task_id": "a", "messages": messages})))
    first, second = run.verdicts
    assert isinstance(second, Graded) and second.score == 1.0
    assert (isinstance(first, Graded) and first.score == 1.0) == equal_to_none
    if arguments == "":
        assert any("argument" in notice.detail for notice in run.notices)


def folder_suite(folder: Path, file: str) -> Suite:
    check = {"kind": "recorded", "file": file}
    value = {
        "schema": "suite/1", "name": "n", "owner": "jo@example.com",
        "tasks": [{"id": "a", "prompt": "Go.", "criteria": [criterion("C1", check=check)]}],
    }  # fmt: skip
    (folder / "suite.json").write_text(json.dumps(value))
    return load_suite(folder / "suite.json")


def test_a_file_of_rows_beside_the_suite_is_read(tmp_path: Path) -> None:
    rows_file(tmp_path, graded("a", "C1", 1), "{cut")
    run = grade(folder_suite(tmp_path, "rows.jsonl"), read_traces(recordings(tmp_path, said("a"))))
    assert isinstance(run.verdicts[0], Graded)
    assert (len(run.lost), run.scores.exit_code) == (1, 3)


@pytest.mark.parametrize("file", ["link.jsonl", "missing.jsonl"])
def test_a_suite_reads_no_rows_outside_its_folder(file: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.jsonl").symlink_to(rows_file(tmp_path, graded("a", "C1", 1)))
    with pytest.raises(StandardError, match=r"check\.file"):
        folder_suite(inner, file)


def test_rows_that_vanish_after_loading_are_an_error_of_their_criterion(tmp_path: Path) -> None:
    rows_file(tmp_path, graded("a", "C1", 1))
    standard = folder_suite(tmp_path, "rows.jsonl")
    (tmp_path / "rows.jsonl").unlink()
    run = grade(standard, read_traces(recordings(tmp_path, said("a"))))
    row = run.verdicts[0]
    assert isinstance(row, Errored) and row.error == "unreadable_rows"
    assert run.scores.exit_code == 3


@pytest.mark.parametrize("file", ["../rows.jsonl", "/etc/hosts"])
def test_a_suite_that_names_a_file_elsewhere_does_not_load(file: str, tmp_path: Path) -> None:
    with pytest.raises(StandardError, match="folder"):
        folder_suite(tmp_path, file)


def test_a_recorded_file_that_is_missing_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the rows"):
        grade(RECORDED, read_traces(recordings(tmp_path, said("a"))), recorded=[tmp_path / "missing.jsonl"])


@pytest.mark.slow
def test_a_hundred_thousand_rows_are_scored_in_seconds(tmp_path: Path) -> None:
    lines = (json.dumps(graded("a", f"C{number % 2 + 1}", 1, number // 2)) for number in range(100_000))
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    started = time.monotonic()
    table = score_rows(RECORDED, path).scores
    assert (table.states["graded"], table.exit_code) == (100_000, 0)
    assert time.monotonic() - started < 30
