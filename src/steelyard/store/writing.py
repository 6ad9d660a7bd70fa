"""Records to rows of the tables, all of it before a transaction begins."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from steelyard.errors import StoreError, UsageError
from steelyard.model.verdict import Errored, Graded, Skipped, TrialRow, Unknown, Verdict
from steelyard.ports.store import GradingRef, Payload
from steelyard.store.encoding import body_of, clean, encode, encode_measurements

_STATUS: Mapping[type, int] = {Graded: 0, Unknown: 1, Errored: 2, Skipped: 3}


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A trial as it will be written: its columns, those of its verdicts, payloads by hash, and (key, hash) pairs."""

    grading: int
    trial: tuple[Any, ...]
    verdicts: Sequence[tuple[Any, ...]]
    bodies: Mapping[bytes, str]
    keys: Sequence[tuple[bytes, bytes]]


def options_text(options: Mapping[str, Any]) -> str:
    """Equal options give equal text. UsageError where they are no JSON."""
    try:
        return msgspec.json.encode(options, order="sorted").decode()
    except (TypeError, ValueError) as error:
        raise UsageError(f"the options of a grading must be JSON values ({error})") from error


def written(
    grading: GradingRef,
    trial: TrialRow,
    verdicts: Sequence[Verdict],
    keys: Sequence[bytes | None],
    payloads: Sequence[Payload | None],
) -> tuple[Waiting, dict[bytes, Payload]]:
    """A trial as it will be written, and the findings in it by key."""
    if (keys and len(keys) != len(verdicts)) or (payloads and len(payloads) != len(verdicts)):
        raise ValueError("keys and payloads go along with the verdicts: one each, or none at all")
    bodies: dict[bytes, str] = {}
    rows: list[tuple[Any, ...]] = []
    pairs: list[tuple[bytes, bytes]] = []
    found: dict[bytes, Payload] = {}
    task, number = trial.task, trial.trial
    for position, verdict in enumerate(verdicts):
        if verdict.task != task or verdict.trial != number:
            raise ValueError(f"a verdict of {verdict.task}#{verdict.trial} among those of {task}#{number}")
        key = keys[position] if keys else None
        payload = payloads[position] if payloads else None
        body, own = body_of(verdict, payload)
        digest = _kept(body, bodies)
        rows.append(_row(verdict, digest))
        if key is None or isinstance(verdict, (Errored, Skipped)):
            continue
        if payload is None:
            raise ValueError(f"{verdict.criterion}: a key without the payload that it stands for")
        pairs.append((key, digest if own else _kept(encode(payload), bodies)))
        found.setdefault(key, payload)
    measured = encode_measurements(trial.measurements).decode()
    columns = (_id(task), number, _text(trial.ended_by), measured, _text(trial.trace))
    return Waiting(grading=grading.id, trial=columns, verdicts=rows, bodies=bodies, keys=pairs), found


def _kept(body: bytes, bodies: dict[bytes, str]) -> bytes:
    digest = hashlib.sha256(body).digest()
    bodies[digest] = body.decode()
    return digest


def _row(verdict: Verdict, digest: bytes) -> tuple[Any, ...]:
    score = verdict.score if isinstance(verdict, Graded) else None
    if score is not None and not 0 <= score <= 1:
        raise ValueError(f"{verdict.criterion}: the score {score} is outside 0..1")
    return _id(verdict.criterion), _STATUS[type(verdict)], score, _text(verdict.failure_tag), digest


def _text(text: str | None) -> Any:
    return text if text is None or text.isascii() else clean(text)


def _id(text: str) -> str:
    """Ids are never changed, so one that cannot be kept is refused."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise StoreError(f"the id {text!r} holds half a character; ids must be whole text") from None
    return text
