"""Traces of a report are matched as in grading, and only recordings that are as they were are used again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scored import criterion, suite, task
from steelyard.app.html import matched
from steelyard.app.keeping import fingerprint
from steelyard.app.pages import kept_recordings, recordings
from steelyard.errors import InputError
from steelyard.model.trace import Part, Quarantined, Source, Step, Trace
from steelyard.ports.store import StoredRun

STANDARD = suite(task("a", criterion("C1")), task("b", criterion("C1")))


def trace(name: str, task_id: str | None, trial: int | None = None, prompt: str = "") -> Trace:
    part = Part(kind="text", text=prompt)
    step = Step(id="s0001", uid="u", seq=0, turn=0, kind="user", role="user", parts=(part,))
    source = Source(format="f", importer="f")
    return Trace(id=name, source=source, steps=(step,), task_id=task_id, trial=trial)


def test_traces_get_the_task_and_trial_that_grading_gives_them() -> None:
    found = matched(
        STANDARD,
        [
            trace("1", "a"),
            Quarantined(where="x", reason="y"),
            trace("2", "stranger"),
            trace("3", None, prompt="Do b."),
            trace("4", "a", trial=7),
            trace("5", "a", trial=7),
            trace("6", "a"),
        ],
    )
    assert [(name, number, each.id) for name, number, each in found] == [
        ("a", 1, "1"), ("b", 1, "3"), ("a", 7, "4"), ("a", 2, "6"), ("a", 3, "5"),
    ]  # fmt: skip


def stored(**options: object) -> StoredRun:
    return StoredRun(
        name="2026-11-30", suite=STANDARD, rows=(), status="done", created_at="2026-11-30T10:00:00+00:00",
        options=options,
    )  # fmt: skip


def test_recordings_are_used_again_only_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"task_id": "a", "messages": [{"role": "user", "content": "x"}]}\n')
    kept = stored(traces=[str(file)], content=fingerprint([str(file)]))
    found, why = kept_recordings(kept)
    assert found is not None
    assert [each.task_id for each in found if isinstance(each, Trace)] == ["a"]
    assert why == ""
    file.write_text(file.read_text() + "\n")
    assert kept_recordings(kept)[0] is None
    assert "has changed since" in kept_recordings(kept)[1]
    file.unlink()
    assert "not at" in kept_recordings(kept)[1]
    assert "without the place" in kept_recordings(stored())[1]


def test_a_pipe_is_not_read_a_second_time(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found, why = recordings([str(pipe)])
    assert found is None
    assert "came through a pipe" in why


def test_a_place_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing.jsonl"):
        recordings([str(tmp_path / "missing.jsonl")])
