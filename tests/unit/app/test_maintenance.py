"""A store whose parts can all be read, and contradict each other."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest

from scored import criterion, graded, read, suite, task
from steelyard import app
from steelyard.app.keeping import Keeper, open_store
from steelyard.errors import StoreError, UsageError
from steelyard.grading.engine import GradedTrial
from steelyard.model.table import ScoreNotice
from steelyard.model.verdict import TrialRow
from steelyard.standards import suite_hash


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A finished run of two tasks, one of which fails, and one that was broken off."""
    file = tmp_path / "store.db"
    made = suite(task("a", criterion("C1")), task("b", criterion("C1")))
    standard = msgspec.structs.replace(made, hash=suite_hash(made))
    rows = read([graded("a", "C1", 1), graded("b", "C1", 0)])
    with open_store(str(file)) as store:
        for count in (2, 1):
            keeper = Keeper(store, standard, planned=2, options={"n": count}, resume=False)
            for verdict in rows[:count]:
                assert not isinstance(verdict, TrialRow)
                trial = TrialRow(task=verdict.task, trial=1, ended_by="agent_stop")
                keeper.keep(GradedTrial(row=trial, verdicts=(verdict,), keys=(None,), payloads=(None,)))
            if count == 2:
                keeper.finish(app.Run(suite=standard, rows=rows))
    return file


def changed(place: Path, statement: str) -> None:
    connection = sqlite3.connect(place)
    assert connection.execute(statement).rowcount
    connection.commit()
    connection.close()


def test_a_sound_store_is_clean_and_not_written_to(place: Path) -> None:
    before = place.read_bytes()
    found = app.check_store(str(place))
    assert (found.state, found.problems) == ("clean", ())
    assert place.read_bytes() == before
    assert [path.name for path in place.parent.iterdir() if path.name.endswith(("-wal", "-shm"))] == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE grading SET decision = 'PASS' WHERE status = 'done'",
        "UPDATE grading SET headline = replace(headline, '0.5', '0.75') WHERE status = 'done'",
        "UPDATE verdict SET score = 1",
        "DELETE FROM verdict WHERE id = 1",
        "DELETE FROM trial WHERE id = 2 AND (SELECT count(*) FROM verdict) > 0",
    ],
)
def test_a_run_that_contradicts_its_rows_is_named(place: Path, statement: str) -> None:
    if statement.startswith("DELETE FROM trial"):
        changed(place, "DELETE FROM verdict WHERE trial_id = 2")
    changed(place, statement)
    for repair in (False, True):  # nothing tells which of them is right
        found = app.check_store(str(place), repair=repair)
        assert (found.state, found.set_aside) == ("damaged", ())
        assert [problem.code for problem in found.problems] == ["contradicted_run"]
        assert "says FAIL" in found.problems[0].detail or "says PASS" in found.problems[0].detail
        assert "grade its recordings again" in app.check_board(found)


def test_a_folder_is_called_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        app.check_store(str(tmp_path))


def test_a_file_that_holds_nothing_of_a_store_is_left_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    file.write_bytes(bytes(9_000))
    with pytest.raises(StoreError, match="nothing can be saved.*move it aside .*grade again"):
        app.check_store(str(file), repair=True)
    assert file.read_bytes() == bytes(9_000)


def test_a_run_of_some_tasks_is_listed_as_such(tmp_path: Path) -> None:
    standard = suite(task("a", criterion("C1")))
    notice = ScoreNotice(code="selection", detail="only 1 of 2 tasks were selected")
    with open_store(str(tmp_path / "store.db")) as store:
        for notices in ((), (notice,)):
            grading = store.begin(standard, planned=None, options={})
            store.finish(grading, (), notices)
        assert [run.selected for run in app.list_runs(store)] == [False, True]


def test_a_run_that_was_broken_off_stays_so_where_it_is_imported(place: Path) -> None:
    bundle, other = place.with_name("run.zip"), str(place.with_name("other.db"))
    with open_store(str(place)) as store:
        kept = app.list_runs(store)[1]
        app.export_bundle(store, kept.name, bundle)
    with open_store(other) as store:
        name = app.import_bundle(store, bundle)
        assert app.import_bundle(store, bundle) == name
        assert list(app.list_runs(store)) == [kept]
        assert "broken off" in app.runs_board([kept]) and "no finished run" in app.runs_board([kept])
        assert app.load_run(store, name).scores.exit_code == 3
