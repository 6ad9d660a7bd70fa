"""Pages and logs read as bytes say what SQLite says of them."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from steelyard.store import open_store
from steelyard.store.logfile import log_of, read_log
from steelyard.store.pages import Pages, page_size_of
from steelyard.store.salvage import pages_of
from stores import a_suite, a_trial, graded, now

TABLES = {"suite": 6, "payload": 3, "cache": 3, "grading": 13, "trial": 7, "verdict": 7, "migration": 2}


def filled(place: Path, trials: int = 300) -> Path:
    """A store with texts from nothing to many pages, numbers of every width, and rows in many pages."""
    chance = random.Random(7)
    with open_store(place, now=now) as store:
        grading = store.begin(a_suite(), planned=trials, options={"x": None})
        for number in range(trials):
            reason = f"{number} " + "é" * chance.choice([0, 1, 300, 1960, 1980, 2100, 9000, 40_000])
            verdict, payload = graded(trial=2**53 - 1 - number**6, reason=reason)
            store.put_trial(
                grading, a_trial(trial=verdict.trial), [verdict], [f"k{number}".encode()], [payload]
            )
        store.finish(grading)
    return place


def same(place: Path, pages: Pages) -> None:
    connection = sqlite3.connect(place)
    said = []
    for table in TABLES:
        key = "rowid, " if table == "migration" else ""
        for row in connection.execute(f"SELECT {key}* FROM {table}"):
            said.append((row[0], row[1:] if key else (None, *row[1:])))
    connection.close()
    read = list(pages.records())
    assert sorted(map(repr, _numbers(read))) == sorted(map(repr, _numbers(said)))
    assert len(said) > 1000


def _numbers(records: list[tuple[int, tuple[object, ...]]]) -> list[object]:
    """A REAL column holds a whole number as an integer, and columns that were added later may not be written."""

    def plain(value: object) -> object:
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return [(id_, tuple(map(plain, columns))) for id_, columns in records]


def test_every_row_of_a_sound_file_is_read_as_it_is(tmp_path: Path) -> None:
    place = filled(tmp_path / "store.db")
    body = place.read_bytes()
    same(place, Pages(body, page_size_of(body), {}))


def test_what_only_the_log_holds_is_read_too(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    with open_store(place, now=now) as held:
        filled(place)
        log = read_log(log_of(place))
        assert log.commits >= 1 and (log.unfinished, log.broken) == (0, 0)
        same(place, pages_of(place))
        assert held.runs()


@pytest.mark.parametrize("size", [512, 65_536])
def test_other_page_sizes_are_read(tmp_path: Path, size: int) -> None:
    place = filled(tmp_path / "store.db")
    connection = sqlite3.connect(place, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute("VACUUM")
    connection.close()
    body = place.read_bytes()
    assert page_size_of(body) == size
    if size == 512:  # the description of the tables then takes more than the first page
        assert len(list(Pages(body, size, {}).records())) > 1000
    else:
        same(place, Pages(body, size, {}))


def test_a_cut_file_gives_the_rows_that_are_left(tmp_path: Path) -> None:
    chance = random.Random(11)
    body = filled(tmp_path / "store.db", 60).read_bytes()
    sound = {repr(record) for record in Pages(body, 4096, {}).records()}
    for _ in range(20):
        read = {repr(record) for record in Pages(body[: chance.randrange(len(body))], 4096, {}).records()}
        assert read < sound


def test_noise_costs_the_pages_it_hits_and_no_other(tmp_path: Path) -> None:
    chance = random.Random(12)
    body = filled(tmp_path / "store.db", 60).read_bytes()
    sound = [repr(record) for record in Pages(body, 4096, {}).records()]
    hits = 0
    for _ in range(20):
        page = chance.randrange(1, len(body) // 4096)
        noisy = body[: page * 4096] + chance.randbytes(4096) + body[(page + 1) * 4096 :]
        read = [repr(record) for record in Pages(noisy, 4096, {}).records()]
        kept = set(sound) & set(read)
        hits += len(kept) < len(sound)
        assert len(kept) >= len(sound) - 4096 // 20, "a row takes 20 bytes at least"
    assert hits > 3
    assert list(Pages(chance.randbytes(200_000), 4096, {}).records()) == []
