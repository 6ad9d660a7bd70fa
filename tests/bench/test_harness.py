"""The benchmark's own arithmetic and words: a wrong median or a goal compared the wrong way round would go unseen."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import floors
import inputs
import page
from bench import options
from goals import GROUPS
from peers import ratio
from process import ROOT, BenchError, Command, Spent, per_unit, run, slope
from rows import Row, figure, goals_table, terminal


def spent(cpu: float) -> Spent:
    return Spent(cpu=cpu, wall=0, peak=0, code=0)


@pytest.mark.parametrize(
    ("reached", "limit", "at_least", "state"),
    [
        (1.2, 1.2, False, "holds"),
        (1.2001, 1.2, False, "MISSED"),
        (50, 50, True, "holds"),
        (49, 50, True, "MISSED"),
        (None, 50, False, "not built"),
        (7, None, False, "measured"),
    ],
)
def test_a_goal_is_compared_the_right_way_round(
    reached: float | None, limit: float | None, at_least: bool, state: str
) -> None:
    assert Row(work="w", unit="s", reached=reached, limit=limit, at_least=at_least).state == state


def test_tables_show_goal_figure_state_floor_and_ratio() -> None:
    row = Row(work="grade", unit="s", reached=2.5, limit=1.2, floor=0.1, note="loaded")
    assert row.cells == ("grade", "≤ 1.20 s", "2.50 s", "MISSED", "0.100 s", "25.0×")
    assert "| grade (loaded) | ≤ 1.20 s | 2.50 s | **MISSED** | 0.100 s | 25.0× |" in goals_table([row])
    assert terminal([row]).splitlines()[2] == "    loaded"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (49, "of 50", "49 of 50"),
        (1234.5, "MB", "1 234 MB"),
        (12.34, "µs", "12.3 µs"),
        (0.0494, "s", "0.049 s"),
    ],
)
def test_figures(value: float, unit: str, shown: str) -> None:
    assert figure(value, unit) == shown


def test_what_each_further_one_costs() -> None:
    # Pairs: 11 - 1, 12 - 4, 30 - 5 = 10, 8, 25; the median is 10, over 5 more.
    assert per_unit([spent(11), spent(12), spent(30)], [spent(1), spent(4), spent(5)], 5) == 2
    assert slope({1: 5, 2: 7, 5: 13, 10: 23}) == pytest.approx(2)


def test_ratios_are_of_pairs() -> None:
    assert ratio([(10.0, 2.0), (9.0, 3.0)]) == "3.0–5.0×"
    assert ratio([(10.0, 0.5)]) == "20×"
    assert ratio([(1.0, 0.0)]) == ""


def test_a_process_is_charged_with_its_cpu_and_its_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("process.WORK", tmp_path)
    burn = "import time\nwhile time.process_time() < 0.2: pass\nb = b'x' * 150_000_000\nprint('done')"
    found = run(Command(argv=(sys.executable, "-c", burn)))
    assert found.cpu >= 0.2
    assert found.peak >= 150
    assert found.out == "done\n"


def test_a_program_that_fails_is_not_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("process.WORK", tmp_path)
    old = tmp_path / "old.db-wal"
    old.touch()
    command = Command(argv=(sys.executable, "-c", "raise SystemExit('no')"), fresh=(tmp_path / "old.db",))
    with pytest.raises(BenchError, match="exited 1: no"):
        run(command)
    assert not old.exists()


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(inputs, "DATA", tmp_path)


@pytest.mark.usefixtures("data")
def test_floors_decide_what_the_files_hold() -> None:
    suite, answers = inputs.answers(8, 2)
    # Wrong where (number + trial) % 4 == 0; a later trial of a right one has a space behind it and is another text.
    assert floors.grade(str(suite), str(answers)) == 6
    assert floors.trajectories(*map(str, inputs.trajectories(20, 12))) == 18


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("kind", inputs.KINDS)
def test_checks_are_passed_and_failed_alike_by_floor_and_package(kind: str) -> None:
    import steelyard as sy
    from steelyard.model.verdict import Graded

    suite, talks = inputs.checked(kind, 4, 2, 1)
    run_ = sy.grade(sy.load_suite(suite), sy.read_traces(talks))
    assert {type(verdict) for verdict in run_.verdicts} == {Graded}
    passed = sum(isinstance(verdict, Graded) and verdict.score == 1 for verdict in run_.verdicts)
    assert passed == floors.checks(str(suite), str(talks))
    assert 0 < passed <= 8


@pytest.mark.usefixtures("data")
def test_files_are_the_same_bytes_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = [path.read_bytes() for path in (*inputs.answers(3), *inputs.endless(10), *inputs.huge_output(1))]
    monkeypatch.setattr(inputs, "DATA", tmp_path / "again")
    assert before == [
        path.read_bytes() for path in (*inputs.answers(3), *inputs.endless(10), *inputs.huge_output(1))
    ]
    assert json.loads(before[5])["messages"][2]["content"].endswith("the last line")


def test_a_part_of_the_page_is_replaced_and_nothing_else() -> None:
    text = "a\n<!-- bench: goals -->\nold\n<!-- bench end -->\nb\n<!-- bench: peers -->\nkept\n<!-- bench end -->\n"
    after = page.replaced(text, "goals", "new")
    assert after == text.replace("\nold\n", "\n\nnew\n\n")
    with pytest.raises(ValueError, match="not found"):
        page.replaced(text, "other", "new")
    for part in ("goals", "peers"):
        assert (
            page.replaced((ROOT / "docs" / "benchmarks.md").read_text("utf-8"), part, "new").count("new") >= 1
        )


def test_options() -> None:
    assert options([]).only is None
    assert options(["--only", "grade", "trace", "--runs", "3", "--no-write"]).only == ["grade", "trace"]
    assert "kill" in GROUPS
    with pytest.raises(SystemExit):
        options(["--only", "nothing"])
