"""Row files: read line by line without trust, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from steelyard.errors import InputError, OutputError
from steelyard.grading.rows import Row, read_rows, write_row
from steelyard.model.trace import Quarantined

MOST_LINE = 64 * 1024 * 1024
"""Bytes of one line; a longer one is quarantined."""


def read_row_file(path: str | Path) -> Iterator[Row | Quarantined]:
    """Rows of a JSON Lines file. InputError when it cannot be opened; a bad line is quarantined."""
    name = str(path)
    try:
        with open(path, "rb") as file:
            yield from read_rows(_lines(name, file))
    except OSError as error:
        raise InputError(f"cannot read the rows in {name}: {error.strerror or error}; check the path") from error


def _lines(name: str, file: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    for number, line in enumerate(file, 1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        yield f"{name}:{number}", text if len(text) <= MOST_LINE else b"(a line over 64 MiB)"


def write_row_file(path: str | Path, rows: Iterable[Row | Quarantined]) -> None:
    """Write rows as JSON Lines. OutputError when the place cannot be written; an older file then stays as it was."""
    write_whole(path, b"".join(write_row(row) + b"\n" for row in rows))


def write_whole(path: str | Path, data: bytes) -> None:
    """Replace a file at once. OutputError when it cannot be written; an older file then stays as it was."""
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a pipe or device: nothing to replace
            target.write_bytes(data)
            return
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"cannot write {target}: {reason}; choose another place or free some space") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
