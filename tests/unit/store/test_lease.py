"""One process at a time works on a grading; who is gone holds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.errors import StoreError
from steelyard.store import lease, open_store
from steelyard.store.lease import Leases, live
from stores import a_suite, a_trial, graded, now

HOLD = """
import sys, time
from pathlib import Path
from steelyard.store.lease import Leases
held = Leases(Path(sys.argv[1]))
print(held.take(7), flush=True)
sys.stdin.read()
"""


def test_one_holder_at_a_time_also_in_one_process(tmp_path: Path) -> None:
    store = tmp_path / "a [x]*.db"
    one, two = Leases(store), Leases(store)
    assert one.take(1) and one.take(1) and not two.take(1) and two.take(2)
    assert live(store) == (1, 2)
    one.give_back(1)
    assert live(store) == (2,)
    assert two.take(1)
    two.close()
    assert live(store) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert not Leases(store).take(7)
        assert lease.worker(store, 7) == f"process {process.pid}"
        assert live(store) == (7,)
        process.kill()
    assert (tmp_path / "store.db-live-7").exists()
    assert live(store) == ()
    assert list(tmp_path.iterdir()) == [], "what it left behind is removed"
    assert Leases(store).take(7)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("store.db-live-x", "store.db-live-", "other.db-live-1", "store.db-live-²"):
        (tmp_path / name).touch()
    assert live(tmp_path / "store.db") == ()
    assert len(list(tmp_path.iterdir())) == 4


def test_where_files_cannot_be_locked_nobody_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(lease.fcntl, "flock", no_locks)
    assert Leases(tmp_path / "store.db").take(1) and Leases(tmp_path / "store.db").take(1)
    assert live(tmp_path / "store.db") == ()
    monkeypatch.setattr(lease, "fcntl", None)
    assert Leases(tmp_path / "store.db").take(1) and live(tmp_path / "store.db") == ()
    assert Leases(tmp_path / "absent" / "store.db").take(1)


def test_a_live_grading_is_not_resumed_and_an_older_broken_one_is(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    with open_store(place, now=now) as store:
        broken = store.begin(a_suite(), planned=1, options={})
        store.put_trial(broken, a_trial(), [graded()[0]])
    with open_store(place, now=now) as working, open_store(place, now=now) as other:
        begun = working.begin(a_suite(), planned=1, options={})
        assert begun.id > broken.id
        found = other.unfinished("f" * 64, {})
        assert found == broken, "the one that nobody works on"
        with open_store(place, now=now) as third:
            with pytest.raises(
                StoreError, match=f"2026-11-30-2 .* being graded by process {os.getpid()} right now"
            ):
                third.unfinished("f" * 64, {})
        other.finish(found)
        working.finish(begun)
        assert other.unfinished("f" * 64, {}) is None
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]
