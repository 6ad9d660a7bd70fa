"""A damaged store is named, set aside as it was, and what is whole in it goes on."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.errors import StoreError, UsageError
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.ports.store import StoredRun
from steelyard.store import SqliteStore, check_store, open_store, vacuum_store
from steelyard.store.logfile import log_of
from stores import a_suite, a_trial, graded, now

TRIALS = 60
SUITE = a_suite()
CRITERIA = [criterion.id for criterion in SUITE.tasks[0].criteria]


def put(store: SqliteStore, count: int = TRIALS, *, finish: bool = True, reason: str = "") -> str:
    """A grading whose trials have a verdict for every criterion, some of them by a fault none."""
    grading = store.begin(SUITE, planned=count, options={"n": count})
    for number in range(count):
        if number % 20 == 19:
            store.put_trial(grading, a_trial(trial=number, ended_by="infrastructure_fault"), [])
            continue
        pairs = [
            graded(trial=number, criterion=name, reason=f"{reason}{number} " + "long " * (number % 50) * 10)
            for name in CRITERIA
        ]
        keys = [f"{grading.name}{number}{name}".encode() for name in CRITERIA]
        store.put_trial(
            grading, a_trial(trial=number), [verdict for verdict, _ in pairs], keys, [own for _, own in pairs]
        )
    if finish:
        store.finish(grading)
    return grading.name


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two finished gradings and one that was broken off."""
    file = tmp_path / "store.db"
    with open_store(file, now=now) as store:
        put(store)
        put(store, 10, reason="second ")
        put(store, 5, finish=False, reason="third ")
    return file


def hot(place: Path) -> None:
    """The store as a killed process leaves it: what it committed stands in the log alone."""
    copy = place.with_name("copy.db")
    with open_store(place, now=now) as store:
        put(store, 8, reason="in the log ")
        shutil.copyfile(place, copy)
        shutil.copyfile(log_of(place), log_of(copy))
    os.replace(copy, place)
    os.replace(log_of(copy), log_of(place))


def runs(place: Path) -> dict[str, StoredRun]:
    with open_store(place, now=now) as store:
        return {entry.name: store.load(entry.name) for entry in store.runs()}


Group = dict[int, list[Verdict | TrialRow]]


def trials(run: StoredRun) -> Group:
    found: Group = {}
    for row in run.rows:
        found.setdefault(row.trial, []).append(row)
    return found


def test_a_sound_store_is_clean_and_left_alone_by_a_repair(place: Path) -> None:
    before = place.read_bytes()
    found = check_store(place, now=now, repair=True)
    assert (found.state, found.problems, found.set_aside, found.saved) == ("clean", (), (), None)
    assert found.rows["grading"] == 3 and found.rows["trial"] == 75 and found.unused == 0
    assert found.unfinished == ("2026-11-30-3",) and found.live == ()
    assert place.read_bytes() == before
    assert [path.name for path in place.parent.iterdir()] == ["store.db"]


