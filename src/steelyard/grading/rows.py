"""Verdict and trial rows as text (JSON Lines), read without trust and written in one shape.

A row that cannot say which verdict it is (no task, an id that is a number) is quarantined. A row that says which one,
but not validly how it came out, is an error of that criterion. Neither is ever a pass, and neither is dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from steelyard.grading.jsonline import LONG_NUMBER, MOST_DEPTH, JsonLine, UnreadableLineError, clean, named
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import (
    MOST_TRIAL,
    Attempt,
    Errored,
    Graded,
    GraderRef,
    Skipped,
    TrialRow,
    Unknown,
    Verdict,
)

Row = Verdict | TrialRow
STATUSES = ("graded", "unknown", "error", "skipped")


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
_FIELDS = (*_PlainRow.__struct_fields__, "rubric_id")
_KEYS = tuple(f'"{key}"'.encode() for key in _FIELDS)


_LONG_SCORE = re.compile(rb'"score"\s*:\s*[-+0-9.eE]{%d}' % LONG_NUMBER)


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
    if plain.trial < 0 or plain.trial > MOST_TRIAL or _doubtful(line, plain):
        return _read_slowly(where, line)
    return _from_plain(plain)


def _doubtful(line: bytes, plain: _PlainRow) -> bool:
    """Whether the fast reader may have overlooked something: a key written twice, nesting beyond what is allowed.

    What it looks for are signs; the slow way finds out. A key may also hide behind an escape (`\\u0073core`).
    """
    if line.count(b"[") + line.count(b"{") > MOST_DEPTH or b"\\u00" in line or plain.extracted:
        return True
    if _LONG_SCORE.search(line):
        return True
    return any(line.count(key) > 1 for key in _KEYS)


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
        return Graded(**common, score=float(score) + 0.0)  # -0.0 becomes 0.0
    if status == "unknown":
        return Unknown(**common)
    if status == "skipped":
        return Skipped(**common)
    return Errored(**common, error=error or "error")


def _score_problem(status: str, score: Any, graders: tuple[GraderRef, ...]) -> tuple[str, str] | None:
    if status != "graded":
        return (
            None
            if score is None
            else ("score_without_grade", f"a row with status {status} must have no score")
        )
    if score is None:
        return "no_score", "a graded row must have a score in 0..1"
    if isinstance(score, bool) or not isinstance(score, int | float):
        return "bad_score", f"the score must be a number in 0..1, not {_short(score)}"
    if isinstance(score, float) and not math.isfinite(score):
        return "non_finite", "the score is not a finite number"
    if not 0 <= score <= 1:
        return (
            "out_of_range",
            f"the score {_short(score)} is outside 0..1; it is neither clamped nor rescaled",
        )
    if score not in (0, 1) and any(ref.kind == "judge" for ref in graders):
        return "judge_fraction", f"a judge gives 0 or 1, not {_short(score)}; only code counts fractions"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _read_slowly(where: str, line: bytes) -> Row | Quarantined:
    try:
        read = JsonLine(line)
    except UnreadableLineError as refused:
        return Quarantined(where=where, reason=f"not a JSON object on one line ({refused})")
    value = read.value
    if not isinstance(value, dict):
        return Quarantined(where=where, reason="a row must be a JSON object with task, criterion and status")
    lost = value.get("quarantined")
    if isinstance(lost, dict) and "task" not in value:
        return Quarantined(where=_word(lost.get("where")) or where, reason=_word(lost.get("reason")) or "")
    problem = _address_problem(value, read.repeated)
    if problem is not None:
        return Quarantined(where=where, reason=problem)
    criterion = value.get(_criterion_key(value))
    if criterion is None:
        return _trial_row(where, value, min(read.repeated, default=read.repeated_inside))
    twice = min(read.repeated.intersection(_FIELDS), default=read.repeated_inside)
    return _from_object(value, criterion, twice)


def _criterion_key(value: Mapping[str, Any]) -> str:
    return "criterion" if value.get("criterion") is not None else "rubric_id"


def _from_object(value: Mapping[str, Any], criterion: str, twice: str | None) -> Verdict:
    extracted = value.get("extracted")
    common: dict[str, Any] = {
        "task": value["task"], "criterion": criterion, "trial": value.get("trial", 1),
        "reason": _word(value.get("reason")) or "", "evidence_refs": _refs(value.get("evidence_refs")),
        "failure_tag": _word(value.get("failure_tag")),
        "extracted": named(extracted) if isinstance(extracted, dict) else {},
        "graders": tuple(map(_grader, _several(value.get("graders")))),
        "attempts": tuple(map(_attempt, _several(value.get("attempts")))), "cost_usd": _number(value.get("cost_usd")),
    }  # fmt: skip
    status = value.get("status")
    if twice is not None:
        code, reason = "duplicate_key", f"the key {_short(twice)} is written twice; keep one of them"
    elif status not in STATUSES:
        code = "bad_status"
        reason = f"the status must be graded, unknown, error or skipped, not {_short(status)}"
    elif not isinstance(extracted, dict | None):
        code, reason = "bad_extraction", f"extracted must be an object, not {_short(extracted)}"
    else:
        return _verdict(status, value.get("score"), _word(value.get("error")) or "", common)
    return Errored(**{**common, "reason": reason, "extracted": {}}, error=code)


def _address_problem(value: Mapping[str, Any], repeated: frozenset[str]) -> str | None:
    """Why the row cannot say which verdict it is; None when it can."""
    names = ("task", _criterion_key(value))
    twice = next((key for key in (*names, "criterion", "trial") if key in repeated), None)
    if twice is not None:
        return f"{twice} is written twice; keep one of them"
    for key in names:
        name = value.get(key)
        if isinstance(name, int | float) and not isinstance(name, bool):
            return f'{key} is the number {_short(name)}, and ids are text: write "{key}": "{_short(name)}"'
        if name is not None and not isinstance(name, str):
            return f"{key} must be text, not {_short(name)}"
    if value.get("task") is None:
        return "a row must name its task"
    trial = value.get("trial", 1)
    if isinstance(trial, bool) or not isinstance(trial, int) or not 0 <= trial <= MOST_TRIAL:
        return f'trial must be a whole number of 0 or more, not {_short(trial)}: write "trial": 1'
    return None


def _trial_row(where: str, value: Mapping[str, Any], twice: str | None) -> Row | Quarantined:
    if "status" in value or "score" in value:
        return Quarantined(where=where, reason="a verdict row must name its criterion")
    if twice is not None:
        return Quarantined(where=where, reason=f"the key {_short(twice)} is written twice; keep one of them")
    measurements = value.get("measurements")
    stated = measurements.items() if isinstance(measurements, dict) else ()
    numbers = {name: number for name, entry in stated if (number := _number(entry)) is not None}
    return TrialRow(
        task=value["task"],
        trial=value.get("trial", 1),
        ended_by=_word(value.get("ended_by")),
        measurements=numbers,
        trace=_word(value.get("trace")),
    )


def _word(value: Any) -> str | None:
    """Text as it is; what should have been text, shortly."""
    return value if value is None or isinstance(value, str) else _short(value)


def _several(value: Any) -> list[Any]:
    """One entry where a list was meant is taken for a list of one; what was given is never dropped."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _refs(value: Any) -> tuple[str, ...]:
    return tuple(ref if isinstance(ref, str) else _short(ref) for ref in _several(value))


def _grader(value: Any) -> GraderRef:
    """A grader that is written oddly is still a grader: a judge must not pass for code by a number as its version."""
    if not isinstance(value, dict):
        return GraderRef(kind=_word(value) or "")
    kind, setup, version, digest = (_word(value.get(key)) for key in ("kind", "setup", "version", "hash"))
    return GraderRef(kind=kind or "", setup=setup, version=version, hash=digest)


def _attempt(value: Any) -> Attempt:
    try:
        return msgspec.convert(named(value), Attempt)
    except msgspec.ValidationError:
        return Attempt(error=f"not readable as an attempt: {_short(value)}")


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def write_row(row: Row | Quarantined) -> bytes:
    """One line of JSON, without the newline. Strict: no NaN (scores are finite by construction), no half characters."""
    written = (
        {"quarantined": {"where": row.where, "reason": row.reason}} if isinstance(row, Quarantined) else row
    )
    try:
        return msgspec.json.encode(written)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean(msgspec.to_builtins(written)))
