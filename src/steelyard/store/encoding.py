"""Verdicts, payloads and measurements as JSON text, and back without loss."""

from __future__ import annotations

import gc
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from steelyard.model.verdict import Attempt, Errored, Graded, GraderRef, Skipped, Unknown, Verdict
from steelyard.ports.store import Payload

_SURROGATE = re.compile("[\ud800-\udfff]")


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile: it would look through the growing records again and again (half the time)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `payload.body` may hold: a payload, or the rest of a verdict that no finding stands behind."""

    status: str | None = None
    score: str | None = None
    error: str | None = None
    reason: str = ""
    evidence_refs: tuple[str, ...] = ()
    failure_tag: str | None = None
    graders: tuple[GraderRef, ...] = ()
    extracted: Mapping[str, Any] = {}
    attempts: tuple[Attempt, ...] = ()
    cost_usd: float | None = None


decode_body = msgspec.json.Decoder(Body).decode
decode_payload = msgspec.json.Decoder(Payload).decode
decode_measurements = msgspec.json.Decoder(dict[str, float | str]).decode


def body_of(verdict: Verdict, payload: Payload | None) -> tuple[bytes, bool]:
    """The text to keep for a verdict, and whether it is the payload's own, which is kept once where it says all."""
    if payload is not None and _covers(payload, verdict):
        return encode(payload), True
    rest = Body(
        error=verdict.error if isinstance(verdict, Errored) else None,
        reason=verdict.reason,
        evidence_refs=verdict.evidence_refs,
        graders=verdict.graders,
        extracted=verdict.extracted,
        attempts=verdict.attempts,
        cost_usd=verdict.cost_usd,
    )
    return encode(rest), False


def _covers(payload: Payload, verdict: Verdict) -> bool:
    return (
        not isinstance(verdict, Errored)
        and payload.reason == verdict.reason
        and payload.evidence_refs == verdict.evidence_refs
        and payload.graders == verdict.graders
        and payload.extracted == verdict.extracted
        and payload.attempts == verdict.attempts
        and payload.cost_usd == verdict.cost_usd
    )


def encode(record: Any) -> bytes:
    """JSON of a record. Halves of surrogate pairs, which UTF-8 cannot hold, become U+FFFD."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean(msgspec.to_builtins(record)))


def clean(value: Any) -> Any:
    """The same value with U+FFFD for what is no character."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {clean(name): clean(child) for name, child in value.items()}
    return [clean(child) for child in value] if isinstance(value, list | tuple) else value


def encode_measurements(measurements: Mapping[str, float]) -> bytes:
    """Measurements as JSON; one that is not finite by its name."""
    if all(map(math.isfinite, measurements.values())):
        return encode(measurements) if measurements else b"{}"
    return encode({name: n if math.isfinite(n) else repr(n) for name, n in measurements.items()})


def measurements_of(body: str) -> dict[str, float]:
    """The measurements again."""
    return {name: float(number) for name, number in decode_measurements(body).items()}


def verdict_of(
    address: tuple[str, int, str], status: str, score: float | None, failure_tag: str | None, body: Body
) -> Verdict:
    """A verdict out of its row and payload. ValueError when the two make no verdict."""
    task, trial, criterion = address
    if status == "graded":
        if score is None or not 0 <= score <= 1:
            raise ValueError(f"a graded verdict with the score {score}")
        return Graded(
            task=task, trial=trial, criterion=criterion, reason=body.reason, evidence_refs=body.evidence_refs,
            failure_tag=failure_tag, extracted=body.extracted, graders=body.graders, attempts=body.attempts,
            cost_usd=body.cost_usd, score=score,
        )  # fmt: skip
    common: dict[str, Any] = {
        "task": task, "trial": trial, "criterion": criterion, "reason": body.reason,
        "evidence_refs": body.evidence_refs, "failure_tag": failure_tag, "extracted": body.extracted,
        "graders": body.graders, "attempts": body.attempts, "cost_usd": body.cost_usd,
    }  # fmt: skip
    if status == "error":
        return Errored(**common, error=body.error if body.error is not None else "error")
    return Unknown(**common) if status == "unknown" else Skipped(**common)
