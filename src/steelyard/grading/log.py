"""Rows in little memory: written one after the other as bytes, packed in blocks, read again when asked for."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from steelyard.model.columns import ColumnBuilder, CompactRows, Row, RowColumns
from steelyard.model.verdict import Errored, Graded, Skipped, TrialRow, Unknown

BLOCK = 1 << 18
"""Bytes of one block before it is packed."""
UNPACKED = 1 << 21
"""So many bytes stay as they are; packing them would cost more time than it is worth."""

_Rows = Graded | Unknown | Errored | Skipped
_encode = msgspec.msgpack.Encoder().encode
_decode_verdict = msgspec.msgpack.Decoder(_Rows).decode
_decode_trial = msgspec.msgpack.Decoder(TrialRow).decode
_TRIAL = b"t"[0]
_PLAIN = (str, float, int, bool, type(None))


class RowLog(CompactRows):
    """A sequence of rows that grows at its end; `columns` and `rows_at` read it without holding the rows as objects.

    The place of a row is its position.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._builder = ColumnBuilder()
        self._columns: RowColumns | None = None
        self._ends = array("q")  # where each row ends in its block
        self._starts: list[int] = []  # position of the first row of each packed block
        self._blocks: list[bytes] = []
        self._packed: list[bool] = []
        self._open: list[bytes] = []
        self._open_size = 0
        self._total = 0
        self._odd: dict[int, Row] = {}
        self._last: tuple[int, bytes] = (-1, b"")
        self.extend(rows)

    def append(self, row: Row) -> None:
        """Add one row."""
        place = len(self._ends)
        self._builder.add(row, place)
        self._columns = None
        written = self._written(row, place)
        self._open.append(written)
        self._open_size += len(written)
        self._ends.append(self._open_size)
        if self._open_size >= BLOCK:
            self._pack()

    def extend(self, rows: Iterable[Row]) -> None:
        """Add several."""
        for row in rows:
            self.append(row)

    def _written(self, row: Row, place: int) -> bytes:
        """The row as bytes; what bytes cannot give back exactly is held as it is."""
        try:
            if isinstance(row, TrialRow):
                return b"t" + _encode(row)
            if not row.extracted or _is_plain(row.extracted):
                return b"v" + _encode(row)
        except (TypeError, ValueError, OverflowError, RecursionError):
            pass
        self._odd[place] = row
        return b""

    def _pack(self) -> None:
        block = b"".join(self._open)
        self._total += len(block)
        packed = self._total > UNPACKED
        self._starts.append(len(self._ends) - len(self._open))
        self._blocks.append(zlib.compress(block, 1) if packed else block)
        self._packed.append(packed)
        self._open, self._open_size = [], 0

    def columns(self) -> RowColumns:
        if self._columns is None:
            self._columns = self._builder.columns()
        return self._columns

    def rows_at(self, places: Sequence[int]) -> list[Row]:
        return [self._read(place) for place in places]

    def _read(self, place: int) -> Row:
        if place in self._odd:
            return self._odd[place]
        block = bisect_right(self._starts, place) - 1
        first_open = len(self._ends) - len(self._open)
        if place >= first_open:
            return _row(self._open[place - first_open])
        start = self._ends[place - 1] if place > self._starts[block] else 0
        return _row(self._block(block)[start : self._ends[place]])

    def _block(self, block: int) -> bytes:
        if not self._packed[block]:
            return self._blocks[block]
        if self._last[0] != block:
            self._last = (block, zlib.decompress(self._blocks[block]))
        return self._last[1]

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[Row]:
        return (self._read(place) for place in range(len(self._ends)))

    def __getitem__(self, index: int | slice) -> Any:
        places = range(len(self._ends))[index]
        return self._read(places) if isinstance(places, int) else tuple(map(self._read, places))


def _row(written: bytes) -> Row:
    body = memoryview(written)[1:]
    return _decode_trial(body) if written[0] == _TRIAL else _decode_verdict(body)


def _is_plain(value: Any) -> bool:
    """Whether a value is the same after it was written and read; others are held as they are."""
    if isinstance(value, dict):
        return all(type(name) is str and _is_plain(child) for name, child in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN
