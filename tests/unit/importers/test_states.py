"""The states that recordings name: inside their folder, told when they are not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.importers import read_traces
from steelyard.importers.formats.canonical import encode_trace
from steelyard.model.trace import EndState, Trace

MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


def one(folder: Path, **fields: Any) -> Trace:
    folder.mkdir(exist_ok=True)
    (folder / "runs.jsonl").write_text(json.dumps({"messages": MESSAGES, **fields}) + "\n")
    (trace,) = read_traces([str(folder / "runs.jsonl")])
    assert isinstance(trace, Trace)
    return trace


def codes(trace: Trace) -> list[str]:
    return [notice.code for notice in trace.notices]


def test_paths_are_relative_to_the_recording(tmp_path: Path) -> None:
    (tmp_path / "r" / "end" / "files").mkdir(parents=True)
    (tmp_path / "r" / "end" / "a.db").touch()
    trace = one(tmp_path / "r", end_state={"files": "end/files", "sqlite": "./end/../end/a.db", "json": [1]})
    assert trace.state_after == EndState(
        files=str(tmp_path / "r" / "end" / "files"), sqlite=str(tmp_path / "r" / "end" / "a.db"), json=[1]
    )
    assert codes(trace) == []
    inside = one(tmp_path / "r", start_state={"files": str(tmp_path / "r" / "end")})
    assert inside.state_before == EndState(files=str(tmp_path / "r" / "end"))


@pytest.mark.parametrize(
    "path", ["../secret", "/etc", "a/../../secret", "link", "link/secret", "", "a\0b", 5, ["x"]]
)
def test_paths_that_cannot_be_used_are_faults(tmp_path: Path, path: Any) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "link").symlink_to(tmp_path)
    for key in ("files", "sqlite"):
        trace = one(tmp_path / "r", end_state={key: path, "json": {"x": 1}})
        assert trace.state_after is not None
        assert (trace.state_after.files, trace.state_after.sqlite, trace.state_after.json) == (
            None,
            None,
            {"x": 1},
        )
        assert list(trace.state_after.faults) == [key]
        assert codes(trace)[-1] == "bad_state"


def test_a_state_that_is_not_there_is_told(tmp_path: Path) -> None:
    trace = one(tmp_path / "r", end_state={"files": "none"})
    assert trace.state_after == EndState(files=str(tmp_path / "r" / "none"))
    assert codes(trace) == ["missing_state"]


def test_canonical_traces_are_held_to_the_same(tmp_path: Path) -> None:
    by_hand = {
        "schema": "trace/1",
        "steps": [{"kind": "user", "text": "q"}],
        "state_before": {"files": "start"},
        "state_after": {"files": "/etc", "sqlite": "none.db", "json": 1},
    }
    (tmp_path / "start").mkdir()
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(by_hand) + "\n")
    (trace,) = read_traces([str(file)])
    assert isinstance(trace, Trace)
    assert trace.state_before == EndState(files=str(tmp_path / "start"))
    assert trace.state_after is not None
    assert (trace.state_after.files, trace.state_after.sqlite) == (None, str(tmp_path / "none.db"))
    assert set(codes(trace)) == {"bad_state", "missing_state"}
    file.write_bytes(encode_trace(trace) + b"\n")
    assert list(read_traces([str(file)])) == [trace]
