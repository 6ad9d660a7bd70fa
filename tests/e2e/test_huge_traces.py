"""Q66. Huge recordings in real processes: graded right, shown in part, and in bounded memory."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.slow

MOST_MEMORY = 500_000_000
EVENTS = 50_000
LINE = "12:00:00 the pump runs at 40 litres a minute\n"
LAST = "TOTAL: 42 units"
BLOCKS = 200 * 1024 * 1024 // (10_000 * len(LINE)) + 1
SIZE = BLOCKS * 10_000 * len(LINE) + len(LAST)


MEASURE = """
import json, resource, subprocess, sys
with open(sys.argv[1], "wb") as out:
    code = subprocess.run([sys.executable, "-m", "steelyard", *sys.argv[2:]], stdout=out).returncode
print(json.dumps([code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))
"""
"""A process of its own, since the peak of a child is no less than that of the process that starts it."""


class Ended(NamedTuple):
    """How a process ended: its exit code, the most memory that it held in bytes, and the file of what it printed."""

    code: int
    peak: int
    out: Path

    @property
    def text(self) -> str:
        return self.out.read_text()


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run(argument, ...)`: one run of the command line in a process of its own."""

    def started(*arguments: str | Path) -> Ended:
        out = tmp_path / "out.txt"
        env = {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}
        command = [sys.executable, "-c", MEASURE, str(out), *map(str, arguments)]
        measured = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
        code, peak = json.loads(measured.stdout)
        return Ended(code, peak * (1 if sys.platform == "darwin" else 1024), out)

    return started


def criterion(number: int, check: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"C{number}", "dimension": "correctness", "rule": "It MUST hold.", "check": check}


def write_suite(folder: Path, *checks: dict[str, Any]) -> Path:
    criteria = [criterion(number, check) for number, check in enumerate(checks, 1)]
    task = {"id": "t", "prompt": "Go", "criteria": criteria}
    suite = {"schema": "suite/1", "name": "huge", "owner": "jo@example.com", "tasks": [task]}
    file = folder / "suite.json"
    file.write_text(json.dumps(suite))
    return file


def verdicts(run: Run, suite: Path, recording: Path, folder: Path) -> tuple[Ended, dict[str, float]]:
    """The score of every criterion, and how grading into a store ended."""
    rows = folder / "rows.jsonl"
    ended = run("grade", suite, recording, "--store", folder / "store.db", "--out", rows, "-q")
    read = [json.loads(line) for line in rows.read_text().splitlines()]
    return ended, {row["criterion"]: row["score"] for row in read if row.get("status") == "graded"}


def called(identity: str, name: str, arguments: str, output: str) -> list[dict[str, Any]]:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": identity, "content": output},
    ]


def pieces() -> Iterator[str]:
    """200 MB of a tool's output, of which the last line decides."""
    block = LINE * 10_000
    for _ in range(BLOCKS):
        yield block
    yield LAST


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("huge") / "recording.jsonl"
    messages = [{"role": "user", "content": "Go"}, *called("c1", "read_log", "{}", "OUTPUT")]
    messages.append({"role": "assistant", "content": "42 units"})
    before, after = json.dumps({"task_id": "t", "messages": messages}).split("OUTPUT")
    with file.open("w") as stream:
        stream.write(before)
        for piece in pieces():
            stream.write(json.dumps(piece)[1:-1])
        stream.write(after + "\n")
    return file


def test_an_output_of_200_mb_is_graded_by_its_end(run: Run, huge: Path, tmp_path: Path) -> None:
    suite = write_suite(
        tmp_path,
        {"kind": "contains", "of": "result:read_log", "all": ["Total: 42 UNITS"]},
        {"kind": "contains", "of": "result:read_log", "all": ["TOTAL: 43 units"]},
        {"kind": "excludes", "of": "result:read_log", "any": ["TOTAL: 42 units"]},
        {"kind": "regex", "of": "result:read_log", "pattern": r"TOTAL: [0-9]+ units\z"},
        {"kind": "equals", "of": "result:read_log", "value": "TOTAL: 42 units"},
        {"kind": "equals", "value": "42 units"},
        {"kind": "calls", "mode": "exact", "expected": [{"name": "read_log", "args": {}}]},
        {"kind": "rule", "rule": {"id": "R1", "tool": ["drop_log"]}},
    )
    ended, found = verdicts(run, suite, huge, tmp_path)
    assert list(found.values()) == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    assert ended.code == 1
    assert ended.peak < MOST_MEMORY
    assert (tmp_path / "store.db").stat().st_size < 1_000_000
    assert max(map(len, (tmp_path / "rows.jsonl").read_text().splitlines())) < 10_000


