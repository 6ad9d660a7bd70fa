"""A measured figure beside its goal and its floor, and how a list of them looks in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """One goal. `reached`, `limit`, `floor` share the `unit`. `limit` null: only measured; `reached` null: not built.

    `at_least` turns the comparison round.
    """

    work: str
    unit: str
    reached: float | None
    limit: float | None = None
    floor: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def state(self) -> str:
        """`holds`, `MISSED`, `measured` (no goal) or `not built`."""
        if self.reached is None:
            return "not built"
        if self.limit is None:
            return "measured"
        held = self.reached >= self.limit if self.at_least else self.reached <= self.limit
        return "holds" if held else "MISSED"

    @property
    def cells(self) -> tuple[str, ...]:
        """Work, goal, reached, state, floor, times the floor; empty where there is none."""
        sign = "≥" if self.at_least else "≤"
        ratio = self.reached / self.floor if self.reached is not None and self.floor else None
        return (
            self.work,
            f"{sign} {figure(self.limit, self.unit)}" if self.limit is not None else "",
            figure(self.reached, self.unit) if self.reached is not None else "",
            self.state,
            figure(self.floor, self.unit) if self.floor is not None else "",
            f"{ratio:.1f}×" if ratio is not None else "",
        )


HEADS = ("work", "goal", "reached", "", "floor", "× floor")


def figure(value: float, unit: str) -> str:
    """Three significant digits; never rounded to a whole number's neighbour across a goal of whole units."""
    if unit.startswith("of "):
        return f"{value:.0f} {unit}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f} {unit}".replace(",", " ")


def terminal(rows: Sequence[Row]) -> str:
    """Columns as wide as their widest cell, notes below their row."""
    return columns(
        [HEADS, *(row.cells for row in rows)], {n + 1: row.note for n, row in enumerate(rows) if row.note}
    )


def columns(lines: Sequence[Sequence[str]], notes: dict[int, str] | None = None) -> str:
    """Cells in columns; `notes` by the number of the line that they follow."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    shown = []
    for number, line in enumerate(lines):
        shown.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if notes and number in notes:
            shown.append(f"    {notes[number]}")
    return "\n".join(shown)


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of a page."""
    marks = ["---" for _ in heads]
    return "\n".join("| " + " | ".join(line).replace("\n", " ") + " |" for line in (heads, marks, *lines))


def goals_table(rows: Sequence[Row]) -> str:
    """The table of goals on a page, the state in words that stand out."""
    lines = [
        (f"{row.work} ({row.note})" if row.note else row.work, *row.cells[1:3], _state(row), *row.cells[4:])
        for row in rows
    ]
    return markdown(HEADS, lines)


def _state(row: Row) -> str:
    return f"**{row.state}**" if row.state == "MISSED" else row.state
