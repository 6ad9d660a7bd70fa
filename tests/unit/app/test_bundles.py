"""What a bundle or a what-if says about a run is not believed: it follows from the rows."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scored import criterion, graded, read, suite, task
from steelyard.app.keeping import import_bundle, list_runs, load_run, open_store
from steelyard.app.reports import changes
from steelyard.app.run import Run
from steelyard.errors import InputError
from steelyard.model.table import Primary
from steelyard.ports.store import StoredRun

FORGED = Primary(metric="completion", value=1.0, low=1.0, high=1.0, bar=1.0, declared=False)


def held(**settings: object) -> StoredRun:
    rows = tuple(read([{"task": "a", "trial": 1, "ended_by": "agent_stop"}, graded("a", "C1", 0)]))
    whole = StoredRun(
        name="2026-11-30-1", suite=suite(task("a", criterion("C1"))), rows=rows, status="done",
        created_at="2026-11-30T10:00:00+00:00", primary=FORGED, decision="PASS",
    )  # fmt: skip
    return msgspec.structs.replace(whole, **settings)


def imported(run: StoredRun, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("steelyard.store.read_run", lambda file: (run, "origin"))
    with open_store(str(folder / "store.db")) as store:
        return import_bundle(store, folder / "run.zip")


def test_a_forged_headline_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = imported(held(), tmp_path, monkeypatch)
    with open_store(str(tmp_path / "store.db")) as store:
        (run,) = list_runs(store)
        assert (run.decision, run.low, run.high) == ("FAIL", 0.0, 0.0)
        assert load_run(store, name).scores.decision == "FAIL"


@pytest.mark.parametrize("wrong", [{"planned": -5}, {"planned": 10**30}, {"created_at": "not a time"}])
def test_a_manifest_that_cannot_be_is_refused(
    wrong: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="cannot be"):
        imported(held(**wrong), tmp_path, monkeypatch)


def test_the_what_if_of_a_broken_off_run_is_no_pass() -> None:
    standard = suite(task("a", criterion("C1")))
    run = Run(suite=standard, rows=read([graded("a", "C1", 0)]), unfinished=True, name="r")
    after = run.what_if(changes(run, sets=["a/C1=1"]))
    assert (after.scores.completion.value, after.scores.decision, after.scores.exit_code) == (
        1.0,
        "INCOMPLETE",
        3,
    )
