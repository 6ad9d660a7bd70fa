"""Records with a text of many megabytes, decoded from blocks so that the text is held once.

Texts that are longer than `MOST_TEXT` are cut out of the JSON while it is read and decoded piece by piece; a short
token stands for them in what is left, which is decoded like any other record. The peak is then the record without its
long texts, these texts, and some blocks.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from steelyard.importers import decoding

BLOCK = 1 << 20
"""Bytes that are read at a time."""

GATHERED = 4
"""Blocks of a text that are put together before it grows: where Python copies it to do so, that is not for each."""

MOST_TEXT = 1 << 18
"""Bytes of a text as written up to which it is decoded with its record."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_UNIT = 12
"""Bytes of the longest unit that must not be cut: a pair of escaped surrogates."""

_decode_text = msgspec.json.Decoder(str).decode
_SURROGATE_NOTICE = ("lone_surrogate", "A text holds half of a surrogate pair; it is replaced by U+FFFD.")
_NUL_NOTICE = ("nul_character", "A text holds the NUL character; it is kept.")


class TooLarge(Exception):
    """There is more JSON beside the long texts than is wanted."""


def decode_blocks(blocks: Iterable[bytes], *, most: int | None = None) -> tuple[Any, decoding.Oddities]:
    """As `decoding.decode`, of a JSON text that comes in blocks. Raises `decoding.Refused`.

    `most`: bytes of JSON without its long texts; `TooLarge` where there are more.
    """
    scanner = _Scanner()
    for block in blocks:
        scanner.feed(block)
        if most is not None and scanner.size > most:
            raise TooLarge
    skeleton, texts = scanner.finish()
    if not texts:
        return decoding.decode(skeleton)
    try:
        value, oddities = decoding.decode(skeleton)
    except decoding.Refused as refused:
        raise decoding.Refused(f"{refused}, not counting {len(texts)} long texts before it") from None
    told = dict(oddities)
    for notice in scanner.oddities:
        told.setdefault(*notice)
    return _with_texts(value, texts), tuple(told.items())


def blocks_of(text: str) -> Iterator[bytes]:
    """A text as blocks of UTF-8. Raises `UnicodeEncodeError` for halves of surrogate pairs."""
    for start in range(0, len(text), BLOCK):
        yield text[start : start + BLOCK].encode()


class _LongText:
    """One long text, decoded as its pieces come."""

    def __init__(self, start: int) -> None:
        self._text = ""
        self._pieces: list[str] = []
        self.start = start
        self.notices: set[tuple[str, str]] = set()

    def take(self, written: bytes, *, ends: bool) -> bytes:
        """Decodes as much as is whole and gives back the few bytes that are not."""
        most = 1 if ends else min(_LONGEST_UNIT, len(written))
        for back in range(most):
            cut = len(written) - back
            try:
                piece = _decode_text(b'"' + written[:cut] + b'"')
            except (msgspec.MsgspecError, UnicodeError):
                continue
            self._append(piece)
            return written[cut:]
        for back in range(most):
            cut = len(written) - back
            odd = self._oddly(written[:cut])
            if odd is not None and (ends or not "\ud800" <= odd[-1:] <= "\udbff"):
                self.notices.add(_SURROGATE_NOTICE)
                self._append(_SURROGATE.sub("\ufffd", odd))
                return written[cut:]
        if not ends and len(written) <= _LONGEST_UNIT:
            return written
        raise decoding.Refused(f"a text that begins at byte {self.start} cannot be read")

    def _append(self, piece: str, *, last: bool = False) -> None:
        if "\0" in piece:
            self.notices.add(_NUL_NOTICE)
        self._pieces.append(piece)
        if last or len(self._pieces) >= GATHERED:
            # With one reference alone, Python extends a text where it is; if it does not, this is a copy at times.
            text, self._text = self._text, ""
            text += "".join(self._pieces)
            self._text = text
            self._pieces.clear()

    def whole(self) -> str:
        """All that was taken."""
        self._append("", last=True)
        return self._text

    def _oddly(self, written: bytes) -> str | None:
        try:
            found = json.loads(f'"{written.decode("utf-8")}"')
        except ValueError:
            return None
        return found if isinstance(found, str) else None


class _Scanner:
    """Cuts long texts out of JSON. It only has to know where texts begin and end; the decoder judges the rest."""

    def __init__(self) -> None:
        self.oddities: set[tuple[str, str]] = set()
        self.size = 0
        """Bytes beside the long texts, so far."""
        self._token = f"long text {secrets.token_hex(16)} "
        self._skeleton: list[bytes] = []
        self._texts: dict[str, str] = {}
        self._rest = b""
        self._seen = 0
        self._long: _LongText | None = None

    def feed(self, block: bytes) -> None:
        block, self._rest = self._rest + block, b""
        kept = b""
        if (len(block) - len(block.rstrip(b"\\"))) % 2:  # half an escape
            block, kept = block[:-1], block[-1:]
        # Equally long, without the escapes that could be taken for a quotation mark.
        masked = block.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in block else block
        at = self._finish_long(block, masked) if self._long is not None else 0
        if self._long is None:
            at = self._short_ones(block, masked, at)
        self._seen += at
        self._rest = block[at:] + self._rest + kept

    def _finish_long(self, block: bytes, masked: bytes) -> int:
        assert self._long is not None
        end = masked.find(b'"')
        if end < 0:
            return len(block) - len(self._long.take(block, ends=False))
        self._long.take(block[:end], ends=True)
        token = f"{self._token}{len(self._texts)}"
        self._texts[token] = self._long.whole()
        self.oddities |= self._long.notices
        self._skeleton.append(f'"{token}"'.encode())
        self._long = None
        return end + 1

    def _short_ones(self, block: bytes, masked: bytes, at: int) -> int:
        """Copies what is whole; a text that the block cuts is left for the next one, or begun as a long one."""
        inside = masked.count(b'"', at) % 2
        opened = masked.rfind(b'"', at) if inside else len(block)
        self._skeleton.append(block[at:opened])
        self.size += opened - at
        if inside and len(block) - opened > MOST_TEXT:
            self._long = _LongText(self._seen + opened)
            return opened + 1
        return opened

    def finish(self) -> tuple[bytes, dict[str, str]]:
        if self._long is not None:
            raise decoding.Refused(f"a text that begins at byte {self._long.start} has no end")
        self._skeleton.append(self._rest)
        skeleton = b"".join(self._skeleton)
        self._skeleton.clear()
        return skeleton, self._texts


def _with_texts(value: Any, texts: dict[str, str]) -> Any:
    """`value` with the long texts where their tokens stand, changed in place."""
    if isinstance(value, str):
        return texts.get(value, value)
    pending = [value]
    while pending:
        parent = pending.pop()
        places = parent.items() if isinstance(parent, dict) else enumerate(parent)
        for place, child in list(places):
            if isinstance(child, dict | list):
                pending.append(child)
            elif isinstance(child, str) and child in texts:
                parent[place] = texts[child]
            if isinstance(place, str) and place in texts:
                raise decoding.Refused(f"it has a key of {len(texts[place])} characters")
    return value
