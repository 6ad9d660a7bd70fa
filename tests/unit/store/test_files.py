"""Stores that cannot be used: each is a sentence that says what to do next, and nothing in the file is lost."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.errors import StoreError, UsageError
from steelyard.store import connection, open_store, schema
from steelyard.store.connection import path_of
from stores import a_suite, a_trial, graded, now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with one finished grading."""
    place = tmp_path / "store.db"
    with open_store(place, now=now) as store:
        grading = store.begin(a_suite(), planned=1, options={})
        for number in range(200):
            store.put_trial(
                grading, a_trial(trial=number), [graded(trial=number, reason=f"{number} " + "long " * 50)[0]]
            )
        store.finish(grading)
    return place


def refusal(place: Path, **options: float) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(place, now=now, **options).close()
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_urls_and_paths() -> None:
    assert path_of("sqlite:///a/b.db") == Path("a/b.db")
    assert path_of("sqlite:////a/b.db") == Path("/a/b.db")
    assert path_of("SQLite:///C:/x/b.db") == Path("C:/x/b.db")
    assert path_of("a b/ü%20.db") == Path("a b/ü%20.db")
    assert path_of(Path("x.db")) == Path("x.db")


@pytest.mark.parametrize(
    "url",
    ["", "sqlite://", "sqlite:///", "sqlite://host/x", "mysql://x/y", "file://D:/x", ":memory:", "a\0b"],
)
def test_what_names_no_file_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="sqlite:///PATH"):
        path_of(url)


def test_postgresql_says_that_it_is_not_there_yet() -> None:
    with pytest.raises(UsageError, match="PostgreSQL are not there yet"):
        path_of("postgresql://host/db")


@pytest.mark.parametrize("content", [b"x", b"hello, this is a diary\n" * 100, b"SQLite format 2\0" * 40])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "store.db"
    place.write_bytes(content)
    assert "is not a Steelyard store" in refusal(place)
    assert place.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    for number, table in enumerate(["diary (day TEXT)", "migration (version INTEGER)"]):
        place = tmp_path / f"{number}.db"
        other = sqlite3.connect(place)
        other.execute(f"CREATE TABLE {table}")
        other.close()
        before = place.read_bytes()
        assert "is not a Steelyard store" in refusal(place)
        assert place.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    place.touch()
    with open_store(place, now=now) as store:
        assert store.runs() == []


def test_a_folder_or_a_file_as_folder_is_refused(tmp_path: Path, file: Path) -> None:
    assert "is a folder" in refusal(tmp_path)
    assert "check path and rights" in refusal(file / "inside.db")


def test_a_damaged_header_is_refused(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[16:100] = b"\xff" * 84
    file.write_bytes(content)
    message = refusal(file)
    assert "not a Steelyard store" in message or "damaged" in message
    assert file.read_bytes() == bytes(content)


def test_damaged_pages_are_reported_when_they_are_read(file: Path) -> None:
    content = bytearray(file.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    content[2 * page :] = b"\x55" * (len(content) - 2 * page)
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged .*store check.* --repair"):
        with open_store(file, now=now) as store:
            store.load("latest")
    assert file.read_bytes()[2 * page :] == bytes(content[2 * page :])


def test_a_cut_file_is_reported(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match="damaged"):
        with open_store(file, now=now) as store:
            store.load("latest")
    assert file.read_bytes() == content[: len(content) // 2]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE verdict SET score = 7",
        "UPDATE verdict SET score = NULL",
        "UPDATE verdict SET status = 9",
        "UPDATE verdict SET status = 'x'",
        "UPDATE payload SET body = '{'",
        "UPDATE payload SET body = '[]'",
        "UPDATE payload SET body = x'ff'",
        "UPDATE suite SET body = '{\"format\": 1}'",
        "UPDATE grading SET status = 'odd'",
        "UPDATE grading SET lost = 'null'",
        'UPDATE trial SET measurements = \'{"a": "b"}\'',
        "UPDATE trial SET number = 'x'",
        "UPDATE trial SET task = x'41'",
        "UPDATE trial SET trace = CAST(x'ff' AS TEXT)",
        "UPDATE verdict SET criterion = x'41'",
        "UPDATE verdict SET failure_tag = x'41'",
    ],
)
def test_content_that_makes_no_sense_is_damage(file: Path, change: str) -> None:
    other = sqlite3.connect(file)
    other.execute(change)
    other.commit()
    other.close()
    with open_store(file, now=now) as store:
        with pytest.raises(StoreError, match="is damaged"):
            store.load("latest")


def test_a_forged_finding_is_damage_not_a_score(file: Path) -> None:
    with open_store(file, now=now) as store:
        grading = store.begin(a_suite(), planned=1, options={})
        store.put_trial(grading, a_trial(), [graded()[0]], [b"key"], [graded()[1]])
        store.flush()
        for score in ('"3/2"', '"1/0"', '"nan"', "null", "1"):
            body = f'{{"status": "graded", "score": {score}}}'
            store._connection.execute(
                "UPDATE payload SET body = ? WHERE id = (SELECT payload_id FROM cache)", (body,)
            )
            with pytest.raises(StoreError, match="is damaged"):
                store.find(b"key")


def test_a_newer_store_is_refused_and_left_alone(file: Path) -> None:
    other = sqlite3.connect(file)
    other.execute("INSERT INTO migration VALUES ('0099_later', '2030-01-01')")
    other.commit()
    other.close()
    before = file.read_bytes()
    message = refusal(file)
    assert "written by a newer Steelyard (it has 0099_later)" in message and "pip install -U" in message
    assert file.read_bytes() == before


def test_a_store_that_may_not_be_written_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Rights do not stop the superuser, so SQLite itself is asked to refuse every write.
    with open_store(file, now=now) as store:
        store._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match=r"cannot be opened for writing .*--no-store"):
            store.begin(a_suite(), planned=1, options={})
        assert len(store.runs()) == 1


