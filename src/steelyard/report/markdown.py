"""The scores for a CI step summary. Names and reasons are written so that no markup in them renders."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.model.table import ScoreTable
from steelyard.report.failures import NO_RULES, Failure, Rules, failures
from steelyard.report.numbers import TIMES
from steelyard.report.page import SIGNS
from steelyard.report.text import visible
from steelyard.report.view import Board, Row, board

MOST_LINES = 50
MOST_CHARACTERS = 600
HARMLESS = frozenset(" ,'\"-+=?/;%$()")
"""Punctuation that starts no markup inside a line; everything else becomes a character reference."""


def markdown(table: ScoreTable, rules: Rules = NO_RULES) -> str:
    """A heading with the decision and its reason, the headline table, why trials are not complete (gates first, each
    with its rule), what completion hides, the notices, and the further numbers folded away.
    """
    return "\n".join(_lines(board(table, rules), failures(table, rules, MOST_LINES).shown, rules)) + "\n"


def _lines(view: Board, causes: tuple[Failure, ...], rules: Rules) -> Iterator[str]:
    yield f"## {quoted(view.decision)}: {quoted(view.title)}"
    yield ""
    yield f"{quoted(' · '.join(view.counts))}<br>because {quoted(view.because)}"
    if view.whatif:
        yield ""
        yield f"**what-if: nothing is saved** ({quoted('; '.join(view.whatif))})"
    yield ""
    yield "| | score | what votes | n and coverage | 95 % interval |"
    yield "|---|---:|---|---|---|"
    yield from map(_row, view.rows)
    yield ""
    if causes:
        yield "### Why not complete"
        yield ""
        yield from (_cause(cause, rules) for cause in sorted(causes, key=lambda cause: not cause.gate))
        shown = sum(cause.times for cause in causes)
        if shown < view.failures.total:
            yield f"- and {view.failures.total - shown:,} more"
    else:
        yield quoted(view.failures.none)
    yield from _hidden(view)
    notices = (*view.failures.footnotes, *view.notices[:MOST_LINES])
    if notices:
        yield from ("", "### Notices", "")
    yield from (f"- {quoted(text)}" for text in notices)
    if len(view.notices) > MOST_LINES:
        yield f"- and {len(view.notices) - MOST_LINES:,} more notices (--json lists them)"
    yield from _further(view)


def _hidden(view: Board) -> Iterator[str]:
    if view.hidden:
        yield from ("", "### Complete, but", "")
    for line in view.hidden:
        yield f"- {code(line.criterion)} {quoted(line.what)} in {quoted(line.count)} ({quoted(line.example)})"
    if view.ungraded:
        yield from ("", "### No verdict, outside the acceptance rule", "")
    for missing in view.ungraded:
        times = f"{TIMES}{missing.times:,}"
        yield f"- {code(missing.criterion)} {quoted(missing.what)} {times} ({quoted(missing.example)})"


def _further(view: Board) -> Iterator[str]:
    yield from ("", "<details><summary>Further numbers</summary>", "")
    yield from (f"- {quoted(fact.label)}: {quoted(' · '.join(fact.parts))}" for fact in view.facts)
    yield from (f"- {quoted(text)}" for text in view.graders)
    yield from ("", "</details>")


def _row(row: Row) -> str:
    label = f"**{code(row.label)}**" if row.primary and row.label else code(row.label)
    coverage = [*row.tails, *(sentence for _, sentence in row.extra)]
    drawn = row.interval.text if row.interval else ""
    cells = (label, quoted(row.value), quoted(row.votes), quoted("; ".join(coverage)), quoted(drawn))
    return f"| {' | '.join(cells)} |"


def _cause(cause: Failure, rules: Rules) -> str:
    number = f"#{cause.trial}" if cause.trial is not None else ""
    where = f"{cause.tasks:,} tasks" if cause.tasks > 1 else f"{cause.task}{number}"
    times = f" {TIMES}{cause.times:,}" if cause.times > 1 else ""
    gate = " **(gate)**" if cause.gate else ""
    reason = f": {quoted(cause.reason)}" if cause.reason else ""
    names = " ".join(code(name) for name in (where, cause.criterion) if name)
    rule = rules.get((cause.task, cause.criterion.partition(" +")[0]), "")
    stated = f"<br>rule: {quoted(rule)}" if rule and rule != cause.what else ""
    return f"- {SIGNS.get(cause.outcome, '')} {names} {code(cause.what)}{gate}{times}{reason}{stated}"


def code(text: str) -> str:
    """Any text as an inline code element, empty for empty text."""
    return f"<code>{quoted(text)}</code>" if text else ""


def quoted(text: str) -> str:
    """Any text on one line, cut at 600 characters, that shows as itself: no markup, link or mention."""
    shown = visible(text[:MOST_CHARACTERS]) + ("…" if len(text) > MOST_CHARACTERS else "")
    return "".join(_character(*three) for three in zip(" " + shown, shown, shown[1:] + " ", strict=False))


def _character(before: str, char: str, after: str) -> str:
    if char.isalnum() or char in HARMLESS or not char.isascii():
        return char
    if (char == "." and not (before.isalpha() and after.isalpha())) or (char == ":" and after == " "):
        return char
    # Renderers link addresses, mentions and issue numbers in finished text; an empty comment splits it.
    return f"&#{ord(char)};" + ("<!-- -->" if char in "@#" else "")
