"""One trial: each verdict with its rule, reason, graders and evidence, and the trace that they cite."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from steelyard.model.standard import Criterion, Task
from steelyard.model.table import CriterionScore, TrialScore
from steelyard.model.trace import Trace
from steelyard.model.verdict import GraderRef
from steelyard.report.html.evidence import Cited, Evidence, evidence, failing_steps
from steelyard.report.html.marks import mark
from steelyard.report.html.rows import cause_of_skip, state_of, verdict_words
from steelyard.report.html.steps import step_link, trace_column
from steelyard.report.html.tables import state
from steelyard.report.html.tags import Child, Markup, joined, tag
from steelyard.report.numbers import UNITS, measured, percent, plural

_percent = lru_cache(maxsize=1024)(percent)

NO_TRACE = "The trace is not in this report."


def trial_body(
    trial: TrialScore, task: Task | None, trace: Trace | None, *, without: str = NO_TRACE
) -> Markup:
    """The verdicts and the trace of a trial; where there is none, `without` says why."""
    found = evidence(trial, trace, task)
    known = {criterion.id: criterion for criterion in task.criteria} if task else {}
    verdicts = (_verdict(score, known.get(score.id), found) for score in trial.criteria)
    shown = (
        trace_column(trace, found, failing_steps(trial, found))
        if trace
        else tag("p", without, class_="quiet")
    )
    return joined([_head(trial), tag("div", *verdicts, class_="verdicts"), shown])


def _head(trial: TrialScore) -> Markup:
    parts: list[Child] = [state(state_of(trial))]
    if not trial.placeholder:
        parts.append(f"ended by {trial.ended_by or 'not said'}")
    parts += [
        f"{UNITS.get(name, (name,))[0]} {measured(name, number)}"
        for name, number in trial.measurements.items()
    ]
    return tag("p", joined(parts, " · "), class_="trial-head")


def _verdict(score: CriterionScore, criterion: Criterion | None, found: Evidence) -> Markup:
    pairs: list[tuple[str, Child]] = [("rule", criterion.rule if criterion else "")]
    pairs += [
        ("reason", score.reason or cause_of_skip(score)),
        ("failure tag", score.failure_tag if score.outcome in ("fail", "error") else None),
        ("graders", _graders(score)),
        ("votes", _votes(score.votes)),
        ("evidence", joined([_evidence(cited) for cited in found.cited[score.id]], " · ")),
    ]
    badges: list[Child] = [tag("span", "gate", class_="badge")] if score.gate else []
    if score.in_acceptance:
        badges.append(tag("span", "needed for completion", class_="badge"))
    title = tag("h4", mark(score.outcome), " ", tag("b", score.id), f" {verdict_words(score)} ",
                tag("span", score.dimension, class_="quiet"), *badges)  # fmt: skip
    listed = (tag("div", tag("dt", name), tag("dd", words)) for name, words in pairs if words)
    return tag("section", title, tag("dl", *listed), class_="verdict", data_criterion=score.id)


def _graders(score: CriterionScore) -> str:
    retried = f" · {plural(score.retried, 'earlier attempt')}" if score.retried else ""
    return " · ".join(_grader(grader) for grader in score.graders) + retried


def _grader(grader: GraderRef) -> str:
    parts = [grader.kind, grader.setup or "", f"version {grader.version}" if grader.version else ""]
    if grader.hash:
        parts.append(f"hash {grader.hash[:12]}…")
    return " ".join(part for part in parts if part)


def _votes(votes: Mapping[str, float]) -> str:
    """The votes in the dimension's averages; those in the layers repeat them."""
    shown = ((name, vote) for name, vote in votes.items() if not name.startswith("layers."))
    return " · ".join(
        f"{_percent(vote)} of {name.rpartition('.')[0]} ({'task average' if name.endswith('average') else 'pooled'})"
        for name, vote in shown
    )


def _evidence(cited: Cited) -> Markup:
    if cited.step is not None:
        return step_link(cited.step, cited.ref)
    return joined([tag("code", cited.ref), f" {cited.says}" if cited.says else None])
