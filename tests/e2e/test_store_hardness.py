"""Q27. A store that survives: killed gradings, damaged files, full disks, clocks that jump, many at once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kill_runs
from steelyard import app
from steelyard.app import keeping, maintenance
from steelyard.cli.main import cli

Process = subprocess.CompletedProcess[str]
Command = Callable[..., Process]
GRADE = ("grade", "suite.json", "runs.jsonl")
TRIALS = 12


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}


def write(folder: Path, trials: int = TRIALS, *, check: dict[str, Any] | None = None) -> Path:
    """A suite of one task, and recordings of which every third fails."""
    criterion = {
        "id": "C1", "dimension": "correctness", "rule": "It MUST be done.",
        "check": check or {"kind": "contains", "any": ["done"]},
    }  # fmt: skip
    task = {"id": "t", "prompt": "Do it.", "trials": trials, "criteria": [criterion]}
    suite = {"schema": "suite/1", "name": "hard", "owner": "jo@example.com", "tasks": [task]}
    (folder / "suite.json").write_text(json.dumps(suite))
    recorded = [
        {
            "task_id": "t", "trial": number,
            "messages": [
                {"role": "user", "content": f"Do it, {number}."},
                {"role": "assistant", "content": f"{number} is done" if number % 3 else f"no {number}"},
            ],
        }
        for number in range(1, trials + 1)
    ]  # fmt: skip
    (folder / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in recorded))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.fixture
def steelyard_(folder: Path) -> Command:
    def run(*arguments: str, **settings: str) -> Process:
        return subprocess.run(  # noqa: PLW1510 the exit code is what is asked for
            [sys.executable, "-m", "steelyard", *arguments],
            cwd=folder, capture_output=True, text=True, timeout=120, env={**clean(), **settings},
        )  # fmt: skip

    return run


def table(text: str) -> Any:
    return {name: value for name, value in json.loads(text).items() if name not in ("run", "grading")}


# --- kill -9


@pytest.fixture(scope="module")
def killing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    place = tmp_path_factory.mktemp("killed")
    kill_runs.write_inputs(place)
    return place, kill_runs.uninterrupted(place)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.parametrize(
    ("fraction", "stages"),
    [(0.0, {"no_store"}), (0.25, {"within"}), (0.6, {"within"}), (0.95, {"within"})],
    ids=["before the store is there", "early", "in the middle", "late"],
)
def test_a_killed_run_of_5000_trials_ends_as_if_nobody_had_killed_it(
    killing: tuple[Path, Any], fraction: float, stages: set[str]
) -> None:
    found = kill_runs.kill_and_resume(*killing, at_fraction=fraction)
    assert found.stage in stages, found
    assert found.equal, "every row of the verdict table"
    assert found.again == frozenset(), "no committed check is run twice"
    assert (found.double, found.ids_kept, found.runs, found.check) == (0, True, 1, "clean")
    total = kill_runs.TASKS * kill_runs.EACH * len(kill_runs.CHECKS)
    assert found.called_after == total - found.committed
    if fraction:
        assert found.log_bytes > 0, "the log is hot"
        assert found.called_before >= fraction * total
        assert found.committed > 0 or fraction < 0.5, "a quarter of a quick run may fit into its first batch"
        assert not found.committed or f"{found.committed} verdicts used again" in found.said
    else:
        assert found.committed == 0
    if fraction > 0.5:
        assert found.committed > total * fraction / 4, "commits keep up"


# --- two at once


WAITING = """\
import os, time

