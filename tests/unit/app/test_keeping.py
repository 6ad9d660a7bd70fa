"""A grading on its way into a store: when it begins, what resuming keeps, and a store that fails meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import stores
from steelyard import app
from steelyard.app.facade import Keep, grade
from steelyard.app.keeping import (
    Keeper,
    export_bundle,
    fingerprint,
    import_bundle,
    list_runs,
    load_run,
    open_store,
)
from steelyard.app.run import Run
from steelyard.errors import InputError, NothingEvaluatedError, StoreError, UsageError
from steelyard.grading.engine import GradedTrial
from steelyard.model.standard import Suite
from steelyard.model.verdict import Errored, TrialRow, Verdict
from steelyard.standards import suite_hash
from steelyard.store import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(str(tmp_path / "store.db")) as opened:
        assert isinstance(opened, SqliteStore)
        yield opened


def the_suite() -> Suite:
    made = stores.a_suite()
    return msgspec.structs.replace(made, hash=suite_hash(made))


def trial(task: str = "a", number: int = 1, *, key: bytes | None = None, **changes: Any) -> GradedTrial:
    verdict, payload = stores.graded(task, trial=number, **changes)
    return GradedTrial(
        row=stores.a_trial(task, number),
        verdicts=(verdict,),
        keys=(key,),
        payloads=(payload if key else None,),
    )


def failed(task: str = "a", number: int = 1) -> GradedTrial:
    verdict = Errored(task=task, trial=number, criterion="C1", error="timeout", reason="too long")
    return GradedTrial(row=stores.a_trial(task, number), verdicts=(verdict,), keys=(None,), payloads=(None,))


def keeper(store: SqliteStore, *, resume: bool = False, **options: Any) -> Keeper:
    return Keeper(store, the_suite(), planned=2, options=options, resume=resume)


def the_run(*trials: GradedTrial) -> Run:
    rows: list[Verdict | TrialRow] = []
    for each in trials:
        rows.extend((each.row, *each.verdicts))
    return Run(suite=the_suite(), rows=rows)


def test_a_grading_begins_with_its_first_trial(store: SqliteStore) -> None:
    one = keeper(store)
    assert one.name == ""
    assert list(store.runs()) == []
    one.keep(trial())
    assert [run.name for run in store.runs()] == [one.name]
    assert store.runs()[0].status == "running"


def test_a_finished_grading_has_its_headline(store: SqliteStore) -> None:
    one, graded = keeper(store), trial()
    one.keep(graded)
    run = the_run(graded)
    one.finish(run)
    (line,) = list_runs(store)
    assert (line.status, line.metric, line.decision) == ("done", "completion", run.scores.decision)
    assert (run.name, run.scores.run, run.problem) == (one.name, one.name, "")
    kept = load_run(store)
    assert kept.rows == run.rows
    assert kept.scores == run.scores


def test_an_unfinished_run_decides_nothing(store: SqliteStore) -> None:
    one = keeper(store)
    for task in ("a", "b"):
        one.keep(trial(task))
    store.flush()
    shown = load_run(store).scores
    assert (shown.decision, shown.exit_code) == ("INCOMPLETE", 3)
    assert shown.notices[0].code == "unfinished_run"


def test_resuming_writes_only_what_came_out_differently(store: SqliteStore) -> None:
    first = keeper(store)
    first.keep(trial("a"))
    first.keep(failed("b"))
    store.flush()
    second = keeper(store, resume=True)
    assert (second.resumed, second.name) == (True, first.name)
    second.keep(trial("a"))
    assert store._waiting == [], "what is kept already is not written again"
    second.keep(trial("b"))
    run = the_run(trial("a"), trial("b"))
    second.finish(run)
    assert run.rows == load_run(store).rows
    verdicts = {verdict.task: verdict for verdict in run.verdicts}
    assert verdicts["a"].attempts == ()
    assert [attempt.stop_reason for attempt in verdicts["b"].attempts] == ["error", "graded"]
    assert [row.task for row in run.rows if isinstance(row, TrialRow)] == ["a", "b"]
    (notice,) = [notice for notice in run.scores.notices if notice.code == "retried"]
    assert "1 verdict is that of a later attempt" in notice.detail
    assert "b#1/C1" in notice.detail


@pytest.mark.parametrize("options", [{"x": 2}, {}, {"x": 1, "y": 1}])
def test_other_options_or_a_finished_run_are_not_resumed(store: SqliteStore, options: dict[str, Any]) -> None:
    first = keeper(store, x=1)
    first.keep(trial())
    store.flush()
    assert not keeper(store, resume=True, **options).resumed
    assert not keeper(store, resume=False, x=1).resumed
    same = keeper(store, resume=True, x=1)
    assert same.resumed
    same.finish(the_run(trial()))
    assert not keeper(store, resume=True, x=1).resumed


def test_a_finding_is_found_by_its_key(store: SqliteStore) -> None:
    one, key = keeper(store), b"k" * 32
    assert one.find_many([key]) == {}
    one.keep(trial(key=key))
    assert one.find_many([key])[key].score == "1/1"


@pytest.mark.parametrize("method", ["begin", "put_trial", "finish", "find_many"])
def test_a_store_that_fails_is_told_and_not_asked_again(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    calls: list[str] = []

    def fail(*arguments: Any, **more: Any) -> Any:
        calls.append(method)
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, method, fail)
    one, graded = keeper(store), trial()
    assert one.find_many([b"k" * 32]) == {}
    one.keep(graded)
    assert one.find_many([b"k" * 32]) == {}
    one.keep(trial("b"))
    run = the_run(graded, trial("b"))
    one.finish(run)
    assert calls == [method]
    assert run.problem == "the disk is full"
    notice = run.scores.notices[0]
    assert (notice.code, "the disk is full" in notice.detail) == ("not_kept", True)


def test_a_store_that_must_exist(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match="there is no store"),
        open_store(str(tmp_path / "no.db"), must_exist=True),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_whose_standard_is_not_its_own_is_refused(store: SqliteStore, tmp_path: Path) -> None:
    suite = msgspec.structs.replace(the_suite(), hash="0" * 64)
    forged = Keeper(store, suite, planned=1, options={}, resume=False)
    forged.keep(trial())
    forged.finish(the_run(trial()))
    export_bundle(store, "latest", tmp_path / "run.zip")
    with open_store(str(tmp_path / "other.db")) as other:
        with pytest.raises(InputError, match="hash"):
            import_bundle(other, tmp_path / "run.zip")
        assert list(other.runs()) == []


def test_a_run_is_not_imported_into_the_store_that_it_was_exported_from(
    store: SqliteStore, tmp_path: Path
) -> None:
    one, graded = keeper(store, x=[1, None]), trial()
    one.keep(graded)
    one.finish(the_run(graded))
    export_bundle(store, one.name, tmp_path / "run.zip")
    assert import_bundle(store, tmp_path / "run.zip") == one.name
    assert [run.name for run in store.runs()] == [one.name]
    other = keeper(store)
    other.keep(trial("b"))
    store.flush()
    with open_store(str(tmp_path / "third.db")) as third:
        own = Keeper(third, the_suite(), planned=9, options={}, resume=False)
        own.keep(trial())
        own.finish(the_run(trial()))
        name = import_bundle(third, tmp_path / "run.zip")
        assert [run.name for run in third.runs()] == [own.name, f"{own.name}-imported"]
        assert import_bundle(third, tmp_path / "run.zip") == name == f"{own.name}-imported"


# --- Inputs of the same names that are not the same.


def recordings(folder: Path, *answers: str) -> str:
    folder.mkdir(exist_ok=True)
    for number, answer in enumerate(answers):
        messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": answer}]
        (folder / f"{number}.jsonl").write_text(json.dumps({"task_id": "a", "messages": messages}) + "\n")
    return str(folder)


def test_inputs_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    place = recordings(tmp_path / "runs", "Paris", "Rome")
    first = fingerprint([place])
    os.utime(tmp_path / "runs" / "0.jsonl", (1, 1))
    assert fingerprint([place]) == first
    assert fingerprint([recordings(tmp_path / "elsewhere", "Paris", "Rome")]) == first
    seen = {first}
    for answers in (("Paris", "Milan"), ("Rome", "Paris"), ("Paris", "Milan", "Oslo")):
        seen.add(fingerprint([recordings(tmp_path / "runs", *answers)]))
    assert len(seen) == 4


def test_states_are_told_apart_by_how_they_look(tmp_path: Path) -> None:
    place = recordings(tmp_path / "runs", "Paris")
    states = tmp_path / "states" / "a" / "1" / "end"
    states.mkdir(parents=True)
    (states / "x").write_text("1")
    seen = {fingerprint([place]), fingerprint([place], str(tmp_path / "states"))}
    (states / "x").write_text("22")
    seen.add(fingerprint([place], str(tmp_path / "states")))
    (states / "y").touch()
    seen.add(fingerprint([place], str(tmp_path / "states")))
    assert len(seen) == 4
    assert fingerprint([place], str(tmp_path / "states")) in seen


def test_inputs_that_are_not_there_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        fingerprint([str(tmp_path / "absent.jsonl")])
    with pytest.raises(NothingEvaluatedError):
        fingerprint([str(tmp_path)])


def test_a_pipe_is_not_read_before_it_is_graded(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert fingerprint([str(tmp_path / "pipe.jsonl")])


# --- The facade.


def test_what_is_graded_is_what_is_kept(store: SqliteStore, tmp_path: Path) -> None:
    place = recordings(tmp_path / "runs", "Paris", "Rome")
    suite = {
        "schema": "suite/1", "name": "capitals", "owner": "jo@example.com",
        "tasks": [{
            "id": "a", "prompt": "?",
            "criteria": [{
                "id": "C1", "dimension": "correctness", "rule": "It MUST be Paris.",
                "check": {"kind": "equals", "value": "Paris"},
            }],
        }],
    }  # fmt: skip
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    standard = app.load_suite(tmp_path / "suite.json")
    run = grade(standard, app.read_traces(place), keep=Keep(store=store))
    kept = load_run(store, run.name)
    assert (kept.rows, kept.scores) == (run.rows, run.scores)
    again = grade(standard, app.read_traces(place), keep=Keep(store=store))
    assert (again.rows, again.reused) == (run.rows, 2)
    assert run.name != again.name
    apart = grade(standard, app.read_traces(place))
    assert (apart.rows, apart.reused, apart.name) == (run.rows, 0, "")
