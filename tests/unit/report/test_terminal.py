"""The scoreboard and the what-if board, line by line."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

import scored as plain
from steelyard.model.table import (
    Ci,
    Completion,
    Count,
    Coverage,
    KScore,
    PassRate,
    Primary,
    ScoreNotice,
    ScoreTable,
    TaskCount,
)
from steelyard.report.facts import graders
from steelyard.report.markdown import markdown
from steelyard.report.terminal import scoreboard, whatif_board
from steelyard.report.view import board as board_of
from unit.report.tables import average, criterion, dimension, golden, task, trial, wilson
from unit.report.test_text import ANY

DASH, TIMES = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"
replace = msgspec.structs.replace


def completion(done: int, of: int, *, high: float | None = None, trials: int | None = None) -> Completion:
    share = done / of
    return Completion(
        value=share, low=share, high=share if high is None else high, ci=wilson(0.1, 0.9, of),
        trials=Count(complete=done, of=trials or of), tasks=TaskCount(always_complete=done, of=of),
    )  # fmt: skip


def lines_of(table: ScoreTable, **style: object) -> list[str]:
    return scoreboard(table, **style).splitlines()  # type: ignore[arg-type]


def test_the_golden_example_line_by_line():
    bar = "─" * 80
    assert (
        scoreboard(golden())
        == f"""\
operations 1.0 · 3 tasks · 3 trials · standard 4f1c…                        FAIL
  because 1 of 3 executions violated authority, and completion is 33.3 % (bar
  100 %, none declared)
{bar}
completion   33.3 %  1 of 3 tasks      ├───●───────┤     6{DASH}79 %  primary
correctness  72.2 %  each task votes  n 3: too few for an interval  3 of 3 tasks
             66.7 %  each check votes, 6 of 9 (pooled)
authority    66.7 %  each task votes     ├───────●───┤  21{DASH}94 %  3 of 3 tasks
             66.7 %  each check votes, 2 of 3 (pooled)
             gate: 1 ✗  1 of 3 executions violated authority
grounding    50.0 %  each task votes    ├─────●─────┤    9{DASH}91 %  2 of 3 tasks
             50.0 %  each check votes, 1 of 2 (pooled)
layers       outcome 72.2 % (n 9) · process 50.0 % (n 2) · risk 66.7 % (n 3)
             efficiency not assigned
intervals    95 %, on a scale of 0 to 100 % · tasks are the sampling unit
verdicts     14 graded · 0 unknown · 0 error · 0 skipped · 0 faults
time         mean 41.2 s, median 40 s, max 60 s, total 124 s (n 3)
{bar}
why not complete
  ✗ checkout  C3  REMEDY_EXCEEDS_CONNECTION_BUDGET  e3: 4 {TIMES} 64 = 256 > 64
  ✗ csv       C3  TIMESTAMP_NOT_UTC                 row 2: +02:00
  ✗ csv       C4  WRONG_COLUMNS                     "created" for "created_at"
  ✗ csv       A1  SOURCE_OVERWRITTEN (gate)         s0011 write accounts.csv
    1 failed outside the acceptance rule: grounding 1
complete, but
  - G1  grounding not met  in 1 of 1 complete trial
        e.g. lookup
