"""Rows out of the pages of an SQLite file, whether or not the file can still be opened.

Every leaf page of a table says for itself which rows it holds, so a lost header, root or neighbour costs only what
stood in it. Read as bytes, with every length checked: a damaged page gives fewer rows, never another outcome. Which
table a row belongs to follows from its shape (`salvage`).

Format: https://www.sqlite.org/fileformat2.html#b_tree_pages
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

Record = tuple[int, tuple[Any, ...]]
"""The row's id and its columns; the column that stands for the id is null."""

USUAL_PAGE = 4_096
_LEAF = 0x0D
_MOST_ROW = 1 << 30
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class _NotReadableError(Exception):
    """A page or row that is not as SQLite writes it."""


class Pages:
    """The pages of a file, with those that its log holds in their place."""

    def __init__(self, body: bytes, page_size: int, newer: Mapping[int, bytes]) -> None:
        self.size = page_size
        self._body = body
        self._newer = newer
        whole = -(-len(body) // page_size)
        self.count = max([whole, *newer])

    def page(self, number: int) -> bytes:
        """A page by its number, from 1; shorter at the end of a file that was cut, empty beyond it."""
        held = self._newer.get(number)
        return held if held is not None else self._body[(number - 1) * self.size : number * self.size]

    def records(self) -> Iterator[Record]:
        """Every row of every leaf page, in the order of the pages. Page 1 describes the tables and is left out."""
        for number in range(2, self.count + 1):
            yield from self._leaf(self.page(number))

    def _leaf(self, page: bytes) -> Iterator[Record]:
        if len(page) < 8 or page[0] != _LEAF:
            return
        cells = int.from_bytes(page[3:5], "big")
        if cells > (self.size - 8) // 4:
            return
        for index in range(cells):
            try:
                (offset,) = struct.unpack_from(">H", page, 8 + 2 * index)
                yield self._cell(page, offset)
            except (_NotReadableError, struct.error, IndexError, UnicodeDecodeError, OverflowError):
                continue

    def _cell(self, page: bytes, offset: int) -> Record:
        length, at = _varint(page, offset)
        id_, at = _varint(page, at)
        if not 0 < length <= _MOST_ROW or id_ <= 0:
            raise _NotReadableError
        most = self.size - 35
        if length <= most:
            body = page[at : at + length]
        else:
            least = (self.size - 12) * 32 // 255 - 23
            here = least + (length - least) % (self.size - 4)
            here = here if here <= most else least
            body = page[at : at + here] + self._overflow(page[at + here : at + here + 4], length - here)
        if len(body) != length:
            raise _NotReadableError
        return id_, _columns(body)

    def _overflow(self, first: bytes, left: int) -> bytes:
        parts: list[bytes] = []
        number = int.from_bytes(first, "big")
        while left > 0:
            page = self.page(number) if 1 < number <= self.count else b""
            part = page[4 : 4 + left]
            if not part:
                raise _NotReadableError
            parts.append(part)
            left -= len(part)
            number = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def page_size_of(body: bytes) -> int:
    """The page size that the header states; the usual one where it states none that can be."""
    stated = int.from_bytes(body[16:18], "big") if body[:6] == b"SQLite" else 0
    stated = 65_536 if stated == 1 else stated
    return stated if stated >= 512 and stated & (stated - 1) == 0 else USUAL_PAGE


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(9):
        byte = data[at + index]
        if index == 8:
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + index + 1
    raise _NotReadableError


def _columns(body: bytes) -> tuple[Any, ...]:
    end, at = _varint(body, 0)
    if end > len(body):
        raise _NotReadableError
    kinds: list[int] = []
    while at < end:
        kind, at = _varint(body, at)
        kinds.append(kind)
    values: list[Any] = []
    for kind in kinds:
        value, at = _value(body, at, kind)
        values.append(value)
    if at != len(body):
        raise _NotReadableError
    return tuple(values)


def _value(body: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    if kind in _INTEGERS:
        end = at + _INTEGERS[kind]
        return int.from_bytes(body[at:end], "big", signed=True), end
    if kind == 7:
        return struct.unpack_from(">d", body, at)[0], at + 8
    if kind < 12:
        raise _NotReadableError
    end = at + (kind - 12) // 2
    if end > len(body):
        raise _NotReadableError
    return (body[at:end].decode() if kind % 2 else body[at:end]), end
