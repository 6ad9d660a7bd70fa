"""`kill -9` of a real grading at any moment, `--resume`, and what is left of the difference to an uninterrupted run.

    python tests/kill_runs.py FOLDER [MOMENTS]     kill and resume at random moments, a line each

Run with `grade ...` arguments by `kill_and_resume`, it is the `steelyard` command that notes each call of a grader in
the file that `STEELYARD_TEST_CALLS` names: a write of its own each, so that a kill loses none.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard import app

TASKS, EACH = 50, 100
CHECKS = ("C1",)
CALLS = "STEELYARD_TEST_CALLS"
Row = tuple[int, str, int]


@dataclass(frozen=True)
class Killed:
    """One kill and the resume after it.

    `stage`: no_store, no_run, within or done: how far the killed process was. `committed` counts the (task, trial,
    criterion) on disk at the kill, `again` those of them that a grader was called for once more, `double` the trials
    that stand twice in the store. `log_bytes`: of the write-ahead log that the kill left.
    """

    stage: str
    committed: int
    called_before: int
    called_after: int
    again: frozenset[str]
    double: int
    ids_kept: bool
    runs: int
    equal: bool
    check: str
    log_bytes: int
    said: str = field(repr=False)


def write_inputs(folder: Path) -> None:
    """A suite of 50 tasks, and 5,000 recordings of which each answer differs, so that no finding serves two."""
    folder.mkdir(parents=True, exist_ok=True)
    check = {"kind": "contains", "any": ["7"]}
    tasks = [
        {
            "id": f"t{task}", "prompt": f"Count to {task}.", "trials": EACH,
            "criteria": [
                {"id": name, "dimension": "correctness", "rule": "It MUST be right.", "check": check}
                for name in CHECKS
            ],
        }
        for task in range(TASKS)
    ]  # fmt: skip
    suite = {"schema": "suite/1", "name": "kill", "owner": "jo@example.com", "tasks": tasks}
    (folder / "suite.json").write_text(json.dumps(suite))
    with (folder / "runs.jsonl").open("w") as file:
        for task in range(TASKS):
            for trial in range(1, EACH + 1):
                answer = {"role": "assistant", "content": f"It is {task}, or {trial}."}
                line = {
                    "task_id": f"t{task}",
                    "trial": trial,
                    "messages": [{"role": "user", "content": f"Count to {task}."}, answer],
                }
                file.write(json.dumps(line) + "\n")


def uninterrupted(folder: Path) -> Any:
    """The verdict table of a run that nobody killed."""
    _grade(folder, store="whole.db")
    return _table(folder, "whole.db")


def kill_and_resume(
    folder: Path, whole: Any, *, at_fraction: float | None = None, seconds: float | None = None
) -> Killed:
    """Kill a grading once graders were called for `at_fraction` of the checks, or after `seconds`; resume it; compare.

    `at_fraction` 0: as soon as the process is there. `folder` holds what `write_inputs` wrote, `whole` is what
    `uninterrupted` gave.
    """
    store, log = folder / "killed.db", folder / "calls.txt"
    for file in (*folder.glob("killed.db*"), log):
        file.unlink()
    log.touch()
    _kill(folder, log, at_fraction, seconds)
    log_file = store.with_name("killed.db-wal")
    log_bytes = log_file.stat().st_size if log_file.exists() else 0
    stage, before = _look(store)
    called = log.read_text().splitlines()
    again = _grade(folder, "--resume", store="killed.db")
    later = log.read_text().splitlines()[len(called) :]
    committed = {f"{task}#{trial}/{name}" for _, task, trial in before for name in CHECKS}
    _, after = _look(store)
    here = after if stage != "done" else after[len(before) :]  # a finished run is not resumed
    with app.open_store(str(store), must_exist=True) as opened:
        listed = app.list_runs(opened)
    return Killed(
        stage=stage, committed=len(committed), called_before=len(called), called_after=len(later),
        again=frozenset(committed & set(later)), double=len(here) - len({row[1:] for row in here}),
        ids_kept=after[: len(before)] == before, runs=len(listed), equal=_table(folder, "killed.db") == whole,
        check=app.check_store(str(store)).state, log_bytes=log_bytes, said=again,
    )  # fmt: skip


def _kill(folder: Path, log: Path, at_fraction: float | None, seconds: float | None) -> None:
    process = subprocess.Popen(
        [sys.executable, __file__, "grade", "suite.json", "runs.jsonl", "-q", "--store", "killed.db"],
        cwd=folder, env=_environment(log), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        if seconds is not None:
            time.sleep(seconds)
        else:
            line = len(f"t{TASKS - 1}#{EACH // 2}/C1\n")
            wanted = (at_fraction or 0) * TASKS * EACH * len(CHECKS) * line
            while process.poll() is None and log.stat().st_size < wanted:
                time.sleep(0.001)
    finally:
        process.send_signal(signal.SIGKILL)
        said = process.stderr.read()
        process.stderr.close()
        process.wait()
    assert process.returncode in (-signal.SIGKILL, 1), said


def _look(store: Path) -> tuple[str, list[Row]]:
    """How far the grading is, and its trials, without touching the store: in a copy."""
    if not store.exists():
        return "no_store", []
    copy = store.with_name("looked-at.db")
    for ending in ("", "-wal"):
        source = store.with_name(store.name + ending)
        copy.with_name(copy.name + ending).unlink(missing_ok=True)
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + ending))
    connection = sqlite3.connect(copy)
    try:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        status = connection.execute("SELECT status FROM grading").fetchall() if tables else []
        trials = (
            connection.execute("SELECT id, task, number FROM trial ORDER BY id").fetchall() if tables else []
        )
    finally:
        connection.close()
    return ("within" if ("running",) in status else "done") if status else "no_run", trials


def _table(folder: Path, store: str) -> Any:
    """What `show --json --full` prints, but for the name of the run."""
    with app.open_store(str(folder / store), must_exist=True) as opened:
        table = json.loads(app.json_report(app.load_run(opened, full=True)))
    return {name: value for name, value in table.items() if name not in ("run", "grading")}


def _grade(folder: Path, *more: str, store: str) -> str:
    done = subprocess.run(
        [sys.executable, __file__, "grade", "suite.json", "runs.jsonl", *more, "--store", store],
        cwd=folder, env=_environment(folder / "calls.txt"), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, (done.returncode, done.stderr)  # some checks fail, as they should
    return done.stderr


def _environment(log: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}
    return {**kept, CALLS: str(log)}


class _Noted:
    """A grader that notes that it was called."""

    def __init__(self, grader: Any, log: int) -> None:
        self._grader, self._log = grader, log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grader, name)

    def grade(self, spec: Any, given: Any) -> Any:
        os.write(self._log, f"{given.task.id}#{given.trace.trial}/{given.criterion.id}\n".encode())
        return self._grader.grade(spec, given)


def _steelyard(arguments: list[str]) -> None:
    from steelyard import checks
    from steelyard.cli import main

    log = os.open(os.environ[CALLS], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    real = checks.grader_for
    vars(checks)["grader_for"] = lambda *asked: _Noted(real(*asked), log)
    main(arguments)


def _many(folder: Path, moments: int) -> None:
    write_inputs(folder)
    start = time.monotonic()
    whole = uninterrupted(folder)
    length = time.monotonic() - start
    for _ in range(moments):
        at = random.uniform(0, length)
        sys.stdout.write(f"{at:.2f} s {kill_and_resume(folder, whole, seconds=at)}\n")


if __name__ == "__main__":
    if sys.argv[1] == "grade":
        _steelyard(sys.argv[1:])
    else:
        _many(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10)
