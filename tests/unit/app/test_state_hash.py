"""The hash of an end state: the same content is the same hash, wherever it lies; any other content is another."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.app.state_hash import StateHasher
from steelyard.model.trace import EndState

Harm = Callable[[Path], object]


def folder(place: Path) -> Path:
    (place / "in" / "er").mkdir(parents=True)
    (place / "a.txt").write_text("a")
    (place / "in" / "b.txt").write_text("b")
    (place / "in" / "er" / "c.txt").write_text("c")
    return place


def hashed(place: Path | None = None, **parts: Any) -> str:
    return StateHasher()(EndState(**{"files": None if place is None else str(place), **parts}))


def moved_text(place: Path) -> None:
    """What the first file ends with now begins the second one."""
    (place / "a.txt").write_text("")
    (place / "in" / "b.txt").write_text("ab")


CHANGES: dict[str, Harm] = {
    "another content": lambda place: (place / "in" / "b.txt").write_text("x"),
    "one more byte": lambda place: (place / "in" / "b.txt").write_text("b\n"),
    "moved text": moved_text,
    "another name": lambda place: os.rename(place / "a.txt", place / "A.txt"),
    "another folder": lambda place: os.rename(place / "a.txt", place / "in" / "a.txt"),
    "one file less": lambda place: (place / "a.txt").unlink(),
    "an empty file": lambda place: (place / "new").touch(),
    "an empty folder": lambda place: (place / "new").mkdir(),
    "an empty folder below": lambda place: (place / "in" / "er" / "new").mkdir(),
    "a link to a file": lambda place: (place / "new").symlink_to("a.txt"),
    "a link to a folder": lambda place: (place / "new").symlink_to("in"),
    "a link to elsewhere": lambda place: (place / "new").symlink_to("/"),
    "a broken link": lambda place: (place / "new").symlink_to("nowhere"),
    "a pipe": lambda place: os.mkfifo(place / "new"),
    "a hidden file": lambda place: (place / ".new").touch(),
    "a name that is no text": lambda place: Path(os.fsdecode(os.fsencode(place) + b"/\xff")).touch(),
}


def test_the_same_content_is_the_same_hash_wherever_it_lies(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "one"), folder(tmp_path / "other")
    os.utime(other / "a.txt", (1, 1))
    (other / "a.txt").chmod(0o600)
    assert hashed(one) == hashed(other)


def test_any_other_content_is_another_hash(tmp_path: Path) -> None:
    found = {"nothing changed": hashed(folder(tmp_path / "plain"))}
    for name, change in CHANGES.items():
        place = folder(tmp_path / name.replace(" ", "-"))
        change(place)
        found[name] = hashed(place)
    assert len(set(found.values())) == len(CHANGES) + 1, found


def test_a_link_is_what_it_says_and_not_what_it_leads_to(tmp_path: Path) -> None:
    place = folder(tmp_path / "state")
    (tmp_path / "outside").mkdir()
    (place / "link").symlink_to(tmp_path / "outside")
    before = hashed(place)
    (tmp_path / "outside" / "secret").write_text("x")
    assert hashed(place) == before
    (place / "link").unlink()
    (place / "link").symlink_to(tmp_path / "elsewhere")
    assert hashed(place) != before


def test_names_and_links_cannot_be_taken_for_each_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for place in (one, other):
        place.mkdir()
    (one / "a").symlink_to("b")
    (one / "bc").symlink_to("d")
    (other / "a").symlink_to("bb")
    (other / "c").symlink_to("d")
    assert hashed(one) != hashed(other)


def test_the_json_is_told_apart_by_value_and_type() -> None:
    values = [
        None,
        1,
        1.0,
        "1",
        True,
        [1],
        {"a": 1},
        {"a": None},
        {"a": float("inf")},
        {"a": float("nan")},
        "\ud800",
    ]
    assert len({hashed(json=value) for value in values}) == len(values)
    assert hashed(json={"a": 1, "b": 2}) == hashed(json={"b": 2, "a": 1})
    assert hashed(json={}, faults={"files": "it leads out"}) != hashed(json={})


def rows(path: Path, *values: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE pool (size)")
    connection.executemany("INSERT INTO pool VALUES (?)", [(value,) for value in values])
    return connection


def test_a_row_of_the_database_is_in_the_hash(tmp_path: Path) -> None:
    rows(tmp_path / "a.db", 16).close()
    rows(tmp_path / "b.db", 16).close()
    rows(tmp_path / "c.db", 64).close()
    one, same, other = (hashed(sqlite=str(tmp_path / name)) for name in ("a.db", "b.db", "c.db"))
    assert one == same != other
    assert hashed() != one


@pytest.mark.parametrize("mode", ["wal", "journal"])
def test_what_stands_in_the_log_beside_the_database_is_too(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.db"
    rows(path, 16).close()
    before = hashed(sqlite=str(path))
    Path(f"{path}-{mode}").write_bytes(b"not yet taken in")
    with_log = hashed(sqlite=str(path))
    assert with_log != before
    Path(f"{path}-{mode}").write_bytes(b"other")
    assert hashed(sqlite=str(path)) not in (before, with_log)
    Path(f"{path}-{mode}").unlink()
    assert hashed(sqlite=str(path)) == before


@pytest.mark.parametrize(
    "parts", [{"files": "absent"}, {"sqlite": "absent.db"}, {"files": "file"}, {"sqlite": "folder"}]
)
def test_what_cannot_be_read_is_content_too(tmp_path: Path, parts: dict[str, str]) -> None:
    """So that a check which does not need it gets the same verdict with a store as without."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    unreadable = hashed(**{name: str(tmp_path / value) for name, value in parts.items()})
    readable = {hashed(), hashed(tmp_path / "folder"), hashed(sqlite=str(tmp_path / "file"))}
    assert unreadable not in readable


def test_a_state_is_hashed_once_for_all_its_checks(tmp_path: Path) -> None:
    hasher, state = StateHasher(), EndState(files=str(folder(tmp_path / "one")))
    before = EndState(files=str(folder(tmp_path / "before")))
    for number in range(10):
        hasher(EndState(json=number))
    first, start = hasher(state), hasher(before)
    (tmp_path / "one" / "a.txt").write_text("changed while it is graded")
    for _ in range(3):
        assert (hasher(state), hasher(before)) == (first, start)
    assert hasher(EndState(files=state.files)) != first
    later = [EndState(json=number) for number in range(10)]
    for each in later:
        hasher(each)
    assert hasher(state) != first, "only the last few are remembered"