def test_a_lock_that_does_not_end_is_reported_and_nothing_is_lost(file: Path) -> None:
    with open_store(file, now=now, busy_seconds=0.05) as store:
        grading = store.begin(a_suite(), planned=1, options={})
        store.put_trial(grading, a_trial(), [graded()[0]])
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"is locked: another program .* more than 0.05 s"):
            store.flush()
        assert len(store.load("2026-11-30-1").rows) == 400  # reading goes on
        other.execute("ROLLBACK")
        other.close()
        store.flush()
        assert store.committed(grading) == {("a", 1)}


def test_a_full_disk_is_reported_and_what_was_committed_stays(file: Path) -> None:
    with open_store(file, now=now) as store:
        grading = store.begin(a_suite(), planned=1, options={})
        store.put_trial(grading, a_trial("b", 1), [graded("b")[0]])
        store.flush()
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        for number in range(300):
            store.put_trial(
                grading, a_trial(trial=number), [graded(trial=number, reason=f"{number} " + "x" * 2000)[0]]
            )
        with pytest.raises(StoreError, match="disk of the store .* is full; free some space .*--resume"):
            store.flush()
        assert store.committed(grading) == {("b", 1)}
        store._connection.execute(f"PRAGMA max_page_count = {pages * 100}")
    with open_store(file, now=now) as store:  # closing tried again, now with space
        assert len(store.committed(grading)) == 301


def fill(file: Path, error: Exception | None = None) -> None:
    """Put more than the disk takes, and leave the store."""
    with open_store(file, now=now) as store:
        grading = store.begin(a_suite(), planned=1, options={})
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        for number in range(300):
            verdict = graded(trial=number, reason=f"{number} " + "x" * 2000)[0]
            store.put_trial(grading, a_trial(trial=number), [verdict])
        if error is not None:
            raise error


def test_closing_over_a_full_disk_raises_and_keeps_the_first_error(file: Path) -> None:
    with pytest.raises(StoreError, match="is full"):
        fill(file)
    with pytest.raises(KeyError) as caught:
        fill(file, KeyError("the first"))
    assert any("could not be kept" in note and "is full" in note for note in caught.value.__notes__)


def test_what_was_put_before_an_error_is_kept(file: Path) -> None:
    store = open_store(file, now=now)
    grading = store.begin(a_suite(), planned=2, options={})
    store.put_trial(grading, a_trial(), [graded()[0]])
    with pytest.raises(RuntimeError, match="grading fell over"), store:
        raise RuntimeError("grading fell over")
    with open_store(file, now=now) as store:
        assert store.committed(grading) == {("a", 1)}


def old_store(place: Path) -> None:
    """A store as the first version wrote it."""
    old = sqlite3.connect(place, isolation_level=None)
    old.execute(schema.NEW)
    name, statements = schema.MIGRATIONS[0]
    for statement in statements:
        old.execute(statement.format(**schema.SQLITE))
    old.execute(schema.ADD_MIGRATION, (name, "2026-01-01"))
    from steelyard.store.suites import encode_suite

    body = encode_suite(a_suite()).decode()
    digest = hashlib.sha256(body.encode()).digest()
    old.execute(schema.ADD_SUITE, (digest, "f" * 64, "capitals", "1.0", body))
    old.execute(schema.ADD_GRADING, ("2026-01-01-1", digest, "2026-01-01", "done", 1, "{}", "[]", "[]"))
    old.execute(schema.ADD_TRIAL, (1, 1, "a", 1, "agent_stop", "{}", None))
    old.execute(schema.ADD_PAYLOAD, (1, b"h", '{"reason":"old"}'))
    old.execute(schema.ADD_VERDICT, (1, "C1", 0, 1.0, None, 1))
    old.close()


