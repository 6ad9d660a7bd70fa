"""Long texts in a window: the start, the end and what is quoted; sizes and a hash stand for the rest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from steelyard.report.html.tags import Child, Markup, tag, text
from steelyard.report.numbers import quantity
from steelyard.report.plain import plain
from steelyard.report.steps import LARGEST_VALUE, size_of
from steelyard.report.text import visible

FOLD = 1_200
"""Characters beyond which a text is folded."""
WINDOW = 4_000
"""Characters that are shown of a longer text, half at its start and half at its end."""
AROUND = 200
"""Characters shown on each side of a quote that stands in neither."""
MOST_SEARCHED = 4_000_000
"""Characters up to which quotes are looked up whatever their white space."""
MOST_WORDS = 400
MOST_MARKS = 20
SUMMARY = 160
CHUNK = 1 << 20

Span = tuple[int, int]


class Long(msgspec.Struct, frozen=True, kw_only=True):
    """A text: all of it, or its start and end with the size of the whole and its SHA-256."""

    head: str
    tail: str = ""
    characters: int
    size: int
    sha256: str = ""

    @property
    def whole(self) -> bool:
        return not self.sha256


def of_text(raw: str) -> Long:
    """`raw` as it is where it fits; sizes and hash are of its UTF-8 bytes, taken piece by piece."""
    if len(raw) <= WINDOW:
        return Long(head=raw, characters=len(raw), size=len(raw.encode("utf-8", "surrogatepass")))
    return _measured([raw])


def of_value(value: Any) -> Long:
    """A value as one line of JSON, text as it is. A large value is written out piece by piece, never whole."""
    if isinstance(value, str):
        return of_text(value)
    if size_of(value, LARGEST_VALUE) >= LARGEST_VALUE:
        return _measured(json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value))
    return of_text(json.dumps(plain(value), ensure_ascii=False))


def _measured(pieces: Iterable[str]) -> Long:
    head, tail, characters, size, digest = "", "", 0, 0, hashlib.sha256()
    for piece in pieces:
        for start in range(0, len(piece), CHUNK):
            part = piece[start : start + CHUNK]
            data = part.encode("utf-8", "surrogatepass")
            digest.update(data)
            size += len(data)
            characters += len(part)
            if len(head) < WINDOW:
                head += part[: WINDOW - len(head)]
            tail = (tail + part)[-WINDOW // 2 :] if len(part) < WINDOW // 2 else part[-WINDOW // 2 :]
    if characters <= WINDOW:
        return Long(head=head, characters=characters, size=size)
    return Long(
        head=head[: WINDOW // 2], tail=tail, characters=characters, size=size, sha256=digest.hexdigest()
    )


# --- quotes ------------------------------------------------------------------------------------------


def found(quotes: Iterable[str], content: str) -> list[Span]:
    """Where quotes stand in a content: each at its first place; merged, in order.

    Runs of white space count as one, but in a very long content, where a quote must stand as it is.
    """
    spans = [span for quote in quotes if (span := _place(quote, content))]
    merged: list[Span] = []
    for start, end in sorted(spans)[:MOST_MARKS]:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _place(quote: str, content: str) -> Span | None:
    words = [re.escape(word) for word in quote.split()]
    if not words or len(words) >= MOST_WORDS:
        return None
    if len(content) > MOST_SEARCHED:
        start = content.find(quote)
        return (start, start + len(quote)) if start >= 0 else None
    place = re.search(r"\s+".join(words), content)
    return place.span() if place else None


def marked(content: str, spans: Sequence[Span]) -> Markup:
    """A content with its spans marked; line ends and tabs stay, everything else that hides or reorders is shown."""
    parts: list[Child] = []
    before = 0
    for start, end in spans:
        parts += [
            text(content[before:start], keep="\n\t"),
            tag("mark", text(content[start:end], keep="\n\t")),
        ]
        before = end
    parts.append(text(content[before:], keep="\n\t"))
    return Markup("".join(str(part) for part in parts))


# --- the window --------------------------------------------------------------------------------------


def shown(content: Long, whole: str | None, quotes: Sequence[str], where: str) -> Markup:
    """A content, folded with its size when it is long. `whole` is searched for quotes; `where` says who has it all."""
    if content.whole:
        spans = found(quotes, content.head)
        body = tag("pre", marked(content.head, spans))
        if len(content.head) <= FOLD:
            return body
        return _folded(content, tag("div", body), bool(spans))
    spans = found(quotes, whole) if whole is not None else []
    parts = list(_pieces(content, whole, spans))
    left_out = content.characters - len(content.head) - len(content.tail)
    note = (
        f"{left_out:,} of {content.characters:,} characters are left out here, but for quotes; the whole is "
        f"{content.size:,} bytes, sha256 {content.sha256}, in {where}"
    )
    return _folded(content, tag("div", *parts, tag("p", note, class_="quiet")), bool(spans))


def _pieces(content: Long, whole: str | None, spans: Sequence[Span]) -> Iterator[Markup]:
    gap = tag("p", "… left out …", class_="gap")
    half = len(content.head)
    end_at = content.characters - len(content.tail)
    yield tag("pre", marked(content.head, [span for span in spans if span[1] <= half]))
    yield gap
    for start, end in (span for span in spans if whole is not None and span[1] > half and span[0] < end_at):
        low, high = max(0, start - AROUND), min(content.characters, end + AROUND)
        stop = min(end, start + WINDOW)
        yield tag("pre", marked((whole or "")[low : min(high, stop + AROUND)], [(start - low, stop - low)]))
        yield gap
    in_tail = [(start - end_at, end - end_at) for start, end in spans if start >= end_at]
    yield tag("pre", marked(content.tail, in_tail))


def _folded(content: Long, body: Markup, is_open: bool) -> Markup:
    start = " ".join(visible(content.head[:SUMMARY]).replace("\\n", " ").split())
    size = f"{content.characters:,} characters, {_bytes(content.size)}"
    summary = tag("summary", tag("span", f"{start}… ", class_="start"), tag("span", size, class_="size"))
    return tag("details", summary, body, open=is_open, class_="long")


def _bytes(size: int) -> str:
    for unit, factor in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= factor:
            return f"{quantity(size / factor)} {unit}"
    return f"{size:,} bytes"
