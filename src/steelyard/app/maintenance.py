"""The store itself: looked through, repaired, made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from steelyard.app.keeping import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.store.checking import StoreCheck
    from steelyard.store.upkeep import StoreVacuum


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_store(url: str | None = None, *, repair: bool = False) -> StoreCheck:
    """Whether every page, row, payload and run of a store is sound; with `repair`, a damaged one is saved.

    UsageError when there is no store; StoreError when the file is none, or is in use while it should be repaired.
    """
    from steelyard import store

    return store.check_store(url or DEFAULT_STORE, now=_now, repair=repair)


def vacuum_store(url: str | None = None, *, drop_findings: bool = False) -> StoreVacuum:
    """Give unused space back. UsageError when there is no store; StoreError while a run is being graded into it."""
    from steelyard import store

    return store.vacuum_store(url or DEFAULT_STORE, now=_now, drop_findings=drop_findings)


def check_board(found: StoreCheck) -> str:
    """A check in words, a line each."""
    return "\n".join(_lines(found))


def _lines(found: StoreCheck) -> Iterator[str]:
    yield f"{found.store}: {found.state}"
    if found.rows:
        rows = found.rows
        kept = ", ".join(
            _several(rows[table], word)
            for table, word in (
                ("grading", "run"),
                ("trial", "trial"),
                ("verdict", "verdict"),
                ("cache", "finding"),
            )
        )
        yield f"  {kept} for later runs; {found.bytes:,} bytes"
    if found.log_bytes:
        cut = (
            f", then {found.log_unfinished:,} bytes of a write that was cut off"
            if found.log_unfinished
            else ""
        )
        yield f"  its log: {_several(found.log_commits, 'commit')} in {found.log_bytes:,} bytes{cut}"
    if found.unused:
        unused = _several(found.unused, "payload")
        yield f"  {unused} that nothing names; `steelyard store vacuum` gives their space back"
    if found.live:
        yield f"  being graded now: {', '.join(found.live)}"
    if found.unfinished:
        yield f"  broken off: {', '.join(found.unfinished)}; `steelyard grade ... --resume` goes on"
    for problem in found.problems:
        yield f"  {problem.code}: {problem.detail}"
    yield from _repair_lines(found)


def _repair_lines(found: StoreCheck) -> Iterator[str]:
    if found.set_aside:
        yield f"  set aside as it was: {', '.join(found.set_aside)}"
    saved = found.saved
    if saved is not None:
        runs = len(saved.whole) + len(saved.broken_off)
        held = f"{_several(saved.trials, 'trial')} and {_several(saved.verdicts, 'verdict')}"
        yield f"  saved: {_several(runs, 'run')} with {held}"
        if saved.lost_trials:
            yield f"  not saved: {_several(saved.lost_trials, 'trial')} of which something is missing"
        if saved.broken_off:
            yield (
                f"  not complete: {', '.join(saved.broken_off)}; the same `steelyard grade` command with --resume "
                "grades what is missing"
            )
        if not runs:
            yield "  nothing could be saved; the store is new and empty"
    if found.problems:
        yield "  next: `steelyard store check --repair` sets the damaged file aside and saves what can be read"


def _several(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def vacuum_board(done: StoreVacuum) -> str:
    """A vacuum in words."""
    dropped = f", {_several(done.dropped, 'finding')} dropped" if done.dropped else ""
    return f"{done.store}: {done.bytes_before:,} bytes before, {done.bytes_after:,} after{dropped}"