def test_an_old_store_is_migrated_and_its_runs_read(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    old_store(place)
    with open_store(place, now=now) as store:
        run = store.load("latest")
        assert [row.reason for row in run.rows if not hasattr(row, "ended_by")] == ["old"]
        assert run.suite == a_suite() and run.primary is None
        assert [(entry.name, entry.trials, entry.value) for entry in store.runs()] == [
            ("2026-01-01-1", 1, None)
        ]
        assert store._connection.execute("SELECT * FROM migration ORDER BY name").fetchall() == [
            ("0001_gradings", "2026-01-01"),
            ("0002_headlines", now()),
        ]


@pytest.mark.parametrize("broken", [0, 2, 4])
def test_a_migration_that_fails_leaves_the_old_store_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    place = tmp_path / "store.db"
    old_store(place)
    first, (name, statements) = schema.MIGRATIONS
    spoiled = [*statements[:broken], "ALTER TABLE absent ADD COLUMN x TEXT", *statements[broken:]]
    with monkeypatch.context() as patch:
        patch.setattr(connection, "MIGRATIONS", (first, (name, tuple(spoiled))))
        assert "no such table: absent" in refusal(place)
    old = sqlite3.connect(place)
    assert old.execute("SELECT name FROM migration").fetchall() == [("0001_gradings",)]
    columns = [row[1] for row in old.execute("PRAGMA table_info(grading)")]
    assert "headline" not in columns and old.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    old.close()
    with open_store(place, now=now) as store:  # and it can still be migrated
        assert store.load("latest").status == "done"


def test_a_store_whose_making_fails_is_made_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "store.db"

    def no_clock() -> str:
        raise RuntimeError("the clock stands still")

    with pytest.raises(RuntimeError):
        open_store(place, now=no_clock)
    with open_store(place, now=now) as store:
        assert store.runs() == []


WRITER = """
import sys
from steelyard.store import open_store
from stores import a_suite, a_trial, graded
place, who, count, flush = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open_store(place, now=lambda: "2026-11-30T10:00:00Z") as store:
    grading = store.begin(a_suite(), planned=count, options={"who": who})
    for number in range(count):
        pairs = [graded(trial=number, criterion=c, reason=f"{number % 50}") for c in ("C1", "C2", "C3")]
        keys = [f"{number}{c}".encode() for c in "123"]
        store.put_trial(grading, a_trial(trial=number), [v for v, _ in pairs], keys, [p for _, p in pairs])
        if number % flush == 0:
            store.flush()
            print(number, flush=True)
    store.finish(grading)
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts another process that grades into a store."""
    here = Path(__file__).resolve().parents[2]

    def begin(place: Path, who: str, count: int, flush: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", WRITER, str(place), who, str(count), str(flush)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"PYTHONPATH": f"{here}:{here.parent / 'src'}", "PATH": ""},
        )  # fmt: skip

    return begin


def test_two_processes_grade_into_one_new_store(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    place = tmp_path / "store.db"
    both = [start(place, who, 200, 7) for who in ("one", "two")]
    ends = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert not any("locked" in errors for _, errors in ends)
    with open_store(place, now=now) as store:
        runs = store.runs()
        assert sorted(run.name for run in runs) == ["2026-11-30-1", "2026-11-30-2"]
        assert [(run.status, run.trials) for run in runs] == [("done", 200)] * 2
        for run in runs:
            rows = store.load(run.name).rows
            assert len(rows) == 800 and len(set(map(repr, rows))) == 800
        assert len(store.find_many([f"{n}{c}".encode() for n in range(200) for c in "123"])) == 600
        (payloads,) = store._connection.execute("SELECT count(*) FROM payload").fetchone()
        assert payloads == 50  # equal content is one row


def test_a_killed_process_loses_no_committed_trial_and_leaves_none_half(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    place = tmp_path / "store.db"
    process = start(place, "one", 10_000_000, 3)
    assert process.stdout is not None
    said = -1
    for line in process.stdout:
        said = int(line)
        if said >= 60:
            break
    process.kill()
    process.communicate(timeout=60)
    with open_store(place, now=now) as store:
        grading = store.unfinished("f" * 64, {"who": "one"})
        assert grading is not None
        trials = store.committed(grading)
        assert {("a", number) for number in range(said + 1)} <= trials
        rows = store.load(grading.name).rows
        assert len(rows) == 4 * len(trials)  # every trial has its three verdicts
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        store.put_trial(grading, a_trial("b"), [graded("b")[0]])
        store.finish(grading)
        assert store.load(grading.name).status == "done"
