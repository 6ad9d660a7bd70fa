"""Row files: read line by line without trust, written whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from steelyard.errors import InputError, OutputError
from steelyard.grading.rows import Row, read_rows, write_row
from steelyard.model.standard import Suite
from steelyard.model.table import SuiteRef
from steelyard.model.trace import Quarantined


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    standard: SuiteRef


MOST_LINE = 64 * 1024 * 1024
"""Bytes of one line; a longer one is quarantined."""

BOM = b"\xef\xbb\xbf"
OPEN_STREAM = re.compile(r"/dev/(stdout|stderr|fd/[0-9]{1,4})")
STREAM_NUMBERS = {"stdout": 1, "stderr": 2}


STANDARD = b'{"standard":'
"""How the line begins that says under which standard the rows of a file were graded."""


def read_row_file(
    path: str | Path, *, on_standard: Callable[[str], None] = lambda graded_under: None
) -> Iterator[Row | Quarantined]:
    """Rows of a JSON Lines file, or of CSV where its name ends so. InputError when it cannot be opened or is no table;
    a bad line is quarantined.

    `on_standard` is told the hash of the standard under which the file says that its rows were graded.
    """
    name = str(path)
    if name.lower().endswith(".csv"):
        from steelyard.app.tables import read_csv

        yield from read_csv(path, on_standard=on_standard)
        return
    try:
        with open(path, "rb") as file:
            for where, line in _lines(name, file):
                if len(line) > MOST_LINE:
                    yield Quarantined(where=where, reason=f"the line is longer than {MOST_LINE >> 20} MiB")
                elif line.startswith(STANDARD) and (graded_under := _standard_of(line)):
                    on_standard(graded_under)
                else:
                    yield from read_rows([(where, line)])
    except OSError as error:
        raise InputError(
            f"cannot read the rows in {name}: {error.strerror or error}; check the path"
        ) from error
    except ValueError as error:  # a path with a NUL character
        raise InputError(f"cannot read the rows in {name!r}: {error}; check the path") from error


def _standard_of(line: bytes) -> str | None:
    try:
        return msgspec.json.decode(line, type=_Header).standard.hash
    except msgspec.DecodeError:
        return None


def _lines(name: str, file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Numbered lines; of one that is too long only so much is kept as shows that it is."""
    number = 0
    while line := file.readline(MOST_LINE + 1):
        number += 1
        yield f"{name}:{number}", line.removeprefix(BOM) if number == 1 else line
        while len(line) > MOST_LINE and not line.endswith(b"\n"):
            line = file.readline(MOST_LINE + 1)


def write_row_file(
    path: str | Path, rows: Iterable[Row | Quarantined], *, suite: Suite | None = None
) -> None:
    """Write rows as JSON Lines, after a line that names the standard they were graded under.

    OutputError when the place cannot be written; an older file then stays as it was.
    """
    header = b""
    if suite is not None:
        named = SuiteRef(name=suite.name, version=suite.version, owner=suite.owner, hash=suite.hash)
        header = msgspec.json.encode(_Header(standard=named)) + b"\n"
    write_whole(path, header + b"".join(write_row(row) + b"\n" for row in rows))


def write_whole(path: str | Path, data: bytes | Iterable[bytes]) -> None:
    """Replace a file at once. OutputError when it cannot be written; an older file then stays as it was.

    `data` may come in parts, which are written one by one.

    A file that stood there keeps its permissions, and a link stays a link: the file that it names is replaced. Pipes
    and devices (`/dev/stdout`, whatever it is redirected to) are written to as they are.
    """
    try:
        stream = OPEN_STREAM.fullmatch(os.path.abspath(path))
        target = Path(os.path.realpath(path))
        if stream is not None:
            _write_stream(STREAM_NUMBERS.get(stream[1]) or int(stream[1].rpartition("/")[2]), data)
        elif target.exists() and not target.is_file():
            with target.open("wb") as file:
                _write_parts(file, data)
        else:
            _replace(target, data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(
            f"cannot write {path}: {reason}; choose another place or free some space"
        ) from error


def _write_parts(file: BinaryIO, data: bytes | Iterable[bytes]) -> None:
    for part in (data,) if isinstance(data, bytes) else data:
        file.write(part)


def _write_stream(number: int, data: bytes | Iterable[bytes]) -> None:
    """Through the stream that is open already: opening it by name again would start at its first byte."""
    with os.fdopen(os.dup(number), "wb") as file:
        _write_parts(file, data)


def _replace(target: Path, data: bytes | Iterable[bytes]) -> None:
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".steelyard-")
    try:
        with os.fdopen(handle, "wb") as file:
            _write_parts(file, data)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
