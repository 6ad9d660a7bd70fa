"""Reading end states: files inside their folder and nowhere else, whatever their names and links say.

A path of a check is relative, with `/` between its parts. What a state lacks is `None` or `NoFileError`; what is
named and cannot be read is a `GraderError` with code `bad_state`.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal

from steelyard.checks.show import show
from steelyard.errors import GraderError
from steelyard.model.trace import EndState, Trace

At = Literal["end", "start"]
Part = Literal["files", "sqlite", "json"]

MAX_TEXT = 64 * 1024 * 1024
"""Bytes of a file that is read as text."""
MAX_HASHED = 2 * 1024**3
"""Bytes that one check may hash."""
MAX_ENTRIES = 100_000
"""Files and folders that one check may list."""

_CHUNK = 1 << 20
_WORDS = {"files": "files", "sqlite": "database", "json": "JSON state"}


class NoFileError(Exception):
    """There is no such file in the state. The message says what is there instead."""


def part_of(trace: Trace, at: At, part: Part) -> Any:
    """A part of a state, or None when the recording has none. Raises `GraderError` (`bad_state`)."""
    state: EndState | None = trace.state_after if at == "end" else trace.state_before
    if state is None:
        return None
    if part in state.faults:
        raise bad_state(f"The {_WORDS[part]} of the {at} state cannot be read: {state.faults[part]}")
    return getattr(state, part)


def no_part(at: At, part: Part) -> str:
    """The reason of a check that finds no such part."""
    return f"the recording has no {_WORDS[part]} of its {at} state"


def bad_state(what: str) -> GraderError:
    return GraderError(f"{what.rstrip('.')}.", code="bad_state")


def folder_of(trace: Trace, at: At) -> str | None:
    """The real path of the state's folder, or None. Raises `GraderError` (`bad_state`) when it is no folder."""
    named = part_of(trace, at, "files")
    if named is None:
        return None
    if not isinstance(named, str) or "\0" in named or not os.path.isdir(named):
        raise bad_state(f"The folder of the {at} state, {show(named)}, is not there or is no folder")
    return os.path.realpath(named)


def check_path(path: str) -> None:
    """Raises `GraderError` (`bad_path`) for a path that could lead out of a folder on any system."""
    posix, windows = PurePosixPath(path), PureWindowsPath(path)
    absolute = posix.is_absolute() or windows.is_absolute() or windows.drive or windows.root
    if (
        not posix.parts
        or not path.strip()
        or "\0" in path
        or absolute
        or ".." in (*posix.parts, *windows.parts)
    ):
        raise GraderError(
            f"{show(path)} is no path inside the folder of a state; write it relative to that folder, without `..`.",
            code="bad_path",
        )


def place(root: str, path: str) -> str:
    """Where a path of the state stands, its links not followed."""
    check_path(path)
    return os.path.join(root, *PurePosixPath(path).parts)


def real_place(root: str, path: str) -> str | None:
    """The same with links followed; None when nothing is there. Raises `GraderError` for links that lead out."""
    full = place(root, path)
    try:
        real = os.path.realpath(full)
        there = os.path.exists(real)
    except (OSError, ValueError):
        return None
    if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
        raise bad_state(
            f"{show(path)} leads out of the folder of the state through a link; it is not followed"
        )
    return real if there else None


def read_text(root: str, path: str) -> str:
    """The text of a file: UTF-8 without its byte order mark, every line end as a line feed.

    Raises `NoFileError` when there is no such file or it is no text, `GraderError` (`bad_state`, `too_large`).
    """
    data = read_bytes(root, path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NoFileError(f"{show(path)} is UTF-16, not UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise NoFileError(f"{show(path)} is not valid UTF-8 (line {line})") from None
    return text.replace("\r\n", "\n")


def read_bytes(root: str, path: str) -> bytes:
    """The content of a file of at most `MAX_TEXT` bytes. Raises as `read_text`."""
    data = b"".join(_chunks(root, path, MAX_TEXT))
    if len(data) > MAX_TEXT:
        raise GraderError(
            f"{show(path)} is larger than {MAX_TEXT // 1024**2} MB, which no check reads.", code="too_large"
        )
    return data


def sha256_of(root: str, path: str, *, follow: bool = True) -> str:
    """The SHA-256 of a file's content, as hex; of a link unless `follow`, that of where it points.

    Raises as `read_text`.
    """
    full = place(root, path)
    try:
        target = os.readlink(full) if not follow and os.path.islink(full) else None
    except OSError as problem:
        raise bad_state(f"{show(path)} cannot be read: {problem.strerror or problem}") from None
    if target is not None:
        return hashlib.sha256(b"link:" + os.fsencode(target)).hexdigest()
    digest = hashlib.sha256()
    size = 0
    for chunk in _chunks(root, path, MAX_HASHED):
        size += len(chunk)
        digest.update(chunk)
    if size > MAX_HASHED:
        raise GraderError(f"{show(path)} is larger than {MAX_HASHED // 1024**3} GB.", code="too_large")
    return digest.hexdigest()


def stands(root: str, path: str) -> bool:
    """Whether anything is there: a file, a folder, or a link, wherever it points."""
    return os.path.lexists(place(root, path))


def is_folder(root: str, path: str) -> bool:
    """Whether a folder is there, which is no link. Raises `GraderError` (`bad_state`) where a link leads out."""
    real = real_place(root, path)
    return real is not None and os.path.isdir(real) and not os.path.islink(place(root, path))


def entries(root: str, below: str = "") -> Iterator[str]:
    """Paths of all files and links under a folder of the state, in order. Links are named and not followed.

    Raises `GraderError` (`bad_state`, `too_large`).
    """
    pending = [below]
    count = 0
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(place(root, folder) if folder else root) as found:
                inside = sorted(found, key=lambda entry: entry.name)
        except OSError as problem:
            raise bad_state(
                f"The folder {show(folder or '.')} cannot be read: {problem.strerror or problem}"
            ) from None
        count += len(inside)
        if count > MAX_ENTRIES:
            raise GraderError(f"The state has more than {MAX_ENTRIES} files.", code="too_large")
        for entry in inside:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            else:
                yield path


def _chunks(root: str, path: str, limit: int) -> Iterator[bytes]:
    """The content in pieces, and at most one piece past the limit."""
    real = real_place(root, path)
    if real is None:
        raise NoFileError(f"there is no file {show(path)}")
    try:
        mode = os.stat(real).st_mode
        if not stat.S_ISREG(mode):
            # Opening a pipe would wait for ever.
            raise NoFileError(f"{show(path)} is {'a folder' if stat.S_ISDIR(mode) else 'no regular file'}")
        with open(real, "rb") as stream:
            size = 0
            while size <= limit and (chunk := stream.read(_CHUNK)):
                size += len(chunk)
                yield chunk
    except OSError as problem:
        raise bad_state(f"{show(path)} cannot be read: {problem.strerror or problem}") from None
