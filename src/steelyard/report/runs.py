"""The list of kept runs, and the verdicts of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.model.table import CriterionScore, ScoreTable
from steelyard.ports.store import RunSummary
from steelyard.report.failures import NO_RULES, Rules
from steelyard.report.numbers import percent, plural
from steelyard.report.page import Page

BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "0123456789"
LONGEST_TREND = 40


def runs_board(
    runs: Sequence[RunSummary], *, width: int = 80, color: bool = False, unicode: bool = True
) -> str:
    """One line a run, newest last, and for each suite the trend of its primary metric."""
    page = Page(width=width, color=color, unicode=unicode)
    if not runs:
        page.text("No run is kept here yet; `steelyard grade` keeps one.")
        return str(page)
    for run in runs:
        page.text(_line(run), indent=2, most=2)
    page.rule()
    for suite in dict.fromkeys(run.suite for run in runs):
        own = [run for run in runs if run.suite == suite]
        page.text(f"{suite}  {_trend(own, unicode)}", indent=2, most=3)
    return str(page)


def _line(run: RunSummary) -> str:
    state = run.decision or ("broken off" if run.status == "running" else "")
    of = f" of {run.planned}" if run.planned is not None and run.planned != run.trials else ""
    metric = f"{run.metric} {percent(_share(run))}" if run.metric else ""
    version = f" {run.version}" if run.version else ""
    trials = f"{run.trials}{of} {'trial' if run.trials == 1 else 'trials'}"
    moment = run.created_at[:16].removeprefix(run.name[:10]).replace("T", " ").strip()
    suite = f"{run.suite}{version} ({run.hash[:4]})" + (" in part" if run.selected else "")
    parts = (run.name, state, metric, suite, trials, moment)
    return "  ".join(part for part in parts if part)


def _trend(runs: Sequence[RunSummary], unicode: bool) -> str:
    """The primary metric from the oldest to the newest; runs under different standards are not one line."""
    known = [run for run in runs if _share(run) is not None][-LONGEST_TREND:]
    if not known:
        return "no finished run"
    marks = BARS if unicode else PLAIN_BARS
    line = "".join(marks[int((_share(run) or 0.0) * (len(marks) - 1) + 0.5)] for run in known)
    first, last = known[0], known[-1]
    standards = len({run.hash for run in known})
    mixed = f", under {standards} different standards: not comparable as one series" if standards > 1 else ""
    change = f"{percent(_share(first))} to {percent(_share(last))}"
    return f"{last.metric} {line} {change} ({plural(len(known), 'run')}{mixed})"


def _share(run: RunSummary) -> float | None:
    """The value of the primary metric in 0..1. What an imported run calls a share may be any number."""
    return run.value if run.value is not None and 0.0 <= run.value <= 1.0 else None


def verdict_board(
    table: ScoreTable, *, task: str | None = None, criterion: str | None = None, why: bool = False,
    rules: Rules = NO_RULES, width: int = 80, color: bool = False, unicode: bool = True,
) -> str:  # fmt: skip
    """The verdicts of a task or criterion, or with `why` all that are no pass: rule, reason and evidence."""
    page = Page(width=width, color=color, unicode=unicode)
    shown = 0
    for owner, trial, entry in _picked(table, task, criterion, why):
        shown += 1
        gate = " (gate)" if entry.gate else ""
        score = "" if entry.score is None else f" {entry.score:g}"
        tag = f"  {entry.failure_tag}" if entry.failure_tag else ""
        title = f" {owner}#{trial}  {entry.id}  {entry.outcome}{score}{gate}{tag}"
        page.line([page.sign(entry.outcome), (page.pen.fit(title, width - 2), "bold")])
        evidence = ", ".join(entry.evidence_refs)
        rule = rules.get((owner, entry.id))
        for label, text in (
            ("rule", rule),
            ("because", entry.reason),
            ("evidence", evidence),
            ("by", ", ".join(" ".join(filter(None, (ref.kind, ref.version))) for ref in entry.graders)),
            ("retried", plural(entry.retried, "earlier attempt") if entry.retried else ""),
        ):
            if text:
                page.text(text, indent=12, lead=f"  {label}", most=8)
    if not shown:
        passes = why and any(True for _ in _picked(table, task, criterion, False))
        page.text("Every verdict that is meant is a pass." if passes else "No verdict matches.")
    return str(page)


def _picked(
    table: ScoreTable, task: str | None, criterion: str | None, why: bool
) -> Iterator[tuple[str, int, CriterionScore]]:
    for owner in table.tasks:
        for trial in owner.trials:
            for entry in trial.criteria:
                wanted = task in (None, owner.id) and criterion in (None, entry.id)
                if wanted and not (why and entry.outcome in ("pass", "report")):
                    yield owner.id, trial.trial, entry