def test_an_output_of_200_mb_is_shown_by_its_ends_size_and_hash(run: Run, huge: Path) -> None:
    ended = run("trace", huge)
    assert ended.code == 0
    assert ended.peak < MOST_MEMORY
    digest = hashlib.sha256()
    for piece in pieces():
        digest.update(piece.encode())
    shown = "".join(ended.text.split())
    assert f"{SIZE:,}bytes,sha256{digest.hexdigest()};itends:" in shown
    assert LINE.strip() in ended.text
    assert LAST in ended.text
    assert len(ended.text) < 5_000


def test_an_output_of_200_mb_is_whole_in_json(run: Run, huge: Path) -> None:
    ended = run("trace", "--json", huge)
    assert ended.code == 0
    assert ended.peak < MOST_MEMORY
    with ended.out.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as shown:
        at = shown.find(b'"value": "12:00') + len(b'"value": "')
        for piece in pieces():
            written = json.dumps(piece)[1:-1].encode()
            assert shown[at : at + len(written)] == written
            at += len(written)
        assert shown[at : at + 1] == b'"'
        assert shown[-3:] == b"\n}\n"


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("endless") / "recording.jsonl"
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go"}]
    for number in range((EVENTS - 4) // 2):
        messages += called(f"c{number}", "tick", json.dumps({"n": number}), '{"ok": true}')
    messages += called("z", "commit", '{"id": "last"}', '{"done": true}')
    messages.append({"role": "assistant", "content": "All is done."})
    file.write_text(json.dumps({"task_id": "t", "messages": messages}) + "\n")
    return file


def test_50_000_events_are_graded_by_the_last_ones(run: Run, endless: Path, tmp_path: Path) -> None:
    last = (EVENTS - 4) // 2 - 1
    commit = {"name": "commit", "args": {"id": "last"}}
    suite = write_suite(
        tmp_path,
        {"kind": "equals", "of": "call:commit/args/id", "value": "last"},
        {"kind": "equals", "of": "result:commit/done", "value": True},
        {"kind": "calls", "mode": "in_order", "expected": [{"name": "tick", "args": {"n": last}}, commit]},
        {"kind": "calls", "mode": "in_order", "expected": [commit, {"name": "tick", "args": {"n": last}}]},
        {"kind": "rule", "rule": {"id": "R1", "tool": ["commit"], "after": {"tool": "tick"}}},
        {"kind": "rule", "rule": {"id": "R2", "tool": ["commit"], "never_after": {"tool": "tick"}}},
        {
            "kind": "rule",
            "rule": {"id": "R3", "tool": ["tick"], "limit": {"scope": "session", "max": last}},
        },
    )
    ended, found = verdicts(run, suite, endless, tmp_path)
    assert list(found.values()) == [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    assert ended.code == 1
    assert ended.peak < MOST_MEMORY


def test_50_000_events_are_shown_in_part(run: Run, endless: Path) -> None:
    ended = run("trace", endless)
    assert ended.code == 0
    assert ended.peak < MOST_MEMORY
    assert f"{EVENTS - 300:,} of {EVENTS:,} steps left out; see some by --steps FROM-TO" in ended.text
    assert "All is done." in ended.text
    assert len(ended.text.splitlines()) < 1_000
    some = run("trace", "--steps", "25001-25002", endless)
    assert "s25001" in some.text
    assert "s25003" not in some.text
    assert run("trace", "--steps", "2 5", endless).code == 2


def test_memory_does_not_grow_with_the_number_of_recordings(run: Run, tmp_path: Path) -> None:
    """200 MB of recordings of 100 kB each."""
    suite = write_suite(tmp_path, {"kind": "contains", "of": "result:read", "all": ["the last line"]})
    file = tmp_path / "recordings.jsonl"
    with file.open("w") as stream:
        for number in range(2_000):
            text = f"{number}\n" + LINE * (100_000 // len(LINE)) + "the last line"
            messages = [{"role": "user", "content": "Go"}, *called("c", "read", "{}", text)]
            messages.append({"role": "assistant", "content": "Read."})
            stream.write(json.dumps({"task_id": "t", "messages": messages}) + "\n")
    ended, found = verdicts(run, suite, file, tmp_path)
    assert ended.code == 0
    assert found == {"C1": 1.0}
    assert ended.peak < 150_000_000
