"""Files, folders and patterns to decoded records. One bad record is quarantined; the others go on."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from steelyard.errors import InputError, NothingEvaluatedError
from steelyard.importers import decoding
from steelyard.model.trace import Quarantined
from steelyard.ports.importer import Record

LINE_SUFFIXES: frozenset[str] = frozenset({".jsonl", ".ndjson"})
SUFFIXES: frozenset[str] = LINE_SUFFIXES | {".json"}
_BOM = b"\xef\xbb\xbf"

PathLike = str | os.PathLike[str]


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
    try:
        with open(file, "rb") as stream:
            yield from _records(file, stream)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InputError(
            f"The file {file} cannot be read: {why}. Check the path and its permissions."
        ) from error


def _records(file: str, stream: BinaryIO) -> Iterator[Record | Quarantined]:
    digest = _digest(stream) if stream.seekable() else None
    if digest is not None:
        stream.seek(0)
    head, number = b"", 0
    for number, line in enumerate(stream, 1):
        head = _bare(line, number)
        if head:
            break
    if not head:
        return
    by_name = os.path.splitext(file)[1].lower() in LINE_SUFFIXES
    tail = _first_more(stream)
    if by_name and head not in (b"{", b"["):
        yield from _lines(file, number, head, tail, stream, digest)
    elif not tail:
        yield _record(file, head, file, None, digest)
    elif _decodes(head):
        yield from _lines(file, number, head, tail, stream, digest)
    else:
        yield from _document_or_lines(file, number, head, tail, stream, digest)


def _digest(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := stream.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def _bare(line: bytes, number: int) -> bytes:
    return (line.removeprefix(_BOM) if number == 1 else line).strip()


def _first_more(stream: BinaryIO) -> list[bytes]:
    """Lines up to the first that is not blank; empty at the end of the file."""
    blank: list[bytes] = []
    for line in stream:
        blank.append(line)
        if line.strip():
            return blank
    return []


def _decodes(raw: bytes) -> bool:
    try:
        decoding.decode(raw)
    except decoding.Refused:
        return False
    return True


def _document_or_lines(
    file: str, number: int, head: bytes, tail: list[bytes], stream: BinaryIO, digest: str | None
) -> Iterator[Record | Quarantined]:
    """The first line alone is no JSON: a document over several lines, or JSON Lines whose first line is broken."""
    rest = b"".join(tail) + stream.read()
    read = _record(file, head + b"\n" + rest, file, None, digest)
    lines = rest.split(b"\n")
    objects = sum(line.strip().startswith(b"{") and _decodes(line.strip()) for line in lines[:20])
    if isinstance(read, Quarantined) and objects and head[:1] == b"{" and len(head) > 1:
        yield from _lines(file, number, head, lines, iter(()), digest)
    else:
        yield read


def _lines(
    file: str, number: int, head: bytes, tail: Iterable[bytes], stream: Iterable[bytes], digest: str | None
) -> Iterator[Record | Quarantined]:
    yield _record(file, head, f"{file}:{number}", number, digest)
    for source in (tail, stream):
        for line in source:
            number += 1
            bare = line.strip()
            if bare:
                yield _record(file, bare, f"{file}:{number}", number, digest)


def _record(file: str, raw: bytes, where: str, line: int | None, digest: str | None) -> Record | Quarantined:
    try:
        value, oddities = decoding.decode(raw)
    except decoding.Refused as refused:
        what = "line" if line is not None else "file"
        return Quarantined(where=where, reason=f"The {what} cannot be read as JSON: {refused}.")
    return Record(value=value, where=where, file=file, line=line, file_sha256=digest, notices=oddities)
