"""Parquet: every verdict is a row; without the extra one sentence says what to install."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from steelyard.app.keeping import load_run
from steelyard.errors import MissingExtraError, OutputError, UsageError
from steelyard.model.verdict import Errored, Unknown
from steelyard.store import SqliteStore, open_store
from steelyard.store.parquet import export_parquet
from stores import a_suite, a_trial, graded, now


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with one run of two trials, the second without a verdict."""
    with open_store(tmp_path / "store.db", now=now) as opened:
        grading = opened.begin(a_suite(), planned=2, options={})
        verdicts = [
            graded(score=Fraction(1, 3))[0],
            Unknown(task="a", criterion="C2", reason="?", cost_usd=0.5),
            Errored(task="a", criterion="C3", error="timeout", failure_tag="T"),
        ]
        opened.put_trial(grading, a_trial(), verdicts)
        opened.put_trial(grading, a_trial("b", ended_by="infrastructure_fault"), [])
        opened.finish(grading)
        yield opened


def test_without_pyarrow_the_message_has_the_pip_command(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'steelyard\[parquet\]'"):
        export_parquet(store, "latest", tmp_path / "run.parquet")
    assert not (tmp_path / "run.parquet").exists()


def test_a_run_as_a_table(store: SqliteStore, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    file = tmp_path / "run.parquet"
    assert export_parquet(store, "latest", file) == "2026-11-30-1"
    table = parquet.read_table(file).to_pydict()
    assert table["task"] == ["a", "a", "a", "b"] and table["trial"] == [1, 1, 1, 1]
    assert table["criterion"] == ["C1", "C2", "C3", None]
    assert table["status"] == ["graded", "unknown", "error", None]
    assert table["score"] == [1 / 3, None, None, None]
    assert table["error"] == [None, None, "timeout", None]
    assert table["evidence_refs"] == [["s0001"], [], [], None]
    assert table["failure_tag"] == [None, None, "T", None]
    assert table["cost_usd"] == [None, 0.5, None, None]
    assert table["graders"] == ["check:equals", "", "", None]
    assert table["ended_by"] == ["agent_stop"] * 3 + ["infrastructure_fault"]
    assert set(table["run"]) == {"2026-11-30-1"} and set(table["suite"]) == {"f" * 64}


def test_places_and_runs_that_are_not_there(store: SqliteStore, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    with pytest.raises(UsageError, match="no run"):
        export_parquet(store, "2025", tmp_path / "run.parquet")
    with pytest.raises(OutputError, match="choose another place"):
        export_parquet(store, "latest", tmp_path / "absent" / "run.parquet")


def test_a_run_in_memory_is_the_same_table(store: SqliteStore, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

    export_parquet(store, "latest", tmp_path / "run.parquet")
    assert load_run(store).to_arrow().equals(parquet.read_table(tmp_path / "run.parquet"))