def test_a_store_behind_a_link_is_the_store_that_it_leads_to(place: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(place)
    kept = list(runs(place))
    destroyed_header(place)
    found = check_store(link, repair=True, now=now)
    assert found.saved is not None
    assert link.is_symlink()
    assert list(runs(place)) == kept
    assert list(runs(link)) == kept


def test_a_log_that_is_still_to_be_read_is_no_damage(place: Path) -> None:
    hot(place)
    before = place.read_bytes(), log_of(place).read_bytes()
    found = check_store(place, now=now)
    assert found.state == "clean" and found.log_commits >= 3 and found.rows["grading"] == 4
    assert (place.read_bytes(), log_of(place).read_bytes()) == before, "a check changes nothing"


def test_a_cut_log_loses_its_unfinished_write_and_nothing_else(place: Path) -> None:
    hot(place)
    body = log_of(place).read_bytes()
    for cut in range(len(body) - 1, 0, -3001):
        copy = place.with_name(f"cut-{cut}.db")
        shutil.copyfile(place, copy)
        log_of(copy).write_bytes(body[:cut])
        if cut < 32:
            continue
        found = check_store(copy, now=now)
        assert found.state == "clean", found.problems
        kept = runs(copy)
        assert list(kept)[:3] == ["2026-11-30-1", "2026-11-30-2", "2026-11-30-3"]
        for run in kept.values():
            assert all(len(rows) in (1, 5) for rows in trials(run).values()), "trials are whole or not there"


# --- damage of every kind


def cut_in_a_page(place: Path) -> None:
    body = place.read_bytes()
    place.write_bytes(body[: len(body) * 2 // 3 // 4096 * 4096 + 1000])


def destroyed_header(place: Path) -> None:
    body = bytearray(place.read_bytes())
    body[:100] = bytes(100)
    place.write_bytes(body)


def destroyed_half_of_the_header(place: Path) -> None:
    body = bytearray(place.read_bytes())
    body[16:100] = b"\xff" * 84
    place.write_bytes(body)


def destroyed_first_page(place: Path) -> None:
    body = bytearray(place.read_bytes())
    body[100:4096] = bytes(3996)
    place.write_bytes(body)


def noise_in_a_page(place: Path) -> None:
    body = bytearray(place.read_bytes())
    at = len(body) // 2 // 4096 * 4096
    body[at : at + 4096] = random.Random(3).randbytes(4096)
    place.write_bytes(body)


def changed_letter(place: Path) -> None:
    body = bytearray(place.read_bytes())
    at = body.index(b"second 3 long")
    body[at : at + 6] = b"SECOND"
    place.write_bytes(body)


DAMAGE = [
    cut_in_a_page, destroyed_header, destroyed_half_of_the_header, destroyed_first_page, noise_in_a_page,
    changed_letter,
]  # fmt: skip


@pytest.mark.parametrize("with_log", [False, True], ids=["closed", "hot"])
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: str(damage.__name__))
def test_damage_is_named_and_what_is_whole_is_saved(
    place: Path, damage: Callable[[Path], None], with_log: bool
) -> None:
    if with_log:
        hot(place)
    sound_copy = place.with_name("sound.db")
    shutil.copyfile(place, sound_copy)
    if with_log:
        shutil.copyfile(log_of(place), log_of(sound_copy))
    sound = runs(sound_copy)
    damage(place)
    before = place.read_bytes()
    found = check_store(place, now=now)
    assert found.state == "damaged" and found.problems
    assert place.read_bytes() == before, "a check changes nothing"
    assert not list(place.parent.glob("*damaged*"))

    repaired = check_store(place, now=now, repair=True)
    assert (repaired.state, repaired.problems) == ("clean", ())
    assert Path(repaired.set_aside[0]).read_bytes() == before
    assert repaired.saved is not None and repaired.rows["cache"] == 0
    assert len(list(place.parent.glob("store.db.damaged-1*"))) == 1 + with_log
    assert not list(place.parent.glob("*rescued*"))
    saved = runs(place)
    assert set(saved) <= set(sound) and saved
    for name, run in saved.items():
        everything, kept = trials(sound[name]), trials(run)
        assert all(everything[number] == rows for number, rows in kept.items()), "whole trials, as they were"
        assert run.suite == sound[name].suite
        complete = len(kept) == len(everything)
        assert run.status == ("done" if complete and sound[name].status == "done" else "running")
        assert complete is (run.rows == sound[name].rows)
    assert set(repaired.saved.whole) | set(repaired.saved.broken_off) == set(saved)
    assert repaired.saved.trials == sum(len(trials(run)) for run in saved.values())
    if damage in (destroyed_header, destroyed_half_of_the_header, destroyed_first_page):
        assert saved == sound, "nothing but the header was lost"
    with open_store(place, now=now) as store:  # and it goes on
        assert put(store, 3) not in sound


def test_repairing_twice_takes_another_name(place: Path) -> None:
    for number in (1, 2):
        destroyed_header(place)
        repaired = check_store(place, now=now, repair=True)
        assert repaired.set_aside == (f"{place}.damaged-{number}",)
    assert len(runs(place)) == 3


def test_a_log_without_a_header_is_set_aside_and_the_file_behind_it_goes_on(place: Path) -> None:
    sound = runs(place)
    log_of(place).write_bytes(random.Random(5).randbytes(50_000))
    with pytest.raises(StoreError, match=r"damaged \(its log store.db-wal has no header.*--repair"):
        open_store(place, now=now)
    found = check_store(place, now=now)
    assert [problem.code for problem in found.problems] == ["broken_log"]
    repaired = check_store(place, now=now, repair=True)
    assert repaired.state == "clean" and repaired.saved is None
    assert repaired.set_aside == (f"{place}.damaged-1-wal",)
    assert runs(place) == sound


def test_noise_behind_the_commits_of_a_log_costs_no_commit(place: Path) -> None:
    hot(place)
    copy = place.with_name("sound.db")
    shutil.copyfile(place, copy)
    shutil.copyfile(log_of(place), log_of(copy))
    sound = runs(copy)
    with log_of(place).open("ab") as file:
        file.write(random.Random(6).randbytes(20_000))
    found = check_store(place, now=now)
    assert [problem.code for problem in found.problems] == ["broken_log"]
    repaired = check_store(place, now=now, repair=True)
    assert repaired.state == "clean" and repaired.saved is None
    assert runs(place) == sound


def test_the_log_of_another_store_is_not_written_into_this_one(place: Path, tmp_path: Path) -> None:
    sound = runs(place)
    other = tmp_path / "other" / "store.db"
    with open_store(other, now=now) as store:
        put(store, 30, reason="other ")
        shutil.copyfile(log_of(other), log_of(place))
    with pytest.raises(StoreError, match=r"the log store.db-wal is that of another store"):
        open_store(place, now=now)
    found = check_store(place, now=now)
    assert [problem.code for problem in found.problems] == ["foreign_log"]
    repaired = check_store(place, now=now, repair=True)
    assert repaired.state == "clean" and repaired.saved is None
    assert runs(place) == sound


def test_an_empty_file_with_a_log_is_made_whole_out_of_it(place: Path) -> None:
    with open_store(place.with_name("new.db"), now=now) as store:
        put(store, 30, reason="all in the log ")
        new = place.with_name("emptied.db")
        new.touch()
        shutil.copyfile(log_of(store.path), log_of(new))
    with pytest.raises(StoreError, match="the file is empty, and its log emptied.db-wal is not"):
        open_store(new, now=now)
    repaired = check_store(new, now=now, repair=True)
    assert repaired.state == "clean" and repaired.saved is not None
    assert runs(new) == runs(place.with_name("new.db"))


def test_a_file_of_another_program_is_no_store_and_not_repaired(tmp_path: Path) -> None:
    diary = tmp_path / "diary.txt"
    diary.write_bytes(b"dear diary\n" * 2000)
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE diary (day TEXT)")
    connection.close()
    for file in (diary, other):
        before = file.read_bytes()
        with pytest.raises(StoreError, match="is not a Steelyard store"):
            check_store(file, now=now, repair=True)
        assert file.read_bytes() == before
    with pytest.raises(UsageError, match="there is no store at"):
        check_store(tmp_path / "none.db", now=now)


def test_a_store_of_a_newer_version_is_neither_damaged_nor_repaired(place: Path) -> None:
    connection = sqlite3.connect(place)
    connection.execute("INSERT INTO migration VALUES ('0099_later', '2030-01-01')")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="written by a newer Steelyard"):
        check_store(place, now=now, repair=True)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("UPDATE payload SET body = '{}' WHERE id = 4", "unreadable_payload"),
        ("UPDATE verdict SET payload_id = 10000 WHERE id = 4", "orphan"),
        ("DELETE FROM suite", "orphan"),
        ("UPDATE verdict SET score = 7 WHERE id = 4", "unreadable_run"),
        ("DROP INDEX trial_grading", None),
    ],
)
def test_content_that_makes_no_sense_is_found(place: Path, change: str, code: str | None) -> None:
    connection = sqlite3.connect(place)
    connection.execute(change)
    connection.commit()
    connection.close()
    found = check_store(place, now=now)
    codes = {problem.code for problem in found.problems}
    assert code in codes if code else not codes
    if code:
        repaired = check_store(place, now=now, repair=True)
        assert repaired.state == "clean"
        assert repaired.saved is not None
        assert len(runs(place)) == (0 if "suite" in change else 3)


