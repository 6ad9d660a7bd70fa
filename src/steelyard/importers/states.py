"""The states that a recording names: files and databases inside its own folder, and JSON values."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from steelyard.importers.building import StepBuilder
from steelyard.model.trace import EndState, Notice, Trace

Part = Literal["files", "sqlite"]
Tell = Callable[[str, str], None]
"""Takes a notice's code and sentence."""

_KEYS = frozenset({"files", "sqlite", "json"})
_PARTS: tuple[Part, ...] = ("files", "sqlite")


def read_state(builder: StepBuilder, state: Any, key: str) -> EndState | None:
    """The state under `key` of a recording. What cannot be used is told, and stays as a fault of that part."""
    if state is None:
        return None
    if not isinstance(state, dict):
        builder.notice(
            "bad_state", f"The field '{key}' is no object with files, sqlite or json; it is left out."
        )
        return None
    unknown = sorted(set(state) - _KEYS)
    if unknown:
        builder.notice("bad_state", f"The field '{key}' has unknown parts ({', '.join(unknown)[:80]}).")
    faults: dict[Any, str] = {}
    paths: dict[str, str] = {}
    for part in _PARTS:
        path = state.get(part)
        if isinstance(path, str):
            paths[part] = path
        elif path is not None:
            faults[part] = "its path is no text"
            builder.notice("bad_state", f"A path in '{key}' is no text; it is left out.")
    named = EndState(**paths, json=builder.plain(state.get("json")), faults=faults)
    return placed(named, builder.record.file, key, builder.notice)


def placed(state: EndState, file: str, key: str, tell: Tell) -> EndState:
    """The same state with its paths as seen from here; `file` holds the recording, whose folder they may not leave.

    A path that leads out of it is not kept; one where nothing is stays, so that a check that needs it can say so.
    """
    faults = dict(state.faults)
    paths: dict[str, str | None] = {}
    for part in _PARTS:
        path: str | None = getattr(state, part)
        paths[part] = None
        if path is None:
            continue
        fault = _fault(path, file)
        if fault:
            faults[part] = fault
            tell("bad_state", f"The path '{_printable(path)}' in '{key}' is not used: {fault}.")
            continue
        full = os.path.normpath(os.path.join(os.path.dirname(file), path))
        paths[part] = full
        if not os.path.exists(full):
            tell(
                "missing_state",
                f"Nothing is at the path '{_printable(path)}' that '{key}' names for its {part}.",
            )
    return msgspec.structs.replace(state, files=paths["files"], sqlite=paths["sqlite"], faults=faults)


def place_states(trace: Trace, file: str) -> Trace:
    """A trace that came with states of its own: their paths as seen from here, and what cannot be used told once."""
    states = {"state_before": trace.state_before, "state_after": trace.state_after}
    if all(state is None for state in states.values()):
        return trace
    told = {notice.code for notice in trace.notices}
    notices = list(trace.notices)

    def tell(code: str, detail: str) -> None:
        if code not in told:
            told.add(code)
            notices.append(Notice(code=code, detail=detail))

    after = {key: None if state is None else placed(state, file, key, tell) for key, state in states.items()}
    return msgspec.structs.replace(trace, **after, notices=tuple(notices))


def _fault(path: str, file: str) -> str | None:
    """Why a path cannot be followed, or None."""
    if not path.strip() or "\0" in path:
        return "it is no path"
    folder = os.path.realpath(os.path.dirname(file) or ".")
    try:
        real = os.path.realpath(os.path.join(folder, path))
    except (OSError, ValueError):
        return "it is no path"
    if real != folder and not real.startswith(folder.rstrip(os.sep) + os.sep):
        return (
            "it leads out of the folder of the recording; put the state beside the recording, or use --states"
        )
    return None


def _printable(path: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in path[:80])