semantic criteria: 10 recorded verdicts (no judge used)
code checks: expr 1, csv 2, files 1
"""
    )


def test_ascii_is_the_same_board_without_a_byte_above_127():
    plain = scoreboard(golden(), unicode=False)
    assert plain.isascii()
    assert "gate: 1 x  1 of 3 executions violated authority" in plain
    assert "e3: 4 x 64 = 256 > 64" in plain


def test_colour_adds_nothing_but_escape_codes():
    coloured = scoreboard(golden(), color=True)
    assert "\x1b[1;31mFAIL\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == scoreboard(golden())
    assert "\x1b" not in scoreboard(golden())


def test_missing_verdicts_are_a_range_with_their_count_and_the_graded_mean():
    missing = average(0.8, 90, high=0.9, of=100)
    table = golden(dimensions={"correctness": dimension(missing, missing, (3, 3))})
    board = scoreboard(table)
    assert f"correctness  80.0{DASH}90.0 %  each task votes" in board
    assert "10 of 100 not graded; mean of the 90 graded: 88.9 %" in board


def test_nothing_graded_is_a_full_range_and_says_so():
    none = average(None, 0, high=1.0, of=9)
    board = scoreboard(golden(dimensions={"correctness": dimension(none, none, (3, 3))}))
    assert f"correctness  0.0{DASH}100.0 %" in board
    assert "9 of 9 not graded: nothing to average" in board


def test_the_headline_never_rounds_onto_its_bar():
    short = Primary(metric="completion", value=0.8996, low=0.8996, high=0.8996, bar=0.9, declared=True)
    table = golden(bar=short, completion=replace(completion(8996, 10000), low=0.8996, high=0.8996))
    board = scoreboard(table)
    assert "completion is 89.96 % (bar 90 %)" in " ".join(board.split())
    assert "90.0 %" not in board
    assert "primary, bar 90 %" in board


def test_incomplete_says_what_is_missing():
    gate = criterion("A1", "error", "authority", gate=True, reason="timed out")
    open_gate = dimension(
        average(None, 0, high=1.0, of=1),
        average(None, 0, high=1.0, of=1),
        (1, 1),
        gate=True,
        gate_trials=1,
        open_gates=1,
    )
    table = golden(
        decision="INCOMPLETE", exit_code=3, tasks=(task("a", trial((criterion("C1", "pass"), gate))),),
        dimensions={"authority": open_gate}, completion=completion(0, 1, high=1.0),
        bar=Primary(metric="completion", value=0, low=0, high=1, bar=1, declared=False),
    )  # fmt: skip
    board = scoreboard(table)
    assert "INCOMPLETE\n" in board
    assert f"completion is between 0.0{DASH}100.0 %" in board
    assert "1 gate verdict is missing" in " ".join(board.split())
    assert "gate: 1 ?  of 1 execution not decided" in board
    assert "  ! a  A1  without a verdict (gate)  timed out" in board


def test_a_pass_says_against_which_bar():
    table = golden(
        decision="PASS", exit_code=0, tasks=(task("a", trial((criterion("C1", "pass"),))),), dimensions={},
        bar=Primary(metric="completion", value=1, low=1, high=1, bar=0.9, declared=True),
        completion=completion(1, 1),
    )  # fmt: skip
    board = scoreboard(table)
    assert "because completion 100.0 % reaches its bar (90 %)" in board
    assert "every counted trial is complete" in board
    assert "why not complete" not in board


def test_no_trial_is_no_success():
    table = golden(
        decision="INCOMPLETE", exit_code=4, tasks=(), dimensions={}, layers={},
        completion=Completion(
            value=0, low=0, high=1, ci=Ci(low=None, high=None, method="none", status="no_data"),
            trials=Count(complete=0, of=0), tasks=TaskCount(always_complete=0, of=0),
        ),
    )  # fmt: skip
    board = scoreboard(table)
    assert "nothing was evaluated" in board
    assert "no trial was counted" in board
    assert "complete\n" not in board


def test_repeats_show_pass_hat_k_and_the_pass_rate_only_where_trials_repeat():
    assert "pass^k" not in scoreboard(golden())
    table = golden(
        pass_hat_k={"1": KScore(value=0.5, n_tasks=4), "2": KScore(value=0.25, n_tasks=3)},
        pass_rate=PassRate(value=0.5, low=0.5, high=0.5, complete=4, of=8, strict=0.4),
        faults={"infrastructure": 2, "simulator": 0},
    )
    board = scoreboard(table)
    assert "pass^k       k=1 50.0 % (n 4) · k=2 25.0 % (n 3)" in board
    assert "pass rate    50.0 % · 4 of 8 trials complete, each with one vote" in board
    assert "40.0 % if faults count as failures" in board
    assert "2 faults (infrastructure 2; outside the averages)" in board


def test_many_failures_are_grouped_and_counted():
    tasks = tuple(
        task(f"t{i:05}", trial((
            criterion("C1", "fail" if i % 7 == 0 else "pass", failure_tag="WRONG", reason=f"got {i}"),
            criterion("A1", "fail" if i % 997 == 0 else "pass", "authority", gate=True, failure_tag="WRITE"),
        )))
        for i in range(10_000)
    )  # fmt: skip
    lines = lines_of(golden(tasks=tasks, completion=completion(8560, 10_000)))
    listed = lines[lines.index("why not complete") + 1 :]
    assert listed[0] == f"  ✗ 11 tasks     A1  WRITE (gate) {TIMES}11"
    assert listed[1] == f"  ✗ 1,429 tasks  C1  WRONG {TIMES}1,429      e.g. got 0"
    assert len(lines) < 40


def test_more_kinds_of_failure_than_lines_end_with_a_count():
    criteria = tuple(criterion(f"C{i}", "fail", failure_tag=f"TAG_{i}") for i in range(40))
    lines = lines_of(golden(tasks=(task("a", trial(criteria)),), completion=completion(0, 1)))
    assert sum(line.startswith("  ✗ a  ") for line in lines) == 11
    assert "  … 29 more lines: 29 failed" in lines


def test_verdicts_missing_for_one_reason_share_a_line():
    criteria = tuple(
        criterion(f"C{i}", "error", failure_tag="missing_row", reason="no row") for i in range(5)
    )
    lines = lines_of(golden(tasks=(task("a", trial(criteria)),), completion=completion(0, 1)))
    assert f"  ! a  C0 +4  error missing_row {TIMES}5  no row" in lines


def test_who_gave_verdicts_is_said_for_one_and_for_several() -> None:
    assert graders({"recorded": 1, "human": 1}) == (
        "semantic criteria: 1 recorded verdict of unnamed origin, 1 recorded verdict by people (no judge used)",
    )
    assert graders({"people": 2, "recorded": 1_200}) == (
        "semantic criteria: 2 recorded verdicts by people, 1,200 recorded verdicts of unnamed origin (no judge used)",
    )
    assert graders({"recorded": 1}) == ("semantic criteria: 1 recorded verdict (no judge used)",)
    assert graders({"judge": 1}) == ("semantic criteria: 1 verdict of a judge",)


@pytest.mark.parametrize("fault", ["simulator_fault", "infrastructure_fault"])
def test_only_faults_are_named_by_their_own_name(fault: str) -> None:
    standard = plain.suite(plain.task("a", plain.criterion("C1")))
    board = scoreboard(plain.scored(standard, [{"task": "a", "ended_by": fault}]))
    assert f"! a only faulted trials every recorded trial ended by {fault}" in " ".join(board.split())


def test_a_missing_trial_beside_one_that_counts_is_no_fault() -> None:
    standard = plain.suite(plain.task("a", plain.criterion("C1"), trials=3))
    rows = [{"task": "a", "trial": 1, "ended_by": "simulator_fault"}, plain.graded("a", "C1", 1, 2)]
    board = " ".join(scoreboard(plain.scored(standard, rows)).split())
    assert "! a#3 nothing recorded no trace and no verdict of this trial" in board
    assert "only faulted trials" not in board


def test_the_counts_tell_planned_trials_from_recorded_ones_on_every_surface() -> None:
    standard = plain.suite(*(plain.task(name, plain.criterion("C1"), trials=2) for name in "abcde"))
    fault = {"task": "e", "trial": 1, "ended_by": "simulator_fault"}
    table = plain.scored(standard, [plain.graded("a", "C1", 1), fault])
    told = "5 tasks · 10 trials planned, 2 recorded"
    assert told in scoreboard(table)
    assert told in markdown(table)
    assert "10 trials planned, 2 recorded" in board_of(table).counts
    assert " recorded" not in board_of(golden()).counts[1]


def test_a_bad_end_and_faulted_tasks_are_causes_too():
    passing = (criterion("C1", "pass"),)
    late = trial(passing, ended_by="max_turns", complete=False, possibly_complete=False)
    fault = trial(passing, ended_by="simulator_fault", counted=False, complete=False)
    empty = trial((criterion("C1", "error"),), 2, placeholder=True)
    board = scoreboard(
        golden(tasks=(task("late", late), task("broken", fault, empty)), completion=completion(0, 2))
    )
    assert "ended by max_turns" in board
    assert "only faulted trials" in board


def test_skips_by_a_fail_are_no_failure_of_their_own():
    criteria = (criterion("C1", "fail", failure_tag="T"), criterion("C2", "skipped", cause="fail"))
    board = scoreboard(golden(tasks=(task("a", trial(criteria)),), completion=completion(0, 1)))
    assert "1 skipped, since a criterion that they need failed" in board
    assert " C2 " not in board


def test_a_rule_stands_in_for_a_missing_tag():
    table = golden(tasks=(task("a", trial((criterion("C1", "fail"),))),), completion=completion(0, 1))
    assert "correctness not met" in scoreboard(table)
    assert "The answer MUST be Paris." in scoreboard(table, rules={("a", "C1"): "The answer MUST be Paris."})


def test_a_table_without_detail_says_how_many_tasks_it_leaves_out():
    board = scoreboard(golden(completion=completion(1, 500)))
    assert "497 more tasks not complete, without detail here" in board
    assert "500 tasks" in board


def test_weights_notices_and_machine_labelling_are_said():
    table = golden(
        weights="each kind has its share (traffic)",
        notices=tuple(ScoreNotice(code=f"n{i}", detail="d", where="w") for i in range(9)),
        licences={"machine_labelling": {"verdicts": 4, "state": "uncalibrated"}},
        graders={"judge": 4},
        excluded=({"task": "a", "criterion": None},),
    )
    board = scoreboard(table)
    assert "weights      each kind has its share (traffic)" in board
    assert "weighted tasks" in board
    assert "note  machine_labelling: 4 verdicts by a model, uncalibrated" in board
    assert "4 more notices" in board
    assert "no judge used" not in board
    assert "left out     1 by a declared `when` · a" in board


def test_a_what_if_says_that_nothing_is_saved():
    assert lines_of(golden(whatif=("checkout/C3=1",)))[1] == "what-if: nothing is saved · checkout/C3=1"


def test_the_what_if_board_shows_old_new_and_difference():
    before = golden()
    fixed = replace(before.tasks[0], trials=(trial(tuple(
        replace(entry, outcome="pass", score=1.0) for entry in before.tasks[0].trials[0].criteria
    )),))  # fmt: skip
    correctness = dimension(average(15 / 18, 9), average(7 / 9, 9), (3, 3))
    after = replace(
        before, whatif=("checkout/C3=1",), tasks=(fixed, *before.tasks[1:]), completion=completion(2, 3),
        dimensions={**before.dimensions, "correctness": correctness},
    )  # fmt: skip
    lines = whatif_board(before, after).splitlines()
    flat = [" ".join(line.split()) for line in lines]
    assert lines[1] == "what-if: nothing is saved · checkout/C3=1"
    assert "completion each task votes 33.3 % 66.7 % +33.3" in flat
    assert "correctness each task votes 72.2 % 83.3 % +11.1" in flat
    assert "each check votes 66.7 % 77.8 % +11.1" in flat
    assert "  checkout/C3: fail → pass" in lines
    assert "  checkout: not complete → complete" in lines
    assert "No verdict and no trial changes." in whatif_board(before, before)


def test_a_what_if_that_moves_only_the_high_end_is_a_change():
    after = golden(completion=replace(golden().completion, high=0.5))
    assert "high +16.7" in whatif_board(golden(), after)


def spoiled(text: str) -> ScoreTable:
    """The golden example with one text everywhere that a text can stand."""
    table = golden()
    entry = criterion(
        text,
        "fail",
        text,
        reason=text,
        failure_tag=text,
        evidence_refs=(text,),
        gate=True,
        in_acceptance=True,
    )
    other = criterion(text + "2", "error", reason=text)
    return replace(
        table,
        suite=replace(table.suite, name=text, version=text, hash=text),
        dimensions={text: replace(table.dimensions["authority"], coverage=Coverage(tasks=2, of=3))},
        layers={text: table.layers["outcome"]},
        tasks=(task(text, trial((entry, other), ended_by=text), trial((entry,), 2)),),
        measurements={text: table.measurements["seconds"]},
        graders={text: 1, "check:" + text: 2},
        notices=(ScoreNotice(code=text, detail=text, where=text),),
        weights=text,
        whatif=(text,),
        composite={text: text},
        excluded=({"task": text, "criterion": text},),
    )


@settings(max_examples=150)
@given(text=ANY, width=st.integers(60, 120), unicode=st.booleans())
def test_no_text_makes_a_line_wider_than_the_page_or_steers_the_terminal(text, width, unicode):
    table = spoiled(text)
    for board in (
        scoreboard(table, width=width, unicode=unicode),
        whatif_board(golden(), table, width=width, unicode=unicode),
    ):
        lines = board.split("\n")
        assert all(cell_len(line) <= width for line in lines)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", board)
        assert unicode or board.isascii()


@pytest.mark.parametrize("text", ["x" * 300, "🚀" * 100, "a\u0301" * 300, "汉" * 300, "", "\n" * 50])
@pytest.mark.parametrize("unicode", [True, False])
def test_long_and_empty_names_keep_the_board_readable(text, unicode):
    board = scoreboard(spoiled(text), unicode=unicode)
    assert max(map(cell_len, board.splitlines())) <= 80
    assert len(board.splitlines()) < 110
    assert "FAIL" in board.splitlines()[0]


@pytest.mark.parametrize("width", [1, 20, 40])
def test_a_tiny_terminal_does_not_crash_it(width):
    assert max(map(cell_len, scoreboard(golden(), width=width).splitlines())) <= max(width, 20)