# --- vacuum


def test_a_vacuum_gives_back_what_nothing_names(place: Path) -> None:
    with open_store(place, now=now) as store:
        connection = store._connection
        for number in range(400):
            body = f'{{"reason": "{number} {"x" * 3000}"}}'
            own = (hashlib.sha256(body.encode()).digest(), body)
            connection.execute("INSERT INTO payload (hash, body) VALUES (?, ?)", own)
    sound = runs(place)
    assert check_store(place, now=now).unused == 400
    done = vacuum_store(place, now=now)
    assert done.bytes_before - done.bytes_after > 1_000_000 and done.bytes_after == place.stat().st_size
    assert done.dropped == 0 and check_store(place, now=now).state == "clean"
    assert runs(place) == sound
    with open_store(place, now=now) as store:
        assert store.find(b"2026-11-30-11C1") is not None, "what later runs use is kept"


def test_findings_that_no_run_names_go_only_on_request(place: Path) -> None:
    with open_store(place, now=now) as store:
        grading = store.begin(SUITE, planned=1, options={})
        verdict, _ = graded()
        other = graded(reason="measured otherwise")[1]
        store.put_trial(grading, a_trial(), [verdict], [b"key"], [other])
        store.finish(grading)
    assert vacuum_store(place, now=now).dropped == 0
    with open_store(place, now=now) as store:
        assert store.find(b"key") == other
    assert vacuum_store(place, now=now, drop_findings=True).dropped == 1
    with open_store(place, now=now) as store:
        assert store.find(b"key") is None and store.find(b"2026-11-30-11C1") is not None


