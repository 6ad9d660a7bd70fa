"""The first page of a report: decision, scoreboard, what broke it, who graded. Every number comes from the view."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from steelyard.model.table import ScoreTable
from steelyard.report.facts import UNNAMED, task_votes
from steelyard.report.failures import Failure, Failures
from steelyard.report.hidden import Hidden, Ungraded
from steelyard.report.html.marks import UNMOVED, drawn, mark, share_bar
from steelyard.report.html.tags import NOTHING, Child, Markup, joined, row_head, screen_only, tag
from steelyard.report.numbers import TIMES, plural, span
from steelyard.report.view import COMPLETION, Board, Fact, Interval, Row

NO_NOTICE_FOLD = 6
"""Notices that are shown at once; further ones are folded."""

AS_RECORDED = "as-recorded"
"""The class of texts that a what-if does not change; the page says so while one is on."""

RECORDED_COUNT = "recorded-count"
"""The class of counts beside a headline, hidden while a what-if is on."""

MOVED_FACTS = ("layers", "verdicts", "pass^k", "pass@k", "composite", "weights")
DECISIONS = {"PASS": "pass", "FAIL": "fail", "INCOMPLETE": "unknown"}


class Particulars(msgspec.Struct, frozen=True, kw_only=True):
    """Who, what and when: texts for the line below the decision; empty ones are left out."""

    run: str = ""
    owner: str = ""
    standard: str = ""
    date: str = ""


def header(view: Board, table: ScoreTable, about: Particulars) -> Markup:
    """The decision, why, the primary metric with its interval, and what this is about."""
    primary = next((row for row in view.rows if row.primary), view.rows[0])
    named = table.primary if table.primary == COMPLETION else f"{table.primary}.task_average"
    return tag(
        "header",
        tag("p", view.title, class_="suite"),
        tag(
            "h1",
            tag(
                "span",
                mark(DECISIONS.get(view.decision, "unknown")),
                tag("span", view.decision, data_headline="decision"),
                class_=f"decision is-{DECISIONS.get(view.decision, 'unknown')}",
            ),
        ),
        tag("p", f"because {view.because}", class_=f"because {AS_RECORDED}"),
        *(tag("p", f"what-if: nothing is saved · {change}", class_="replaced") for change in view.whatif),
        _primary(primary, named, table),
        _particulars(view, about),
    )


def _primary(row: Row, headline: str, table: ScoreTable) -> Markup:
    shown: list[Child] = [
        tag("span", row.label, class_="name"),
        tag("strong", row.value, class_="value", data_headline=headline),
        drawn(row.interval),
    ]
    if row.interval is not None:
        shown.append(tag("span", _interval_words(row.interval), class_="words"))
    tails = " · ".join(row.tails)
    shown.append(tag("span", _votes(row, table, " · " if tails else ""), tails, class_="words"))
    return tag("p", joined(shown, " "), class_="primary")


def _votes(row: Row, table: ScoreTable, end: str) -> Markup:
    """What votes; where every task has one trial and one vote, the view has the count of tasks in its place."""
    if row.votes == task_votes(table):
        return joined([_voters(row.votes), end])
    return tag("span", row.votes + end, class_=RECORDED_COUNT)


def _voters(words: str) -> Markup:
    """What votes in a task average; a what-if that weighs tasks changes it."""
    return tag("span", words, data_votes="tasks")


def _interval_words(interval: Interval) -> str:
    return f"95 % interval {interval.text}" if interval.low is not None else interval.text


def _particulars(view: Board, about: Particulars) -> Markup:
    counts = [count for count in view.counts if not count.startswith("standard ")]
    pairs = [
        ("run", about.run), ("standard", about.standard), ("owner", about.owner), ("date", about.date),
        ("of", " · ".join(counts)),
    ]  # fmt: skip
    shown = (tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value)
    return tag("dl", *shown, class_="particulars")


# --- the scoreboard ----------------------------------------------------------------------------------


def scoreboard(view: Board, table: ScoreTable) -> Markup:
    """One row a metric: task average and pooled side by side, each with what votes; then everything below."""
    heads = ("metric", "task average", "95 % interval", "pooled", "coverage", "gates")
    body = [_completion(view.rows[0], table)]
    body += [_dimension(first, second, table) for first, second in _pairs(view.rows[1:])]
    caption = tag("caption", "Scores: what votes stands below each number", class_="heard")
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in heads)))
    scores = tag("table", caption, head, tag("tbody", *body), class_="scores")
    facts = tag("dl", *(_fact(fact) for fact in _with_pass_rate(view, table)), class_="facts")
    return tag(
        "section", tag("h2", "Scores", id="scores-title"), tag("div", scores, class_="wide", tabindex="0",
        role="region", aria_labelledby="scores-title"), facts, id="scores", aria_labelledby="scores-title",
    )  # fmt: skip


def _pairs(rows: tuple[Row, ...]) -> Iterator[tuple[Row, Row]]:
    """The two rows of each dimension."""
    return zip(rows[::2], rows[1::2], strict=True)


def _name(row: Row) -> Markup:
    badge = tag("span", "primary", class_="badge") if row.primary else None
    return row_head(row.label, " " if badge else None, badge)


def _number(value: str, votes: Child, headline: str) -> Markup:
    return tag("td", tag("strong", value, data_headline=headline), tag("small", votes), class_="number")


def _interval(interval: Interval | None) -> Markup:
    picture = drawn(interval)
    return tag("td", picture, tag("small", interval.text if interval else ""), class_="interval-cell")


def _completion(row: Row, table: ScoreTable) -> Markup:
    trials = table.completion.trials
    counted = tag(
        "span", f"{trials.complete:,} of {plural(trials.of, 'trial')}", data_headline="completion.trials"
    )
    tasks = table.completion.tasks
    always = f"{tasks.always_complete:,} of {plural(tasks.of, 'task')} complete in every trial"
    coverage = tag(
        "td", tag("small", counted, " complete"), tag("small", always, class_=RECORDED_COUNT), colspan="2"
    )
    voters = task_votes(table)
    plain = tag("span", f", {row.votes}", class_=RECORDED_COUNT) if row.votes != voters else NOTHING
    return tag(
        "tr", _name(row), _number(row.value, joined([_voters(voters), plain]), COMPLETION),
        _interval(row.interval), coverage,
        tag("td", *(tag("small", tail) for tail in row.tails if tail != "primary")),
        class_="is-primary" if row.primary else None,
    )  # fmt: skip


def _dimension(row: Row, pooled: Row, table: ScoreTable) -> Markup:
    scored = table.dimensions[row.label]
    gates = [(outcome, words) for outcome, words in pooled.extra if words.startswith("gate:")]
    missing = [(outcome, words) for outcome, words in pooled.extra if not words.startswith("gate:")]
    share = scored.coverage.tasks / scored.coverage.of if scored.coverage.of else 0.0
    bar = [tail for tail in row.tails[1:] if tail != "primary"]
    said = (tag("small", mark(outcome), words, class_=AS_RECORDED) for outcome, words in missing)
    counted = tag(
        "td", tag("strong", pooled.value, data_headline=f"dimension:{row.label}.pooled"),
        tag("small", *_pooled(pooled)), *said, class_="number",
    )  # fmt: skip
    return tag(
        "tr",
        _name(row),
        _number(row.value, _voters(row.votes), f"dimension:{row.label}.task_average"),
        _interval(row.interval),
        counted,
        tag("td", share_bar(share), tag("small", row.tails[0])),
        tag(
            "td", *(_gate(outcome, words) for outcome, words in gates), *(tag("small", tail) for tail in bar)
        ),
        class_="is-primary" if row.primary else None,
    )


def _pooled(row: Row) -> tuple[Child, ...]:
    voters, _, count = row.votes.removesuffix(" (pooled)").partition(", ")
    return voters, tag("span", f", {count}", class_=RECORDED_COUNT)


def _gate(outcome: str, words: str) -> Markup:
    counted = words.removeprefix("gate: ").replace(" ?  ", " ", 1)  # the mark stands before the words here
    return tag("small", mark(outcome), counted if outcome == "unknown" else counted.partition("  ")[2],
               class_=AS_RECORDED)  # fmt: skip


def _with_pass_rate(view: Board, table: ScoreTable) -> Iterator[Fact]:
    """The facts of the view; the pass rate always among them, since a what-if may move it."""
    yield from view.facts
    if all(fact.label != "pass rate" for fact in view.facts):
        rate = table.pass_rate
        counts = f"{rate.complete:,} of {plural(rate.of, 'trial')} complete, each with one vote"
        yield Fact(label="pass rate", parts=(span(rate.low, rate.high), counts))


def _fact(fact: Fact) -> Markup:
    shown = joined(list(fact.parts), " · ")
    if fact.label == "pass rate":
        rest = tag("span", *(f" · {part}" for part in fact.parts[1:]), class_=RECORDED_COUNT)
        shown = joined([tag("span", fact.parts[0], data_headline="pass_rate"), rest])
    kept = AS_RECORDED if fact.label in MOVED_FACTS else None
    return tag("div", tag("dt", fact.label), tag("dd", shown, class_=kept))


# --- what broke it -----------------------------------------------------------------------------------


def failures(view: Board) -> Markup:
    """Why trials are not complete, what completion hides, and what could not be graded."""
    parts = [_failures(view.failures), _hidden(view.hidden), _ungraded(view.ungraded)]
    return tag("section", *parts, id="why", aria_labelledby="why-title")


def _failures(found: Failures) -> Markup:
    title = tag("h2", "Why not complete", id="why-title")
    if not found.shown:
        listed = tag("p", found.none)
    else:
        heads = ("", "task", "criterion", "what", "reason")
        head = tag("tr", *(tag("th", name or screen_only("status"), scope="col") for name in heads))
        body = (_failure(line) for line in found.shown)
        listed = tag("table", tag("caption", "Causes", class_="heard"), tag("thead", head), tag("tbody", *body),
                     class_="causes")  # fmt: skip
        listed = tag("div", listed, class_="wide", tabindex="0", role="region", aria_labelledby="why-title")
    rest = [tag("p", f"… {found.rest}", class_="quiet")] if found.rest else []
    return joined(
        [title, UNMOVED, listed, *rest, *(tag("p", note, class_="quiet") for note in found.footnotes)]
    )


def _failure(line: Failure) -> Markup:
    where = f"{line.tasks:,} tasks" if line.tasks > 1 else line.task
    if line.tasks <= 1 and line.trial is not None:
        where = f"{line.task}#{line.trial}"
    what = line.what + (f" {TIMES}{line.times:,}" if line.times > 1 else "")
    reason = f"e.g. {line.reason}" if line.reason and line.times > 1 and line.tasks > 1 else line.reason
    gate = tag("span", "gate", class_="badge") if line.gate else None
    return tag(
        "tr", tag("td", mark(line.outcome)), row_head(where), tag("td", _opening(line)),
        tag("td", tag("span", what, class_="name"), " " if gate else None, gate, class_="what"),
        tag("td", reason, class_="reason"),
    )  # fmt: skip


def _opening(line: Failure) -> Child:
    """The criterion, as a link that opens the first verdict of the line."""
    if line.verdict is None:
        return line.criterion
    address = "/".join(quote(str(part), safe="") for part in line.verdict)
    return tag("a", line.criterion, href=f"#verdict={address}")


def _hidden(lines: tuple[Hidden, ...]) -> Markup:
    if not lines:
        return NOTHING
    shown = (
        tag("li", tag("b", line.criterion), f" {line.what} in {line.count}", tag("br"),
            tag("span", line.example, class_="quiet"))
        for line in lines
    )  # fmt: skip
    return joined([tag("h3", "Complete, but"), tag("ul", *shown)])


def _ungraded(lines: tuple[Ungraded, ...]) -> Markup:
    if not lines:
        return NOTHING
    shown = (
        tag("li", mark("error"), tag("b", line.criterion), f" {line.what} {TIMES}{line.times:,}", tag("br"),
            tag("span", line.example, class_="quiet"))
        for line in lines
    )  # fmt: skip
    return joined([tag("h3", "No verdict, outside the acceptance rule"), tag("ul", *shown)])


# --- who graded, and what to know --------------------------------------------------------------------


def graded_by(view: Board, table: ScoreTable) -> Markup:
    """Who gave the verdicts and under what licence; then the notices."""
    parts = [tag("h2", "Who graded", id="graders-title")]
    parts += [tag("p", line) for line in view.graders]
    if any(kind != UNNAMED and not kind.startswith("check") for kind in table.graders) and not table.licences:
        parts.append(tag("p", "licences: none", class_="quiet"))
    if view.notices:
        parts += [
            tag("h3", "Notices"),
            tag("ul", *(tag("li", line) for line in view.notices[:NO_NOTICE_FOLD])),
        ]
    rest = view.notices[NO_NOTICE_FOLD:]
    if rest:
        summary = tag("summary", plural(len(rest), "more notice"))
        parts.append(tag("details", summary, tag("ul", *(tag("li", line) for line in rest))))
    return tag("section", *parts, id="graders", aria_labelledby="graders-title")
