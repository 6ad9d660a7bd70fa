"""Lines of styled pieces on a terminal page of fixed width. Colour only repeats what a word or sign says."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.report.text import Pen, columns

Piece = tuple[str, str]
"""Text that is safe to print, and its style (empty: none)."""

CODES = {
    "pass": "32", "fail": "31", "error": "35", "unknown": "33", "skipped": "36",
    "bold": "1", "dim": "2",
    "PASS": "1;32", "FAIL": "1;31", "INCOMPLETE": "1;33",
}  # fmt: skip
SIGNS = {"pass": "✓", "fail": "✗", "unknown": "?", "error": "!", "skipped": "→"}
NARROWEST = 20


class Page:
    """Collects lines; none is ever wider than `width` columns (at least 20)."""

    def __init__(self, *, width: int, color: bool, unicode: bool) -> None:
        self.width = max(width, NARROWEST)
        self.color = color
        self.pen = Pen(unicode)
        self._lines: list[str] = []

    def line(self, pieces: Iterable[Piece]) -> None:
        """One line of pieces that are safe already; what does not fit is cut."""
        out: list[str] = []
        room = self.width
        for text, style in pieces:
            shown = text if columns(text) <= room else self.pen.fit(text, room)
            room -= columns(shown)
            out.append(self._styled(shown, style))
        self._lines.append("".join(out).rstrip())

    def text(self, raw: str, *, indent: int = 0, lead: str = "", style: str = "", most: int = 0) -> None:
        """Any text, wrapped below itself; `lead` stands before its first line, inside the indent."""
        for number, part in enumerate(self.pen.wrap(raw, self.width - indent, most)):
            start = self.pen.pad(lead if number == 0 else "", indent)
            self.line([(start, ""), (part, style)])

    def parts(self, parts: Iterable[str], *, indent: int = 0, lead: str = "") -> None:
        """Short parts in a row with a dot between them, broken between parts where they can be."""
        line = ""
        for part in parts:
            longer = f"{line} · {part}" if line else part
            if line and columns(self.pen.text(longer)) > self.width - indent:
                self.text(line, indent=indent, lead=lead, most=3)
                lead, line = "", part
            else:
                line = longer
        if line:
            self.text(line, indent=indent, lead=lead, most=3)

    def rule(self) -> None:
        """A line across the page."""
        self.line([(self.pen.text("─") * self.width, "dim")])

    def sign(self, outcome: str) -> Piece:
        """The sign of an outcome word, with its colour."""
        return (self.pen.text(SIGNS.get(outcome, " ")), outcome)

    def _styled(self, text: str, style: str) -> str:
        if not (self.color and style in CODES and text.strip()):
            return text
        return f"\x1b[{CODES[style]}m{text}\x1b[0m"

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"
