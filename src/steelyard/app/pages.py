"""Recordings for a report: those of the bundled example, those of paths, and those that a kept run was graded from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.app.facade import read_traces
from steelyard.app.keeping import fingerprint
from steelyard.errors import SteelyardError
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.store import StoredRun


def demo_traces() -> Iterator[Trace | Quarantined]:
    """The recordings of the bundled example."""
    from steelyard.app.bundled_operations import operations_folder

    return read_traces(operations_folder() / "traces.jsonl")


def recordings(paths: Sequence[str], again: str = "") -> tuple[Iterator[Trace | Quarantined] | None, str]:
    """The recordings of paths once more, or null and why: a pipe or device can be read only once."""
    if any(Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()) for path in paths):
        return None, f"The recordings came through a pipe, so their traces are left out{again}"
    return read_traces(list(paths)), ""


def kept_recordings(kept: StoredRun) -> tuple[Iterator[Trace | Quarantined] | None, str]:
    """The recordings that a kept run was graded from, or null and why they are not at hand."""
    options: Mapping[str, Any] = kept.options
    paths = [str(path) for path in options.get("traces") or ()]
    again = "; give their place with: steelyard show RUN --html FILE --traces PATH"
    if not paths:
        return None, f"The run was kept without the place of its recordings, so it has no traces here{again}"
    try:
        content = fingerprint(paths, options.get("states"))
    except SteelyardError:
        return None, f"The recordings are not at {paths[0]} any more, so their traces are left out{again}"
    if options.get("content") != content:
        return None, f"What stands at {paths[0]} has changed since, so its traces are left out{again}"
    return recordings(paths, again)
