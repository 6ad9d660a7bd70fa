"""When buffered trials reach the disk, and what other processes see until then."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.store import open_store, sqlite
from stores import a_suite, a_trial, graded, now


def seen_after_each_put(place: Path, puts: int) -> list[int]:
    """Trials that a second reader sees after each put; each trial has one verdict."""
    seen = []
    with open_store(place, now=now) as store, open_store(place, now=now) as reader:
        grading = store.begin(a_suite(), planned=puts, options={})
        for number in range(puts):
            store.put_trial(grading, a_trial(trial=number), [graded(trial=number)[0]])
            seen.append(len(reader.committed(grading)))
            assert len(reader.load("latest").rows) == 2 * seen[-1]
        store.finish(grading)
        assert len(reader.committed(grading)) == puts
    return seen


def test_a_full_buffer_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "MOST_BUFFERED", 6)  # a trial and its verdict count as 2
    monkeypatch.setattr(sqlite, "MOST_SECONDS", 3600.0)
    assert seen_after_each_put(tmp_path / "store.db", 7) == [0, 0, 3, 3, 3, 6, 6]


def test_trials_that_come_slowly_are_committed_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "MOST_SECONDS", 0.0)
    assert seen_after_each_put(tmp_path / "store.db", 3) == [1, 2, 3]


def test_reading_and_flushing_an_empty_buffer_write_nothing(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    with open_store(place, now=now) as store:
        store.begin(a_suite(), planned=None, options={})
    before = place.read_bytes()
    with open_store(place, now=now) as store:
        store.flush()
        assert store.find(b"absent") is None and store.find_many([]) == {}
        assert [run.trials for run in store.runs()] == [0]
        assert store.load("latest").rows == ()
    assert place.read_bytes() == before
