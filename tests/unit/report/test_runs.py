"""The list of runs and the verdicts of one: what they say, and that no name steers the terminal."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from steelyard.model.verdict import GraderRef
from steelyard.ports.store import RunSummary
from steelyard.report.runs import runs_board, verdict_board
from steelyard.report.text import columns
from unit.report.tables import criterion, golden

EVIL = "\x1b[31m\x1b]0;title\x07\r\n\u202e\u200b\x00\ud800 \U000e0001🙂\u200d🙂" + "é" * 300 + "\u0301" * 50
TEXTS = st.one_of(st.text(st.characters(exclude_categories=()), max_size=400), st.just(EVIL))
SHARES = st.one_of(st.none(), st.floats())
RUNS = st.builds(
    RunSummary, name=TEXTS, suite=TEXTS, version=TEXTS, hash=TEXTS, created_at=TEXTS,
    status=st.sampled_from(["running", "done"]), trials=st.integers(), planned=st.none() | st.integers(),
    metric=st.none() | TEXTS, value=SHARES, low=SHARES, high=SHARES, bar=SHARES, decision=st.none() | TEXTS,
)  # fmt: skip


def a_run(number: int = 1, **changes: Any) -> RunSummary:
    fields: dict[str, Any] = {
        "name": f"2026-11-30-{number}", "suite": "capitals", "version": "1.0", "hash": "f" * 64,
        "created_at": "2026-11-30T10:15:00+00:00", "status": "done", "trials": 4, "planned": 4, "metric": "completion",
        "value": 0.5, "low": 0.5, "high": 0.5, "bar": 1.0, "decision": "FAIL",
    }  # fmt: skip
    return RunSummary(**{**fields, **changes})


def harmless(text: str, width: int, *, ascii_only: bool = False) -> None:
    for line in text.splitlines():
        assert columns(line) <= width
        assert line.isprintable() or "\u200d" in line, ascii(line)
    for steering in ("\x1b", "\r", "\x00", "\u202e", "\u200b", "\ud800", "\x9b"):
        assert steering not in text
    assert text.encode()
    assert not ascii_only or text.isascii()


def test_one_line_a_run_and_the_trend() -> None:
    board = runs_board([a_run(1, value=0.0), a_run(2, value=0.5), a_run(3, value=1.0, decision="PASS")])
    first, *_, trend = board.splitlines()
    assert first == "  2026-11-30-1  FAIL  completion 0.0 %  capitals 1.0 (ffff)  4 trials  10:15"
    assert trend == "  capitals  completion ▁▅█ 0.0 % to 100.0 % (3 runs)"
    plain = runs_board([a_run(1, value=0.0), a_run(2, value=1.0)], unicode=False)
    assert "completion 09 0.0 % to 100.0 %" in plain


def test_a_run_of_some_tasks_says_so() -> None:
    assert "capitals 1.0 (ffff) in part  4 trials" in runs_board([a_run(selected=True)])


def test_runs_under_different_standards_are_not_one_series() -> None:
    assert "standards" not in runs_board([a_run(1), a_run(2)])
    board = " ".join(runs_board([a_run(1), a_run(2, hash="e" * 64)]).split())
    assert "under 2 different standards: not comparable as one series" in board


def test_each_suite_has_a_trend_of_its_own() -> None:
    board = runs_board([a_run(1), a_run(2, suite="rivers", value=1.0), a_run(3)])
    assert "capitals  completion ▅▅ 50.0 % to 50.0 % (2 runs)" in board
    assert "rivers  completion █ 100.0 % to 100.0 % (1 run)" in board


def test_a_run_that_was_broken_off_says_so_and_is_in_no_trend() -> None:
    unfinished = a_run(2, status="running", decision=None, metric=None, value=None, trials=3)
    board = runs_board([a_run(1), unfinished])
    assert "2026-11-30-2  broken off  capitals 1.0 (ffff)  3 of 4 trials" in board
    assert "(1 run)" in board
    assert "no finished run" in runs_board([unfinished])


def test_no_run_says_what_makes_one() -> None:
    assert "`steelyard grade` keeps one" in runs_board([])


def test_a_long_history_shows_its_end() -> None:
    board = runs_board([a_run(number, value=number / 100) for number in range(100)])
    assert "(40 runs)" in board
    assert "60.0 % to 99.0 %" in board


@pytest.mark.parametrize("value", [-5.0, 1e308, float("nan"), float("inf"), float("-inf"), 1.0000001, -0.0])
def test_a_share_that_is_none_breaks_nothing(value: float) -> None:
    harmless(runs_board([a_run(1, value=value), a_run(2)]), 80)


@given(st.lists(RUNS, max_size=4), st.integers(20, 200), st.booleans(), st.booleans())
def test_no_name_steers_the_terminal(runs: list[RunSummary], width: int, color: bool, unicode: bool) -> None:
    board = runs_board(runs, width=width, color=False, unicode=unicode)
    harmless(board, width, ascii_only=not unicode)
    colored = runs_board(runs, width=width, color=color, unicode=unicode)
    assert colored.count("\x1b[") % 2 == 0


def verdicts(**changes: Any) -> str:
    return verdict_board(golden(), **changes)


def test_the_verdicts_of_a_task_with_rule_reason_evidence_and_grader() -> None:
    table = golden()
    (task, *others) = table.tasks
    (trial, *_) = task.trials
    entry = msgspec.structs.replace(
        trial.criteria[0], reason="it is 64", evidence_refs=("s0001", "fact:x"), retried=2,
        graders=(GraderRef(kind="check:expr", version="3"), GraderRef(kind="human")),
    )  # fmt: skip
    changed = msgspec.structs.replace(
        task, trials=(msgspec.structs.replace(trial, criteria=(entry, *trial.criteria[1:])),)
    )
    table = msgspec.structs.replace(table, tasks=(changed, *others))
    board = verdict_board(
        table, task=task.id, criterion=entry.id, rules={(task.id, entry.id): "The size MUST be at most 16."}
    )
    lines = [" ".join(line.split()) for line in board.splitlines()]
    assert lines[1:] == [
        "rule The size MUST be at most 16.",
        "because it is 64",
        "evidence s0001, fact:x",
        "by check:expr 3, human",
        "retried 2 earlier attempts",
    ]


def test_why_leaves_passes_out() -> None:
    everything, why = verdicts(), verdicts(why=True)
    assert len(why.splitlines()) < len(everything.splitlines())
    assert " pass" in everything
    assert " pass " not in why


def test_nothing_to_show_says_which_nothing() -> None:
    assert "No verdict matches." in verdicts(criterion="nobody")
    assert "No verdict matches." in verdicts(criterion="nobody", why=True)
    table = golden()
    passed = msgspec.structs.replace(
        table.tasks[0],
        trials=tuple(
            msgspec.structs.replace(trial, criteria=(criterion("C1", "pass"),))
            for trial in table.tasks[0].trials
        ),
    )
    board = verdict_board(msgspec.structs.replace(table, tasks=(passed,)), why=True)
    assert "Every verdict that is meant is a pass." in board


@given(TEXTS, TEXTS, TEXTS, st.integers(20, 200), st.booleans())
def test_no_verdict_steers_the_terminal(one: str, two: str, three: str, width: int, unicode: bool) -> None:
    table = golden()
    entry = msgspec.structs.replace(
        criterion("C1", "fail"), id=one, reason=two, failure_tag=three, evidence_refs=(one, two),
        graders=(GraderRef(kind=two, version=one),), score=0.25,
    )  # fmt: skip
    task = table.tasks[0]
    trial = msgspec.structs.replace(task.trials[0], criteria=(entry,))
    evil = msgspec.structs.replace(table, tasks=(msgspec.structs.replace(task, id=three, trials=(trial,)),))
    board = verdict_board(evil, width=width, unicode=unicode, rules={(three, one): two})
    harmless(board, width, ascii_only=not unicode)
