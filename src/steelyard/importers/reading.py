"""Files, folders and patterns to decoded records. One bad record is quarantined; the others go on."""

from __future__ import annotations

import glob
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from steelyard.errors import InputError, NothingEvaluatedError
from steelyard.importers import decoding
from steelyard.importers.long_records import BLOCK, decode_blocks
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.importer import Record

LINE_SUFFIXES: frozenset[str] = frozenset({".jsonl", ".ndjson"})
SUFFIXES: frozenset[str] = LINE_SUFFIXES | {".json"}
LONG = 4 * 1024 * 1024
"""Bytes of a line or document from which on it is decoded in blocks."""

_BOM = b"\xef\xbb\xbf"

PathLike = str | os.PathLike[str]
Quick = Callable[[bytes, str, str | None, int], Trace | None]
"""A line, its file, the file's hash, the line's number: the trace at once, or None where the record is wanted."""


def find_files(paths: PathLike | Iterable[PathLike]) -> dict[str, bool]:
    """The files meant, in a stable order: named files, a folder's JSON files at any depth, a pattern's matches.

    The value says whether the file itself was named. Raises `InputError` for a path that does not exist,
    `NothingEvaluatedError` for a folder or pattern without files.
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    files: dict[str, bool] = {}
    for named in paths:
        path = os.fspath(named)
        for file in _expand(path):
            files[file] = files.get(file, False) or file == path
    if not files:
        raise NothingEvaluatedError(
            "No trace file was named. Name a file, a folder or a pattern such as runs/*.jsonl."
        )
    return files


def _expand(path: str) -> list[str]:
    if "\0" in path:
        raise InputError("A path holds the NUL character, so there is no such file.")
    if os.path.isdir(path):
        found = _folder(path)
        if not found:
            raise NothingEvaluatedError(
                f"The folder {path} holds no {', '.join(sorted(SUFFIXES))} file. Name the files, or another folder."
            )
        return found
    if os.path.exists(path):
        return [path]
    if glob.has_magic(path):
        matches = sorted(match for match in glob.glob(path, recursive=True))
        found = [file for match in matches for file in (_folder(match) if os.path.isdir(match) else [match])]
        if not found:
            raise NothingEvaluatedError(
                f"The pattern {path} matches no trace file. Check it, or name the files."
            )
        return found
    raise InputError(f"There is no file or folder {path}. Check the path.")


def _folder(path: str) -> list[str]:
    inside = (p for p in Path(path).rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    return sorted(
        str(p) for p in inside if not any(part.startswith(".") for part in p.relative_to(path).parts)
    )


def read_records(file: str) -> Iterator[Record | Quarantined]:
    """The records of one file: each line of JSON Lines (streamed), or the one document.

    Raises `InputError` when the file cannot be opened or read.
    """
    return (found for found in read_quickly(file, None) if not isinstance(found, Trace))


def read_quickly(file: str, quick: Quick | None) -> Iterator[Record | Quarantined | Trace]:
    """`read_records`, where each line that `quick` reads comes as its trace.

    Raises `InputError` when the file cannot be opened or read.
    """
    try:
        with open(file, "rb") as stream:
            yield from _records(file, stream, quick)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(
            f"The file {file} cannot be read: {why}. Check the path and its permissions."
        ) from error


class _Source:
    """The lines of a stream, without the blank ones. Of a long line only its beginning comes at once."""

    def __init__(self, stream: BinaryIO, number: int = 0) -> None:
        self.number = number
        self.offset = 0
        """Where the last line begins."""
        self._stream = stream
        self._seen = 0

    def next_line(self) -> bytes:
        """The next line that is not blank, or its first `LONG` bytes; empty at the end."""
        while True:
            self.number += 1
            self.offset = self._seen
            piece = self._more(LONG)
            if self.number == 1:
                piece = piece.removeprefix(_BOM) or self._more(LONG)
            while piece.isspace() and not piece.endswith(b"\n"):
                piece = self._more(LONG)
            if not piece.isspace():
                return piece

    def rest(self, piece: bytes) -> Iterator[bytes]:
        """What follows `piece` in its line, in blocks."""
        while len(piece) >= BLOCK and not piece.endswith(b"\n"):
            piece = self._more(BLOCK)
            yield piece

    def _more(self, most: int) -> bytes:
        piece = self._stream.readline(most)
        self._seen += len(piece)
        return piece


class _File(NamedTuple):
    """What every record of a file says of it."""

    name: str
    digest: str | None


def _records(name: str, stream: BinaryIO, quick: Quick | None) -> Iterator[Record | Quarantined | Trace]:
    file = _File(name, _digest(stream) if stream.seekable() else None)
    if file.digest is not None:
        stream.seek(0)
    source = _Source(stream)
    head = source.next_line()
    if not head:
        return
    number, start = source.number, source.offset
    if os.path.splitext(name)[1].lower() in LINE_SUFFIXES and head.strip() not in (b"{", b"["):
        yield from _lines(file, source, head, quick)
        return
    whole = _record(file, source, head, name, None)
    following = source.next_line()
    if not following:
        yield whole
    elif isinstance(whole, Record):
        yield msgspec.structs.replace(whole, where=f"{name}:{number}", line=number)
        yield from _lines(file, source, following, quick)
    elif stream.seekable():
        yield from _document_or_lines(file, stream, start, number, quick)
    else:
        blank = b"\n" * (source.number - number - 1)
        read = io.BytesIO(b"".join((head, blank, following, stream.read())))
        yield from _document_or_lines(file, read, 0, number, quick)


def _digest(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := stream.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _document_or_lines(
    file: _File, stream: BinaryIO, start: int, number: int, quick: Quick | None
) -> Iterator[Record | Quarantined | Trace]:
    """The first line alone is no JSON: a document over several lines, or JSON Lines whose first line is broken."""
    stream.seek(start)
    read = _decoded(file, _document(stream), file.name, None)
    if isinstance(read, Quarantined) and _are_lines(stream, start):
        stream.seek(start)
        source = _Source(stream, number - 1)
        yield from _lines(file, source, source.next_line(), quick)
    else:
        yield read


def _document(stream: BinaryIO) -> Iterator[bytes]:
    yield stream.read(BLOCK).removeprefix(_BOM)
    while block := stream.read(BLOCK):
        yield block


def _are_lines(stream: BinaryIO, start: int) -> bool:
    """Whether an object opens on the first line and goes on there, and one of the next twenty lines is one."""
    stream.seek(start)
    source = _Source(stream)
    head = source.next_line()
    for _ in source.rest(head):
        pass
    if head.strip()[:1] != b"{" or len(head.strip()) == 1:
        return False
    for _ in range(20):
        piece = source.next_line()
        if piece.strip()[:1] == b"{" and _decodes(piece):
            return True
        for _ in source.rest(piece):
            pass
    return False


def _decodes(raw: bytes) -> bool:
    try:
        decoding.decode(raw)
    except decoding.Refused:
        return False
    return True


def _lines(
    file: _File, source: _Source, piece: bytes, quick: Quick | None
) -> Iterator[Record | Quarantined | Trace]:
    while piece:
        found = None
        if quick is not None and len(piece) < BLOCK:
            found = quick(piece, file.name, file.digest, source.number)
        yield found or _record(file, source, piece, f"{file.name}:{source.number}", source.number)
        piece = source.next_line()


def _record(file: _File, source: _Source, piece: bytes, where: str, line: int | None) -> Record | Quarantined:
    """The record of the line that begins with `piece`. The line is read to its end, whatever is wrong with it."""
    if len(piece) < BLOCK or piece.endswith(b"\n"):
        return _decoded(file, piece, where, line)
    rest = source.rest(piece)
    read = _decoded(file, chain((piece,), rest), where, line)
    for _ in rest:
        pass
    return read


def _decoded(file: _File, raw: bytes | Iterable[bytes], where: str, line: int | None) -> Record | Quarantined:
    try:
        value, oddities = decoding.decode(raw.strip()) if isinstance(raw, bytes) else decode_blocks(raw)
    except decoding.Refused as refused:
        what = "line" if line is not None else "file"
        return Quarantined(where=where, reason=f"The {what} cannot be read as JSON: {refused}.")
    return Record(
        value=value, where=where, file=file.name, line=line, file_sha256=file.digest, notices=oddities
    )
