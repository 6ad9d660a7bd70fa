"""The write-ahead log beside an SQLite file, read byte by byte: what of it is committed, and what is broken.

Format: https://www.sqlite.org/fileformat2.html#walformat. A header of 32 bytes, then frames of a header of 24 bytes and
a page. Checksums run on from frame to frame, so everything up to the last whole commit is as it was written.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import msgspec

HEADER = 32
FRAME = 24
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
_MOST_PAGE = 65_536


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """A log. `pages` are the newest committed ones by number; `page_size` 0: it has no header that can be read.

    `unfinished` counts bytes of a write that was cut off before its commit; `broken` those that no program wrote so.
    """

    size: int = 0
    page_size: int = 0
    commits: int = 0
    unfinished: int = 0
    broken: int = 0
    pages: Mapping[int, bytes] = {}


def log_of(store: Path) -> Path:
    """Where SQLite keeps the log of a store."""
    return store.with_name(store.name + "-wal")


def read_log(path: Path) -> LogFile:
    """The log at a path; an empty one where there is none. OSError when it cannot be read."""
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        return LogFile()
    if not body:
        return LogFile()
    if len(body) < HEADER or (fields := _header(body)) is None:
        return LogFile(size=len(body), broken=len(body))
    return _frames(body, *fields)


def _header(body: bytes) -> tuple[str, int, tuple[int, int]] | None:
    """Byte order of its checksums, page size, and the checksum so far; null where the header is damaged."""
    magic, version, page_size = struct.unpack_from(">III", body)
    order = _MAGIC.get(magic)
    if order is None or version != 3007000 or not _is_page_size(page_size):
        return None
    sums = checksum(order, body[:24], (0, 0))
    return (order, page_size, sums) if sums == struct.unpack_from(">II", body, 24) else None


def read_header(path: Path) -> int | None:
    """The page size that the log states; null where its header is damaged. OSError when it cannot be read."""
    with path.open("rb") as file:
        start = file.read(HEADER)
    fields = _header(start) if len(start) == HEADER else None
    return fields[1] if fields else None


def _is_page_size(number: int) -> bool:
    return 512 <= number <= _MOST_PAGE and not number & (number - 1)


def checksum(order: str, data: bytes, before: tuple[int, int]) -> tuple[int, int]:
    """SQLite's running checksum over a multiple of 8 bytes; `order` is that of `struct`."""
    first, second = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for index in range(0, len(words), 2):
        first = (first + words[index] + second) & 0xFFFFFFFF
        second = (second + words[index + 1] + first) & 0xFFFFFFFF
    return first, second


def _frames(body: bytes, order: str, page_size: int, sums: tuple[int, int]) -> LogFile:
    salts = body[16:24]
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    commits, at, end, most = 0, HEADER, HEADER, 0
    while at + FRAME + page_size <= len(body):
        head = body[at : at + FRAME]
        page = body[at + FRAME : at + FRAME + page_size]
        number, size_after = struct.unpack_from(">II", head)
        if head[8:16] != salts or number == 0:
            break
        sums = checksum(order, page, checksum(order, head[:8], sums))
        if sums != struct.unpack_from(">II", head, 16):
            break
        waiting[number] = page
        at += FRAME + page_size
        if size_after:
            committed.update(waiting)
            waiting, commits, end, most = {}, commits + 1, at, size_after
    rest = _rest(body[at:], page_size, salts)
    return LogFile(
        size=len(body), page_size=page_size, commits=commits, unfinished=at - end + rest[0], broken=rest[1],
        pages={number: page for number, page in committed.items() if number <= most},
    )  # fmt: skip


def identity_in_log(path: Path) -> int | None:
    """The number that `user_version` has in the newest copy of the first page; null where the log holds none.

    Checksums are not looked at, so that a long log costs nothing. OSError when it cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(HEADER)
        if len(start) < HEADER or (fields := _header(start)) is None:
            return None
        found, at = None, HEADER
        while len(head := file.read(FRAME)) == FRAME and head[8:16] == start[16:24]:
            if head[:4] == b"\0\0\0\1" and len(page := file.read(64)) == 64:
                found = int.from_bytes(page[60:64], "big")
            at += FRAME + fields[1]
            file.seek(at)
    return found


def _rest(rest: bytes, page_size: int, salts: bytes) -> tuple[int, int]:
    """What follows the last frame that is right: (bytes of an unfinished write, bytes that are broken).

    Frames of an earlier round of the log carry older salts: they are neither. The last frame of a write that was cut
    off is short, or has its header and not all of its page.
    """
    if not rest:
        return 0, 0
    if len(rest) < FRAME + page_size:
        return len(rest), 0
    if rest[8:16] == salts:
        last = len(rest) < 2 * (FRAME + page_size)
        return (len(rest), 0) if last else (0, len(rest))
    return (0, 0) if _is_earlier(rest[8:16], salts) else (0, len(rest))


def _is_earlier(salts: bytes, now: bytes) -> bool:
    """The first salt grows by 1 with each round of the log; 1,000 rounds are more than one file lives to see stale."""
    (old,), (new,) = struct.unpack(">I", salts[:4]), struct.unpack(">I", now[:4])
    return bool(0 < (new - old) & 0xFFFFFFFF <= 1_000_000)
