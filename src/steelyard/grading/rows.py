"""Verdict and trial rows as text (JSON Lines), read without trust and written in one shape.

A row that cannot say which verdict it is (no task, an id that is a number) is quarantined. A row that says which one,
but not validly how it came out, is an error of that criterion. Neither is ever a pass, and neither is dropped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Attempt, Errored, Graded, GraderRef, Skipped, TrialRow, Unknown, Verdict

Row = Verdict | TrialRow
STATUSES = ("graded", "unknown", "error", "skipped")
MOST_TEXT = 100_000
"""Characters kept of a reason."""


class _PlainRow(msgspec.Struct, kw_only=True):
    """A well-formed verdict row. Anything else takes the slow way, which finds out what is wrong."""

    task: str
    criterion: str
    status: Literal["graded", "unknown", "error", "skipped"]
    trial: int = 1
    score: float | None = None
    reason: str = ""
    evidence_refs: tuple[str, ...] = ()
    failure_tag: str | None = None
    extracted: dict[str, Any] = {}
    graders: tuple[GraderRef, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cost_usd: float | None = None
    error: str = "error"


_decode_plain = msgspec.json.Decoder(_PlainRow).decode


def read_rows(lines: Iterable[tuple[str, bytes]]) -> Iterator[Row | Quarantined]:
    """Rows of a JSON Lines file. `lines` are (`file:line`, bytes); empty lines are passed over."""
    for where, line in lines:
        if line.strip():
            yield read_row(where, line)


def read_row(where: str, line: bytes) -> Row | Quarantined:
    """One line. Never raises for what the line holds."""
    try:
        plain = _decode_plain(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _read_slowly(where, line)
    return _from_plain(plain)


def _from_plain(plain: _PlainRow) -> Verdict:
    common: dict[str, Any] = {
        "task": plain.task, "criterion": plain.criterion, "trial": plain.trial, "reason": plain.reason,
        "evidence_refs": plain.evidence_refs, "failure_tag": plain.failure_tag, "extracted": plain.extracted,
        "graders": plain.graders, "attempts": plain.attempts, "cost_usd": plain.cost_usd,
    }  # fmt: skip
    return _verdict(plain.status, plain.score, plain.error, common)


def _verdict(status: str, score: Any, error: str, common: dict[str, Any]) -> Verdict:
    problem = _score_problem(status, score, common["graders"])
    if problem is not None:
        code, detail = problem
        return Errored(**{**common, "reason": detail, "extracted": {}}, error=code)
    if status == "graded":
        return Graded(**common, score=float(score))
    if status == "unknown":
        return Unknown(**common)
    if status == "skipped":
        return Skipped(**common)
    return Errored(**common, error=error)


def _score_problem(status: str, score: Any, graders: tuple[GraderRef, ...]) -> tuple[str, str] | None:
    if status != "graded":
        return None if score is None else ("score_without_grade", f"a row with status {status} must have no score")
    if score is None:
        return "no_score", "a graded row must have a score in 0..1"
    if isinstance(score, bool) or not isinstance(score, int | float):
        return "bad_score", f"the score must be a number in 0..1, not {_short(score)}"
    if not math.isfinite(score):
        return "non_finite", "the score is not a finite number"
    if not 0 <= score <= 1:
        return "out_of_range", f"the score {_short(score)} is outside 0..1; it is neither clamped nor rescaled"
    if score not in (0, 1) and any(ref.kind == "judge" for ref in graders):
        return "judge_fraction", f"a judge gives 0 or 1, not {_short(score)}; only code counts fractions"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _read_slowly(where: str, line: bytes) -> Row | Quarantined:
    try:
        value = json.loads(line.decode("utf-8-sig"), parse_int=_parse_int)
    except (ValueError, RecursionError) as problem:
        return Quarantined(where=where, reason=f"not a JSON object on one line ({_short_problem(problem)})")
    if not isinstance(value, dict):
        return Quarantined(where=where, reason="a row must be a JSON object with task, criterion and status")
    lost = value.get("quarantined")
    if isinstance(lost, dict) and "task" not in value:
        return Quarantined(where=str(lost.get("where", where)), reason=str(lost.get("reason", "")))
    return _from_object(where, value)


def _parse_int(text: str) -> int | float:
    return int(text) if len(text) <= 400 else math.inf


def _short_problem(problem: Exception) -> str:
    return "nested too deep" if isinstance(problem, RecursionError) else str(problem).split(":")[0]


def _from_object(where: str, value: Mapping[str, Any]) -> Row | Quarantined:
    problem = _address_problem(value)
    if problem is not None:
        return Quarantined(where=where, reason=problem)
    criterion = value.get("criterion", value.get("rubric_id"))
    trial = value.get("trial", 1)
    if criterion is None:
        return _trial_row(where, value, trial)
    status = value.get("status")
    common: dict[str, Any] = {
        "task": value["task"], "criterion": criterion, "trial": trial, "reason": _text(value.get("reason")),
        "evidence_refs": _refs(value.get("evidence_refs")), "failure_tag": _optional(value.get("failure_tag")),
        "extracted": value["extracted"] if isinstance(value.get("extracted"), dict) else {},
        "graders": _structs(value.get("graders"), GraderRef), "attempts": _structs(value.get("attempts"), Attempt),
        "cost_usd": _money(value.get("cost_usd")),
    }  # fmt: skip
    if status not in STATUSES:
        reason = f"the status must be graded, unknown, error or skipped, not {_short(status)}"
        return Errored(**{**common, "reason": reason, "extracted": {}}, error="bad_status")
    return _verdict(status, value.get("score"), _text(value.get("error")) or "error", common)


def _address_problem(value: Mapping[str, Any]) -> str | None:
    """Why the row cannot say which verdict it is; None when it can."""
    for key in ("task", "criterion", "rubric_id"):
        name = value.get(key)
        if isinstance(name, int | float) and not isinstance(name, bool):
            return f'{key} is the number {name}, and ids are text: write "{key}": "{name}"'
        if name is not None and not isinstance(name, str):
            return f"{key} must be text, not {_short(name)}"
    if value.get("task") is None:
        return "a row must name its task"
    trial = value.get("trial", 1)
    if isinstance(trial, bool) or not isinstance(trial, int) or trial < 0:
        return f'trial must be a whole number of 0 or more, not {_short(trial)}: write "trial": 1'
    return None


def _trial_row(where: str, value: Mapping[str, Any], trial: int) -> Row | Quarantined:
    if "status" in value or "score" in value:
        return Quarantined(where=where, reason="a verdict row must name its criterion")
    ended_by = value.get("ended_by")
    measurements = value.get("measurements")
    numbers = {
        str(name): float(number)
        for name, number in (measurements.items() if isinstance(measurements, dict) else ())
        if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
    }
    return TrialRow(
        task=value["task"],
        trial=trial,
        ended_by=ended_by if ended_by is None or isinstance(ended_by, str) else _short(ended_by),
        measurements=numbers,
        trace=_optional(value.get("trace")),
    )


def _text(value: Any) -> str:
    return value[:MOST_TEXT] if isinstance(value, str) else ("" if value is None else _short(value))


def _optional(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _refs(value: Any) -> tuple[str, ...]:
    return tuple(ref if isinstance(ref, str) else _short(ref) for ref in value) if isinstance(value, list) else ()


def _structs(value: Any, kind: type[Any]) -> tuple[Any, ...]:
    found = []
    for entry in value if isinstance(value, list) else ():
        try:
            found.append(msgspec.convert(entry, kind))
        except msgspec.ValidationError:
            continue
    return tuple(found)


def _money(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None


def write_row(row: Row | Quarantined) -> bytes:
    """One line of JSON, without the newline. Strict: no NaN (scores are finite by construction)."""
    if isinstance(row, Quarantined):
        return msgspec.json.encode({"quarantined": {"where": row.where, "reason": row.reason}})
    return msgspec.json.encode(row)