def test_neither_goes_on_while_a_run_is_graded(place: Path) -> None:
    with open_store(place, now=now) as store:
        store.begin(SUITE, planned=1, options={})
        with pytest.raises(StoreError, match="cannot be vacuumed while a run is being graded"):
            vacuum_store(place, now=now)
        found = check_store(place, now=now)
        assert (found.state, found.live) == ("clean", ("2026-11-30-4",))
        assert found.unfinished == ("2026-11-30-3",)
    assert vacuum_store(place, now=now).dropped == 0
    assert check_store(place, now=now).unfinished == ("2026-11-30-3", "2026-11-30-4")


# --- a standard that changed after it was written


def test_a_changed_standard_is_refused_named_and_mended_by_the_next_grading(place: Path) -> None:
    connection = sqlite3.connect(place)
    (body,) = connection.execute("SELECT body FROM suite").fetchone()
    for text in (body.replace('"tasks"', '"tasks" ', 1), body.replace("C1", "C3", 1), "{}"):
        assert text != body
        connection.execute("UPDATE suite SET body = ?", (text,))
        connection.commit()
        found = check_store(place, now=now)
        assert "changed_standard" in {problem.code for problem in found.problems}
        with open_store(place, now=now) as store:
            for read in (store.load, store.columns):
                with pytest.raises(StoreError, match=r"not the one that was written.*store check"):
                    read("latest")
            put(store, 1)
            assert store.load("2026-11-30-1").suite == SUITE
        assert check_store(place, now=now).state == "clean"
    connection.close()
