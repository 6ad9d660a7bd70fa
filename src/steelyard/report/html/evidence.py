"""What the verdicts of one trial cite in its trace: the step of each reference, and the words that are quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from steelyard.model.evidence import Resolved, resolve, step_text
from steelyard.model.standard import Task
from steelyard.model.table import CriterionScore, TrialScore
from steelyard.model.trace import Trace
from steelyard.report.plain import plain

LONGEST_QUOTE = 2_000
MOST_QUOTES = 12
_QUOTED = re.compile(
    r'"([^"\n]{3,2000})"'
    "|\N{LEFT DOUBLE QUOTATION MARK}([^\N{RIGHT DOUBLE QUOTATION MARK}]{3,2000})\N{RIGHT DOUBLE QUOTATION MARK}"
    r"|(?<!\w)'([^'\n]{3,2000})'(?!\w)"
    r"|`([^`\n]{3,2000})`"
)
_SPAN = re.compile(r"@[0-9]+-[0-9]+$")
SAID = 300


class Cited(msgspec.Struct, frozen=True, kw_only=True):
    """One reference of a verdict. `step` is the id of the step it stands in; `says` what it points at elsewhere."""

    ref: str
    step: str | None = None
    says: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The references of each criterion, and by step id which words to mark and which criteria cite it."""

    cited: Mapping[str, tuple[Cited, ...]]
    quotes: Mapping[str, tuple[str, ...]]
    citing: Mapping[str, tuple[str, ...]]


def evidence(trial: TrialScore, trace: Trace | None, task: Task | None) -> Evidence:
    """Look every reference up. Without a trace only references to facts can be followed."""
    cited: dict[str, tuple[Cited, ...]] = {}
    quotes: dict[str, dict[str, None]] = {}
    citing: dict[str, dict[str, None]] = {}
    for score in trial.criteria:
        found = [(ref, resolve(ref, trace, task) if trace else None) for ref in score.evidence_refs]
        cited[score.id] = tuple(_cited(ref, at) for ref, at in found)
        for ref, at in found:
            if at is None or at.step is None:
                continue
            citing.setdefault(at.step.id, {})[score.id] = None
            for quote in _quotes(ref, at, score):
                quotes.setdefault(at.step.id, {})[quote] = None
    return Evidence(
        cited=cited,
        quotes={step: tuple(found)[:MOST_QUOTES] for step, found in quotes.items()},
        citing={step: tuple(found) for step, found in citing.items()},
    )


def _cited(ref: str, at: Resolved | None) -> Cited:
    if at is None or at.step is not None:
        return Cited(ref=ref, step=at.step.id if at and at.step else None)
    return Cited(ref=ref, says=at.text[:SAID] + ("…" if len(at.text) > SAID else ""))


def _quotes(ref: str, at: Resolved, score: CriterionScore) -> Iterator[str]:
    """Words to mark in the step: what the reference itself points at, and what the reason quotes of it."""
    assert at.step is not None
    if _SPAN.search(ref) and len(at.text) <= LONGEST_QUOTE:
        yield at.text
    elif "/" in ref:
        yield from _pointed(ref, at)
    within = step_text(at.step) if score.reason else ""
    folded = " ".join(within.split()) if len(within) <= 4_000_000 else within
    for match in _QUOTED.finditer(score.reason):
        words = next(group for group in match.groups() if group)
        if " ".join(words.split()) in folded:
            yield words


def _pointed(ref: str, at: Resolved) -> Iterator[str]:
    key = ref.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    if len(at.text) > LONGEST_QUOTE:
        return
    written = json.dumps(plain(at.value), ensure_ascii=False)
    yield f"{json.dumps(key, ensure_ascii=False)}: {written}" if not key.isdecimal() else written


def failing_steps(trial: TrialScore, found: Evidence) -> Sequence[tuple[str, str]]:
    """(step id, criterion id) of every step that a verdict which is no pass cites, in the order of the criteria."""
    return [
        (cited.step, score.id)
        for score in trial.criteria
        if score.outcome in ("fail", "error", "unknown")
        for cited in found.cited[score.id]
        if cited.step
    ]