def check(answer):
    while not os.path.exists({go!r}):
        time.sleep(0.02)
    return "done" in answer
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_a_live_grading_is_not_resumed_and_a_killed_one_is(folder: Path, steelyard_: Command) -> None:
    write(folder, 4, check={"kind": "python", "file": "wait.py"})
    go = folder / "go"
    (folder / "wait.py").write_text(WAITING.format(go=str(go)))
    command = [sys.executable, "-m", "steelyard", *GRADE, "--trust-graders", "-q"]
    process = subprocess.Popen(
        command, cwd=folder, env=clean(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    lease = folder / ".steelyard" / "store.db-live-1"
    try:
        until = time.monotonic() + 60
        while not lease.exists() and time.monotonic() < until:
            time.sleep(0.01)
        refused = steelyard_(*GRADE, "--trust-graders", "--resume")
        assert refused.returncode == 2
        assert f"is being graded by process {process.pid} right now" in refused.stderr
        assert refused.stdout == ""
        vacuum = steelyard_("store", "vacuum")
        assert vacuum.returncode == 2
        assert "cannot be vacuumed while a run is being graded" in vacuum.stderr
        checked = json.loads(steelyard_("store", "check", "--json").stdout)
        assert (checked["state"], len(checked["live"]), checked["unfinished"]) == ("clean", 1, [])
        assert process.poll() is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert lease.exists(), "nobody could remove it"
    go.touch()
    checked = json.loads(steelyard_("store", "check", "--json").stdout)
    assert (checked["live"], len(checked["unfinished"])) == ([], 1)
    resumed = steelyard_(*GRADE, "--trust-graders", "--resume", "--json")
    assert resumed.returncode == 1, resumed.stderr
    assert len(json.loads(steelyard_("runs", "--json").stdout)["runs"]) == 1
    assert [path.name for path in lease.parent.iterdir()] == ["store.db"]


@pytest.mark.slow
def test_eight_processes_grade_into_one_store(folder: Path, steelyard_: Command) -> None:
    write(folder, 150)
    command = [sys.executable, "-m", "steelyard", *GRADE]
    several = [
        subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean()
        )
        for _ in range(8)
    ]
    said = [process.communicate(timeout=200) for process in several]
    assert [process.returncode for process in several] == [1] * 8, said
    assert not any("locked" in errors for _, errors in said)
    assert len({out for out, _ in said}) == 1
    found = json.loads(steelyard_("store", "check", "--json").stdout)
    assert found["state"] == "clean"
    assert (found["rows"]["grading"], found["rows"]["trial"], found["rows"]["verdict"]) == (8, 1200, 1200)
    assert found["rows"]["cache"] == 150, "each finding is kept once"
    listed = json.loads(steelyard_("runs", "--json").stdout)["runs"]
    assert {(run["status"], run["trials"]) for run in listed} == {("done", 150)}
    assert len({run["name"] for run in listed}) == 8


# --- damage, by the command


def test_a_damaged_store_is_named_repaired_and_resumed(folder: Path, steelyard_: Command) -> None:
    write(folder, 400)
    whole = steelyard_(*GRADE, "--json", "--full")
    store = folder / ".steelyard" / "store.db"
    body = bytearray(store.read_bytes())
    pages = range(4096, len(body), 4096)
    most = max(pages, key=lambda at: body[at : at + 4096].count(b"C1") * (body[at] == 13))
    body[most : most + 4096] = b"\xff" * 4096  # a page of verdicts
    store.write_bytes(body)
    refused = steelyard_("show")
    assert refused.returncode == 2
    assert "is damaged" in refused.stderr
    assert "steelyard store check" in refused.stderr
    assert "disk I/O" not in refused.stderr
    checked = steelyard_("store", "check")
    assert checked.returncode == 2
    assert "damaged_page" in checked.stdout
    assert "store check --repair" in checked.stdout
    repaired = steelyard_("store", "check", "--repair")
    assert repaired.returncode == 2, "what could not be saved is no success"
    assert f"set aside as it was: {Path('.steelyard/store.db.damaged-1')}" in repaired.stdout
    assert "saved: 1 run with" in repaired.stdout
    assert "of which something is missing" in repaired.stdout
    assert "--resume" in repaired.stdout
    shown = json.loads(steelyard_("show", "--json").stdout)
    assert shown["decision"] == "INCOMPLETE" or shown["exit_code"] == 1
    assert "unfinished_run" in {notice["code"] for notice in shown["notices"]}
    resumed = steelyard_(*GRADE, "--resume", "--json", "--full")
    assert table(resumed.stdout) == table(whole.stdout)
    assert len(json.loads(steelyard_("runs", "--json").stdout)["runs"]) == 1
    assert steelyard_("store", "check").returncode == 0


def test_an_empty_file_is_a_new_store(folder: Path, steelyard_: Command) -> None:
    (folder / ".steelyard").mkdir()
    (folder / ".steelyard" / "store.db").touch()
    assert "holds no run yet" in steelyard_("show").stderr
    assert steelyard_(*GRADE, "-q").returncode == 1
    assert steelyard_("store", "check").returncode == 0


# --- disks


@pytest.fixture
def small_disk() -> Generator[Path, None, None]:
    """A disk of 600 KB; skips where this user may not make one."""
    with tempfile.TemporaryDirectory() as place:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", place], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip("no rights to mount a small disk")
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", "-l", place], check=True)


def may_mount() -> bool:
    return os.name == "posix" and os.getuid() == 0 and shutil.which("mount") is not None


@pytest.mark.slow
@pytest.mark.skipif(not may_mount() and not os.environ.get("CI"), reason="only root can mount a small disk")
def test_a_disk_that_fills_on_the_way(folder: Path, steelyard_: Command, small_disk: Path) -> None:
    write(folder, 3000)
    place = small_disk / "store.db"
    graded = steelyard_(*GRADE, "--store", str(place), "--out", "rows.jsonl")
    assert graded.returncode == 2
    assert (
        f"the disk of the store {place} is full; free some space and run again with --resume" in graded.stderr
    )
    assert "66.7 %" in graded.stdout, "the result is printed all the same"
    assert "not_kept" in graded.stdout
    assert len((folder / "rows.jsonl").read_text().splitlines()) == 1 + 2 * 3000
    shown = steelyard_("show", "--json", "--store", str(place))
    assert shown.returncode == 0, shown.stderr
    before = json.loads(steelyard_("runs", "--json", "--store", str(place)).stdout)["runs"][0]
    assert before["status"] == "running"

    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    resumed = steelyard_(*GRADE, "--store", str(place), "--resume", "--json", "--full")
    assert resumed.returncode == 1, resumed.stderr
    again = steelyard_(*GRADE, "--no-store", "--json", "--full")
    assert table(resumed.stdout) == table(again.stdout)
    after = json.loads(steelyard_("runs", "--json", "--store", str(place)).stdout)["runs"]
    assert [(run["name"], run["status"], run["trials"]) for run in after] == [(before["name"], "done", 3000)]


@pytest.mark.slow
@pytest.mark.skipif(not may_mount() and not os.environ.get("CI"), reason="only root can mount a small disk")
def test_a_disk_that_is_full_at_opening_says_so_and_is_still_read(
    folder: Path, steelyard_: Command, small_disk: Path
) -> None:
    place = small_disk / "store.db"
    assert steelyard_(*GRADE, "--store", str(place), "-q").returncode == 1
    before = steelyard_("show", "--json", "--store", str(place)).stdout
    with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
    for name in (place, small_disk / "new.db"):
        refused = steelyard_(*GRADE, "--store", str(name))
        assert refused.returncode == 2
        assert "is full; free some space" in refused.stderr, refused.stderr
        assert "I/O error" not in refused.stderr
    shown = steelyard_("show", "--json", "--store", str(place))
    assert (shown.returncode, shown.stdout) == (0, before), shown.stderr


AS_ANOTHER_USER = """\
import contextlib, io, json, os, sys
import glob, shutil, tempfile
from steelyard.cli import main

COMMANDS = (
    "show --json", "runs", "whatif latest --set t/C1=1", "show --csv -", "store check", "grade suite.json runs.jsonl",
)

def run(words, store):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([*words.split(), "--store", store])
        except SystemExit as done:
            code = done.code
        out.flush(), err.flush()
    return [code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()]

for words in reversed(COMMANDS):  # as ourselves: this loads what another may not read
    run(words, "own.db")
if os.getuid() == 0:
    os.setuid(65534)
print(json.dumps([run(words, sys.argv[1]) for words in COMMANDS]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("hot", [False, True], ids=["closed", "with a log"])
def test_a_read_only_store_is_shown_and_not_written(folder: Path, hot: bool) -> None:
    (folder / "another.py").write_text(AS_ANOTHER_USER)
    folder.chmod(0o755)
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary).chmod(0o755)
        closed = Path(temporary) / "closed"
        place = closed / "store.db"
        grade_into(place, folder)
        if hot:
            with_log(place)
        for file in closed.iterdir():
            file.chmod(0o444)
        closed.chmod(0o555)
        before = {path.name: path.read_bytes() for path in closed.iterdir()}
        try:
            done = subprocess.run(
                [sys.executable, "another.py", str(place)],
                cwd=folder, capture_output=True, text=True, timeout=120, env=clean(), check=True,
            )  # fmt: skip
            assert {path.name: path.read_bytes() for path in closed.iterdir()} == before
        finally:
            closed.chmod(0o755)
    shown, listed, changed, rows, checked, graded = json.loads(done.stdout)
    assert [code for code, _, _ in (shown, listed, changed, rows, checked)] == [0] * 5, done.stdout
    assert json.loads(shown[1])["states"]["graded"] == TRIALS
    assert ("2 runs" in listed[1]) is hot, "what stands in the log alone is read too"
    assert len(rows[1].splitlines()) == TRIALS + 1
    assert graded[:2] == [2, ""]
    assert "give this user the right to write" in graded[2]
    assert "--no-store" in graded[2]


def grade_into(place: Path, folder: Path) -> None:
    with app.open_store(str(place)) as store:
        keep = app.Keep(store=store)
        app.grade(app.load_suite(folder / "suite.json"), app.read_traces(folder / "runs.jsonl"), keep=keep)


def with_log(place: Path) -> None:
    """Let the store stand as a killed process leaves it, with a second run in its log alone."""
    copy = place.with_name("copy.db")
    with app.open_store(str(place)) as store:
        held = store.load("latest")
        store.restore(held, origin="another")
        shutil.copyfile(place, copy)
        shutil.copyfile(f"{place}-wal", f"{copy}-wal")
    os.replace(copy, place)
    os.replace(f"{copy}-wal", f"{place}-wal")


# --- clocks


def test_a_clock_that_jumps_changes_no_name_no_order_and_no_resume(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    times = [
        "2026-03-02T00:10:00+00:00", "2026-03-01T00:09:00+00:00", "1970-01-01T00:00:00+00:00",
        "1970-01-01T00:00:00+00:00", "2026-03-02T00:10:00+00:00", "9999-12-31T23:59:59+00:00",
    ]  # fmt: skip
    names = []
    for now in times:
        monkeypatch.setattr(keeping, "_now", lambda now=now: now)
        monkeypatch.setattr(maintenance, "_now", lambda now=now: now)
        assert command(*GRADE, "-q") == 1
        with app.open_store(must_exist=True) as store:
            runs = app.list_runs(store)
            assert [run.name for run in runs][:-1] == names, "the order is that of beginning"
            names.append(runs[-1].name)
            assert app.load_run(store).name == names[-1], "the latest is the last one that began"
    assert names == [
        "2026-03-02-1",
        "2026-03-01-1",
        "1970-01-01-1",
        "1970-01-01-2",
        "2026-03-02-2",
        "9999-12-31-1",
    ]
    break_off(folder / ".steelyard" / "store.db", "1970-01-01-2")
    monkeypatch.setattr(keeping, "_now", lambda: "1969-12-31T23:59:59+00:00")
    assert command(*GRADE, "--resume", "-q") == 1
    with app.open_store(must_exist=True) as store:
        assert [(run.name, run.status) for run in app.list_runs(store)] == [(name, "done") for name in names]
        assert (
            len({app.json_report(app.load_run(store, name)).replace(name.encode(), b"") for name in names})
            == 1
        )


def break_off(store: Path, name: str) -> None:
    """As if the process had been killed after 5 trials."""
    connection = sqlite3.connect(store)
    with connection:
        connection.execute(
            "UPDATE grading SET status = 'running', headline = NULL, decision = NULL WHERE name = ?", (name,)
        )
        which = (
            "(SELECT id FROM trial WHERE number > 5 AND grading_id = (SELECT id FROM grading WHERE name = ?))"
        )
        connection.execute(f"DELETE FROM verdict WHERE trial_id IN {which}", (name,))
        connection.execute(f"DELETE FROM trial WHERE id IN {which}", (name,))
    connection.close()


def command(*arguments: str) -> int:
    return int(cli.main(args=list(arguments), prog_name="steelyard", standalone_mode=False) or 0)


# --- verdicts in a spreadsheet


def test_verdicts_as_csv_and_back(folder: Path, steelyard_: Command) -> None:
    graded = steelyard_(*GRADE, "--json")
    printed = steelyard_("show", "--csv", "-")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("task,trial,criterion,")
    assert len(printed.stdout.splitlines()) == TRIALS + 1
    board = steelyard_("show", "--csv", "verdicts.csv")
    assert "completion" in board.stdout, "the scoreboard is shown as ever"
    held = (folder / "verdicts.csv").read_bytes()
    assert held.decode("utf-8-sig").replace("\r\n", "\n") == printed.stdout
    scored = steelyard_("score", "suite.json", "verdicts.csv", "--json")
    assert scored.returncode == 1
    again, before = json.loads(scored.stdout), json.loads(graded.stdout)
    for name in ("completion", "dimensions", "pass_rate", "decision", "states"):
        assert again[name] == before[name]
    both = steelyard_("show", "--csv", "-", "--json")
    assert both.returncode == 2
    assert "leave --json out" in both.stderr
    twice = steelyard_("show", "--csv", "x", "--junit", "x")
    assert twice.returncode == 2
    assert "a place of its own" in twice.stderr
    nowhere = steelyard_("show", "--csv", "absent/x.csv")
    assert nowhere.returncode == 2
    assert "cannot write absent/x.csv" in nowhere.stderr
