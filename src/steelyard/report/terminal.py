"""The scoreboard and the what-if board in a terminal. Layout only: every number comes formatted from the view."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from steelyard.model.table import ScoreTable
from steelyard.report.changes import Change, changes
from steelyard.report.failures import NO_RULES, Failure, Failures, Rules
from steelyard.report.hidden import Hidden, Ungraded
from steelyard.report.numbers import TIMES
from steelyard.report.page import Page, Piece
from steelyard.report.text import Pen, columns
from steelyard.report.view import Board, Interval, Row, board

GAP = "  "
MOST_NOTICES = 6
SHORTEST_BAR = 6
LONGEST_BAR = 17
NOT_SAVED = "what-if: nothing is saved"


def scoreboard(
    table: ScoreTable, *, width: int = 80, color: bool = False, unicode: bool = True, rules: Rules = NO_RULES
) -> str:
    """The scores of one grading, in reading order: decision, primary metric, what broke it, where.

    No line is wider than `width` columns (meant for 60 and more). Text of the table is escaped, so that it cannot
    steer the terminal; with `unicode` false the result is ASCII. `rules` maps (task id, criterion id) to the rule's
    text, which stands in for a missing failure tag.
    """
    page = Page(width=width, color=color, unicode=unicode)
    view = board(table, rules)
    _header(page, view, view.whatif)
    page.rule()
    _rows(page, view.rows)
    indent = _columns(page, view.rows).label + len(GAP)
    for fact in view.facts:
        page.parts(fact.parts, indent=indent, lead=page.pen.fit(fact.label, indent - len(GAP)))
    page.rule()
    _failures(page, view.failures)
    _hidden(page, view.hidden)
    _ungraded(page, view.ungraded)
    page.parts(view.graders)
    for notice in view.notices[:MOST_NOTICES]:
        page.text(notice, indent=6, lead="note", most=2)
    if len(view.notices) > MOST_NOTICES:
        page.text(f"{len(view.notices) - MOST_NOTICES:,} more notices (--json lists them)", indent=6)
    return str(page)


def whatif_board(
    before: ScoreTable, after: ScoreTable, *, width: int = 80, color: bool = False, unicode: bool = True
) -> str:
    """Each headline of a record and of its what-if: old, new, difference in points; then what changed."""
    page = Page(width=width, color=color, unicode=unicode)
    difference = changes(before, after)
    _header(page, board(after), after.whatif or (NOT_SAVED,))
    page.rule()
    _change_rows(page, difference.headlines)
    page.rule()
    for label, lines, rest in (
        ("changed verdicts", difference.verdicts, difference.more_verdicts),
        ("changed trials", difference.trials, difference.more_trials),
    ):
        if lines:
            page.line([(label, "bold")])
            for line in lines:
                page.text(line, indent=2, most=2)
            if rest:
                page.text(f"{rest:,} more", indent=2, style="dim")
    if not difference.verdicts and not difference.trials:
        page.text("No verdict and no trial changes.")
    return str(page)


def _header(page: Page, view: Board, replaced: tuple[str, ...]) -> None:
    decision = page.pen.fit(view.decision, page.width)
    room = page.width - columns(decision) - 2
    counts = page.pen.text("".join(f" · {count}" for count in view.counts))
    if columns(counts) + 12 > room:
        counts = ""
    title = page.pen.fit(view.title, room - columns(counts), "middle")
    filler = " " * (room + 2 - columns(title) - columns(counts))
    page.line([(title, "bold"), (counts, ""), (filler, ""), (decision, view.decision)])
    if not counts:
        page.text(" · ".join(view.counts), indent=2)
    _whatif(page, replaced)
    page.text(f"because {view.because}", indent=2, most=4)


def _whatif(page: Page, replaced: tuple[str, ...]) -> None:
    if not replaced:
        return
    stated = NOT_SAVED if replaced == (NOT_SAVED,) else f"{NOT_SAVED} · {'; '.join(replaced)}"
    page.text(stated, style="unknown", most=4)


# --- rows of numbers -------------------------------------------------------------------------------


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """Widths of the columns of one board; `bar` is 0 where there is no room for one."""

    label: int
    value: int
    votes: int
    interval: int
    bar: int

    @property
    def indent(self) -> int:
        """Where what votes begins."""
        return self.label + self.value + 2 * len(GAP)


def _columns(page: Page, rows: tuple[Row, ...]) -> Columns:
    def widest(texts: Iterable[str]) -> int:
        return max((columns(page.pen.text(text)) for text in texts), default=0)

    label = min(widest(row.label[: page.width] for row in rows), max(11, page.width // 5))
    value = widest(row.value for row in rows)
    votes = widest(row.votes for row in rows if row.interval)
    words = widest(row.interval.text for row in rows if row.interval and row.interval.low is not None)
    tail = widest(row.tails[0] for row in rows if row.tails and row.interval and row.interval.low is not None)
    free = page.width - label - value - votes - 3 * len(GAP) - words - 1 - (tail + len(GAP) if tail else 0)
    bar = min(free, LONGEST_BAR) if free >= SHORTEST_BAR else 0
    return Columns(label=label, value=value, votes=votes, interval=words + (bar + 1 if bar else 0), bar=bar)


def _rows(page: Page, rows: tuple[Row, ...]) -> None:
    grid = _columns(page, rows)
    for row in rows:
        _row(page, grid, row)


def _row(page: Page, grid: Columns, row: Row) -> None:
    pen = page.pen
    value = pen.text(row.value)
    start: list[Piece] = [
        (pen.pad(row.label, grid.label, "middle") + GAP, "bold" if row.primary else ""),
        (" " * (grid.value - columns(value)) + value + GAP, "bold" if row.label else ""),
    ]
    pieces = [*start, (pen.pad(row.votes, grid.votes) if row.interval else pen.text(row.votes), "")]
    used = sum(columns(text) for text, _ in pieces)
    tails = [pen.text(tail) for tail in row.tails]
    room = page.width - used - sum(len(GAP) + columns(tail) for tail in tails) - len(GAP)
    cells = [_interval_cell(pen, grid, row.interval, bool(tails), room)] if row.interval else []
    cells += tails
    for cell in cells:
        needed = len(GAP) + columns(cell.rstrip())
        if used + needed > page.width:
            page.line(pieces)
            pieces, used = [(" " * grid.indent, ""), (cell, "")], grid.indent + columns(cell)
        else:
            pieces += [(GAP + cell, "")]
            used += len(GAP) + columns(cell)
    page.line(pieces)
    for outcome, sentence in row.extra:
        page.text(sentence, indent=grid.label + len(GAP), style=outcome)


def _interval_cell(pen: Pen, grid: Columns, interval: Interval, followed: bool, room: int) -> str:
    text = pen.text(interval.text)
    if interval.short and columns(text) > room:
        text = pen.text(interval.short)
    if interval.low is None or interval.high is None:
        return pen.pad(text, max(grid.interval, columns(text))) if followed else text
    drawn = _drawn(pen, grid.bar, interval.low, interval.high, interval.points) + " " if grid.bar else ""
    return drawn + " " * (grid.interval - columns(drawn) - columns(text)) + text


def _drawn(pen: Pen, cells: int, low: float, high: float, points: tuple[float, ...]) -> str:
    """The interval on a scale of 0 to 1 that is `cells` wide."""

    def cell(share: float) -> int:
        return min(cells - 1, max(0, round(share * (cells - 1))))

    line = [" "] * cells
    for index in range(cell(low), cell(high) + 1):
        line[index] = "─"
    line[cell(low)], line[cell(high)] = "├", "┤"
    for point, dot in zip(reversed(points), "○●" if len(points) > 1 else "●", strict=True):
        line[cell(point)] = dot
    return pen.text("".join(line))


# --- what broke it ---------------------------------------------------------------------------------


def _failures(page: Page, found: Failures) -> None:
    if found.shown:
        page.line([("why not complete", "bold")])
    else:
        page.text(found.none, style="dim")
    names = [_where(line) for line in found.shown]
    task = min(max((columns(page.pen.text(name)) for name in names), default=0), page.width // 4)
    marks = [page.pen.fit(line.criterion, page.width // 6, "middle") for line in found.shown]
    criterion = max(map(columns, marks), default=0)
    tags = [page.pen.fit(_tag(line), page.width // 2) for line in found.shown]
    tag = max(map(columns, tags), default=0)
    for line, name in zip(found.shown, names, strict=True):
        _failure(page, line, name, (task, criterion, tag))
    if found.rest:
        page.text(found.rest, indent=4, lead=f"  {page.pen.dots}", style="dim")
    for footnote in found.footnotes:
        page.text(footnote, indent=4, style="dim")


def _hidden(page: Page, lines: tuple[Hidden, ...]) -> None:
    if not lines:
        return
    page.line([("complete, but", "bold")])
    for line in lines:
        criterion = page.pen.fit(line.criterion, page.width // 6, "middle")
        what = page.pen.fit(line.what, page.width // 2)
        page.text(f"{criterion}  {what}  in {line.count}", indent=4, lead="  -", most=2)
        page.text(line.example, indent=8, style="dim", most=3)


def _ungraded(page: Page, lines: tuple[Ungraded, ...]) -> None:
    if not lines:
        return
    page.line([("no verdict, outside the acceptance rule", "bold")])
    for line in lines:
        criterion = page.pen.fit(line.criterion, page.width // 6, "middle")
        page.text(
            f"{criterion}  {page.pen.fit(line.what, page.width // 2)} {TIMES}{line.times:,}",
            indent=4,
            lead="  !",
        )
        page.text(line.example, indent=8, style="dim", most=2)


def _where(line: Failure) -> str:
    if line.tasks > 1:
        return f"{line.tasks:,} tasks"
    return line.task if line.trial is None else f"{line.task}#{line.trial}"


def _tag(line: Failure) -> str:
    # The marks go before a long rule text is cut, so that they are never cut away.
    gate = " (gate)" if line.gate else ""
    times = f" {TIMES}{line.times:,}" if line.times > 1 else ""
    return f"{line.what[:200]}{gate}{times}"


def _failure(page: Page, line: Failure, name: str, widths: tuple[int, int, int]) -> None:
    pen = page.pen
    task, criterion, tag = widths
    suffix = (" (gate)" if line.gate else "") + (f" {TIMES}{line.times:,}" if line.times > 1 else "")
    what = pen.fit(line.what, max(8, page.width // 2 - columns(pen.text(suffix)))) + pen.text(suffix)
    start: list[Piece] = [
        ("  ", ""),
        page.sign(line.outcome),
        (" " + pen.pad(name, task, "middle") + GAP, ""),
        (pen.pad(line.criterion, criterion, "middle") + GAP if criterion else "", ""),
    ]
    used = sum(columns(text) for text, _ in start)
    reason = f"e.g. {line.reason}" if line.reason and line.times > 1 and line.tasks > 1 else line.reason
    if columns(pen.text(name)) > task:  # a cut name may look like another one
        reason = f"{name}: {reason}" if reason else name
    shown = pen.fit(reason, 3 * page.width)
    room = page.width - used - tag - len(GAP)
    if shown and columns(shown) <= room:
        page.line([*start, (pen.pad(what, tag) + GAP, line.outcome), (shown, "")])
        return
    longer = pen.fit(line.what, max(8, page.width - used - columns(pen.text(suffix)))) + pen.text(suffix)
    page.line([*start, (longer, line.outcome)])
    if reason:
        most = 1 if line.times > 1 else 2
        page.text(reason, indent=used if page.width - used >= 40 else 8, style="dim", most=most)


# --- what-if ---------------------------------------------------------------------------------------


def _change_rows(page: Page, rows: tuple[Change, ...]) -> None:
    pen = page.pen
    head = Change(label="", votes="", old="recorded", new="what-if", difference="points")
    lines = [head, *rows]

    def widest(texts: Iterable[str], most: int) -> int:
        return min(max(columns(pen.text(text)) for text in texts), most)

    label = widest((line.label[: page.width] for line in lines), max(11, page.width // 5))
    votes = widest((line.votes for line in lines), 18)
    numbers = [widest((getattr(line, name) for line in lines), 13) for name in ("old", "new", "difference")]
    for line in lines:
        texts = (line.old, line.new, line.difference)
        cells = [pen.fit(text, size) for text, size in zip(texts, numbers, strict=True)]
        right = [" " * (size - columns(cell)) + cell for cell, size in zip(cells, numbers, strict=True)]
        style = "dim" if line is head else ("bold" if line.changed else "")
        start = pen.pad(line.label, label, "middle") + GAP + pen.pad(line.votes, votes) + GAP
        page.line([(start, "dim" if line is head else ""), (GAP.join(right), style)])
