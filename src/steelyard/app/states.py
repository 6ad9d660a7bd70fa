"""`--states DIR`: the states of trials that stand beside the traces, as `DIR/TASK/TRIAL/{start,end}`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from steelyard.errors import UsageError
from steelyard.model.names import safe_name
from steelyard.model.trace import EndState, Notice, Trace

MAX_JSON = 64 * 1024 * 1024
_DATABASES = (".sqlite", ".sqlite3", ".db")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,119}", re.ASCII)
Faults = dict[Literal["files", "sqlite", "json"], str]


def attach(trace: Trace, task: str, trial: int, folder: str | Path) -> Trace:
    """The trace with the states that `folder` holds for this trial of this task.

    A state found there stands for the one that the recording names; a notice says so, and also when the trial has
    no folder. What is there and cannot be read is a fault of that part of the state, and an error of the checks that
    need it. UsageError when `folder` is no folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"--states {root} is no folder; it holds TASK/TRIAL/start and TASK/TRIAL/end")
    own = _folder_of_task(root, task)
    here = None if own is None else own / str(trial)
    before = None if here is None else _state(here / "start")
    after = None if here is None else _state(here / "end")
    if before is None and after is None:
        detail = f"The folder of --states has no {safe_name(task)}/{trial}/end (or start), so that the trial has none."
        return _told(trace, "no_state", detail)
    if (before and trace.state_before) or (after and trace.state_after):
        trace = _told(
            trace, "state_replaced", "The recording names a state of its own; that of --states is read."
        )
    return msgspec.structs.replace(
        trace, state_before=before or trace.state_before, state_after=after or trace.state_after
    )


def _told(trace: Trace, code: str, detail: str) -> Trace:
    return msgspec.structs.replace(trace, notices=(*trace.notices, Notice(code=code, detail=detail)))


def _folder_of_task(root: Path, task: str) -> Path | None:
    """The folder under the safe name of the id, or under the id itself when it is a plain name, spelt exactly so."""
    safe = root / safe_name(task)
    if safe.is_dir():
        return safe
    if _PLAIN.fullmatch(task) and (root / task).is_dir() and task in os.listdir(root):
        return root / task
    return None


def _state(folder: Path) -> EndState | None:
    """The state in a folder: `files/` or the folder itself, its one database, its `state.json`. None: no folder."""
    if not folder.is_dir():
        return None
    files = folder / "files"
    faults: Faults = {}
    return EndState(
        files=str(files if files.is_dir() else folder),
        sqlite=_database(folder, faults),
        json=_json(folder / "state.json", faults),
        faults=faults,
    )


def _database(folder: Path, faults: Faults) -> str | None:
    try:
        found = sorted(
            entry.name
            for entry in os.scandir(folder)
            if entry.is_file() and entry.name.lower().endswith(_DATABASES)
        )
    except OSError as problem:
        faults["sqlite"] = f"{folder} cannot be listed: {problem.strerror or problem}"
        return None
    if len(found) > 1:
        faults["sqlite"] = (
            f"{folder} holds several databases ({', '.join(found)[:120]}); keep one, or name it with `db`"
        )
        return None
    if found and _leaves(folder, folder / found[0]):
        faults["sqlite"] = f"{found[0]} leads out of {folder} through a link"
        return None
    return str(folder / found[0]) if found else None


def _json(file: Path, faults: Faults) -> Any:
    if not os.path.lexists(file):
        return None
    try:
        if not file.is_file() or _leaves(file.parent, file):
            faults["json"] = f"{file} is no file, or leads out of its folder"
        elif file.stat().st_size > MAX_JSON:
            faults["json"] = f"{file} is larger than {MAX_JSON // 1024**2} MB"
        else:
            return json.loads(
                file.read_bytes().decode("utf-8-sig"), parse_constant=_constant, object_pairs_hook=_object
            )
    except OSError as problem:
        faults["json"] = f"{file} cannot be read: {problem.strerror or problem}"
    except (ValueError, RecursionError) as problem:
        said = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)[:120]
        faults["json"] = f"{file} is not JSON: {said}"
    return None


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _leaves(folder: Path, path: Path) -> bool:
    return not path.resolve().is_relative_to(folder.resolve())
