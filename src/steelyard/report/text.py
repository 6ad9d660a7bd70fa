"""Untrusted text on a fixed grid: made visible, measured in terminal columns, cut, wrapped."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Literal

JOINER = "\u200d"
EMOJI_STYLE = "\ufe0f"
JOINING = (JOINER, EMOJI_STYLE)
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
MARKS = frozenset({"Mn", "Me"})
MOST_MARKS = 2
"""A letter may carry so many combining marks; further ones are written out, or they would climb over other lines."""

NOW_WIDE = ((0x2630, 0x2637), (0x268A, 0x268F), (0x4DC0, 0x4DFF), (0x1D300, 0x1D376))
"""Became wide after the Unicode version that Python 3.11 knows."""

ASCII = str.maketrans({
    "\N{EN DASH}": "-", "\N{EM DASH}": "-", "\N{MINUS SIGN}": "-", "\N{MULTIPLICATION SIGN}": "x",
    "\N{LEFT SINGLE QUOTATION MARK}": "'", "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"', "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "…": "...", "·": "|", "≥": ">=", "≤": "<=", "≠": "!=", "→": "->", "•": "*", "─": "-", "│": "|",
    "✓": "+", "✗": "x", "●": "o", "○": "O", "├": "|", "┤": "|",
})  # fmt: skip

Where = Literal["end", "middle"]


def visible(text: str, keep: str = "") -> str:
    """`text` with everything that could move the cursor, hide or reorder text written out (`\\n`, `\\x1b`, `\\u202e`).

    Escaped are control, format, surrogate, private and unassigned characters and separators other than the space;
    kept are the characters in `keep`, and joiners and selectors inside an emoji. Printable ASCII comes back as it is.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(text, keep))


def _visible(text: str, keep: str) -> Iterator[str]:
    before, marks = "", 0
    for char in text:
        category = unicodedata.category(char)
        if char in keep:
            shown, marks = char, MOST_MARKS
        elif char in (JOINER, EMOJI_STYLE):
            shown = char if before in ("So", "Sk") else escaped(char)
            marks = MOST_MARKS
        elif category in MARKS:
            shown = char if before and marks < MOST_MARKS else escaped(char)
            marks += 1
        elif category in HIDDEN or (category == "Zs" and char != " "):
            shown, marks = escaped(char), MOST_MARKS
        else:
            shown, marks = char, 0
        if not (char == EMOJI_STYLE and shown == char):
            before = category if shown == char else ""
        yield shown


def escaped(char: str) -> str:
    """The escape of one character as Python writes it: `\\n`, `\\x1b`, `\\u202e`, `\\U000e0001`."""
    code = ord(char)
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def columns(text: str) -> int:
    """Columns that visible text takes in a terminal; never less than it takes, so that a line never runs over."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    code = ord(char)
    if code < 0x300:
        return 1
    if char == EMOJI_STYLE:  # asks for the wide picture of a narrow character
        return 1
    if char == JOINER or unicodedata.category(char) in MARKS:
        return 0
    if unicodedata.east_asian_width(char) in "WF" or any(low <= code <= high for low, high in NOW_WIDE):
        return 2
    return 1


class Pen:
    """Writes text for one terminal: UTF-8, or plain ASCII where everything else is escaped."""

    def __init__(self, unicode: bool = True) -> None:
        self.unicode = unicode
        self.dots = "…" if unicode else "..."

    def text(self, raw: str) -> str:
        """`raw` on one line, safe to print."""
        shown = visible(raw)
        if self.unicode or shown.isascii():
            return shown
        return shown.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")

    def fit(self, raw: str, width: int, where: Where = "end") -> str:
        """`raw` made safe and cut to `width` columns; the cut is marked at the end or in the middle."""
        most = (MOST_MARKS + 1) * (width + 1) + 1
        if len(raw) <= 2 * most:
            shown = self.text(raw)
            if columns(shown) <= width:
                return shown
            head, tail = shown, shown
        else:
            head, tail = self.text(raw[:most]), self.text(raw[-most:])
        room = width - len(self.dots)
        if room < 1:
            return _head(head, width)
        if where == "end" or room < 4:
            return _head(head, room) + self.dots
        back = room // 2
        return _head(head, room - back) + self.dots + _tail(tail, back)

    def pad(self, raw: str, width: int, where: Where = "end") -> str:
        """`fit`, filled with spaces on the right to exactly `width` columns."""
        shown = self.fit(raw, width, where)
        return shown + " " * (width - columns(shown))

    def wrap(self, raw: str, width: int, most: int = 0) -> list[str]:
        """`raw` made safe and broken at spaces (inside words where needed); the last of `most` lines is cut."""
        lines: list[str] = []
        rest = self.text(raw[: most * 3 * (width + 1)] if most else raw)
        while columns(rest) > width:
            if most and len(lines) + 1 == most:
                lines.append(self.fit(rest, width))
                return lines
            head = _head(rest, width) or rest[:1]
            space = head.rfind(" ")
            if space > 0 and not rest[len(head) :].startswith(" "):
                head = head[:space]
            lines.append(head.rstrip())
            rest = rest[len(head) :].lstrip(" ")
        return [*lines, rest] if rest or not lines else lines


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _cells(char)
        if used > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    used, index = 0, len(text)
    while index > 0:
        used += _cells(text[index - 1])
        if used > width:
            break
        index -= 1
    # A mark or joiner without its letter would sit on the sign of the cut.
    while index < len(text) and (text[index] in JOINING or unicodedata.category(text[index]) in MARKS):
        index += 1
    return text[index:]
