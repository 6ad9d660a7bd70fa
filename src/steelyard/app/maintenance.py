"""The store itself: looked through, repaired, made smaller."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from steelyard.app.keeping import DEFAULT_STORE, load_run
from steelyard.model.table import Primary
from steelyard.ports.store import RunSummary, Store

if TYPE_CHECKING:
    from steelyard.store.checking import StoreCheck
    from steelyard.store.upkeep import StoreVacuum


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_store(url: str | None = None, *, repair: bool = False) -> StoreCheck:
    """Whether every page, row, payload and run of a store is sound; with `repair`, a damaged one is saved.

    In a store that can be read whole, the headline of each finished run is held against what its rows give. A repair
    cannot tell which of the two was changed, and leaves both. UsageError when there is no store; StoreError when the
    file is none, or is in use while it should be repaired.
    """
    from steelyard import store
    from steelyard.store.checking import StoreProblem

    place = DEFAULT_STORE if url is None else url
    found = store.check_store(place, now=_now, repair=repair)
    if found.problems:
        return found
    with store.open_untouched(place, now=_now) as opened:
        problems = tuple(
            StoreProblem(code=CONTRADICTED, detail=detail)
            for run in opened.runs()
            if (detail := _contradiction(opened, run))
        )
    return msgspec.structs.replace(found, state="damaged", problems=problems) if problems else found


CONTRADICTED = "contradicted_run"
"""The code of a run whose rows do not give what it says of itself."""
_SAME = 1e-9
"""Beyond this a share counts as another one; a later version may add the same numbers in another order."""


def _contradiction(store: Store, run: RunSummary) -> str:
    """What a finished run says and its rows do not give; empty where they agree, or nothing was said."""
    if run.status != "done" or run.decision is None:
        return ""
    kept = load_run(store, run.name)
    try:
        scores = kept.scores
    except (LookupError, ValueError, ArithmeticError) as error:
        return f"the rows of the run {run.name} cannot be scored: {str(error)[:200]}"
    if run.decision == scores.decision and _same_bar(run, scores.bar):
        return ""
    said, found = _headline(run.decision, run), _headline(scores.decision, scores.bar)
    return f"the run {run.name} says {said}, and its rows give {found}; one of them was changed after it was graded"


def _same_bar(run: RunSummary, bar: Primary | None) -> bool:
    if bar is None or run.metric is None:
        return bar is None and run.metric is None
    pairs = ((run.value, bar.value), (run.low, bar.low), (run.high, bar.high), (run.bar, bar.bar))
    return run.metric == bar.metric and all(
        one is other or (one is not None and other is not None and math.isclose(one, other, abs_tol=_SAME))
        for one, other in pairs
    )


def _headline(decision: str | None, shown: RunSummary | Primary | None) -> str:
    if shown is None or shown.low is None or shown.high is None:
        return str(decision)
    low, high = f"{shown.low:.2%}", f"{shown.high:.2%}"
    return f"{decision}, {shown.metric} {low if low == high else f'{low} to {high}'}"


def vacuum_store(url: str | None = None, *, drop_findings: bool = False) -> StoreVacuum:
    """Give unused space back. UsageError when there is no store; StoreError while a run is being graded into it."""
    from steelyard import store

    return store.vacuum_store(DEFAULT_STORE if url is None else url, now=_now, drop_findings=drop_findings)


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
            yield "  nothing could be saved; the store is new and empty: grade the recordings again"
    if {problem.code for problem in found.problems} == {CONTRADICTED}:
        yield (
            "  next: nothing tells what it was before, so --repair leaves it: take such a run for undecided, and grade "
            "its recordings again"
        )
    elif found.problems:
        yield "  next: `steelyard store check --repair` sets the damaged file aside and saves what can be read"


def _several(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def vacuum_board(done: StoreVacuum) -> str:
    """A vacuum in words."""
    dropped = f", {_several(done.dropped, 'finding')} dropped" if done.dropped else ""
    return f"{done.store}: {done.bytes_before:,} bytes before, {done.bytes_after:,} after{dropped}"
