"""Verdicts: a tagged union on `status`. A result that could not be produced is another type, never a number."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec

MOST_TRIAL = 2**53 - 1
"""The largest trial number: what every JSON reader still tells apart."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One try of a judge or check: what came back, why it stopped, what it cost."""

    reply: str | None = None
    stop_reason: str | None = None
    error: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None


class GraderRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who gave the verdict: kind (`check:equals`, `judge`, `human`, `recorded`, ...), setup, version, hash."""

    kind: str
    setup: str | None = None
    version: str | None = None
    hash: str | None = None


class _Common(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    task: str
    criterion: str
    trial: int = 1
    reason: str = ""
    evidence_refs: tuple[str, ...] = ()
    failure_tag: str | None = None
    extracted: Mapping[str, Any] = {}
    graders: tuple[GraderRef, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cost_usd: float | None = None


class Graded(_Common, frozen=True, kw_only=True, omit_defaults=True, tag_field="status", tag="graded"):
    """A grader read the evidence and decided. `score` is finite and in 0..1."""

    score: float


class Unknown(_Common, frozen=True, kw_only=True, omit_defaults=True, tag_field="status", tag="unknown"):
    """The grader read everything and the evidence does not decide."""


class Errored(_Common, frozen=True, kw_only=True, omit_defaults=True, tag_field="status", tag="error"):
    """No valid verdict. `error` is a stable word: `missing_row`, `conflict`, `non_finite`, `timeout`, ..."""

    error: str = "error"


class Skipped(_Common, frozen=True, kw_only=True, omit_defaults=True, tag_field="status", tag="skipped"):
    """An upstream criterion did not pass. Scoring decides skips itself from `needs`; a row saying so is a hint."""


Verdict = Graded | Unknown | Errored | Skipped


class TrialRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One execution: how it ended and what it used. `ended_by` null: the record does not say."""

    task: str
    trial: int = 1
    ended_by: str | None = None
    measurements: Mapping[str, float] = {}
    trace: str | None = None
    """The id of the trace, for reports."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """What a check decides: `value` in 0..1, exact. Facts that decided it in `reason` and `evidence`."""

    value: Fraction
    reason: str = ""
    evidence: tuple[str, ...] = ()
    failure_tag: str | None = None
    """Overrides the criterion's tag when it fails (`NO_PROPOSAL`)."""


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """A check read everything and the evidence does not decide; the verdict is `unknown`."""

    reason: str
    evidence: tuple[str, ...] = ()


Finding = Score | Undecided
