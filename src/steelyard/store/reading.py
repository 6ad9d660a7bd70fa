"""Rows of the tables to records. ValueError and msgspec's own errors mean that the file is damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast, get_args

import msgspec

from steelyard.model.table import Primary, ScoreNotice
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Attempt, Errored, TrialRow, Verdict
from steelyard.ports.store import RunSummary, Status, StoredRun
from steelyard.store import schema
from steelyard.store.encoding import (
    Body,
    collector_paused,
    decode_body,
    measurements_of,
    verdict_of,
)
from steelyard.store.suites import decode_suite, is_intact

_decode_headline = msgspec.json.Decoder(Primary).decode
_decode_options = msgspec.json.Decoder(dict[str, Any]).decode
_decode_lost = msgspec.json.Decoder(tuple[Quarantined, ...]).decode
_decode_notices = msgspec.json.Decoder(tuple[ScoreNotice, ...]).decode
_SHOWN = ("metric", "value", "low", "high", "bar")


def summary(row: Sequence[Any]) -> RunSummary:
    """One line of the list of runs out of a row of `RUNS`."""
    name, suite, version, hash_, created, status, trials, planned, written, decision, notices = row
    headline = _decode_headline(written) if written is not None else None
    shown = {} if headline is None else {name: getattr(headline, name) for name in _SHOWN}
    return RunSummary(
        name=name, suite=suite, version=version, hash=hash_, created_at=created, status=_status(status),
        trials=trials, planned=planned, decision=decision,
        selected=any(notice.code == "selection" for notice in _decode_notices(notices)), **shown,
    )  # fmt: skip


def _status(word: str) -> Status:
    if word not in get_args(Status):
        raise ValueError(f"a grading with the status {word!r}")
    return cast(Status, word)


def load(
    connection: sqlite3.Connection, grading: int, held: Sequence[Verdict | TrialRow] | None = None
) -> StoredRun:
    """One grading, whole; with `held` as its rows where they are given."""
    row = connection.execute(schema.GRADING, (grading,)).fetchone()
    name, suite, digest, status, created, planned, options, lost, notices, headline, decision = row
    if not is_intact(digest, suite):
        raise ValueError(f"the standard of the run {name} is not the one that was written")
    if held is None:
        with collector_paused():
            held = tuple(rows(connection, grading))
    return StoredRun(
        name=name,
        suite=decode_suite(suite.encode()),
        rows=held,
        status=_status(status),
        created_at=created,
        planned=planned,
        options=_decode_options(options),
        lost=_decode_lost(lost),
        notices=_decode_notices(notices),
        primary=_decode_headline(headline) if headline is not None else None,
        decision=decision,
    )


def rows(connection: sqlite3.Connection, grading: int) -> Iterator[Verdict | TrialRow]:
    """Each trial row of a grading, followed by its verdicts; see `StoredRun.rows`."""
    trials: dict[int, TrialRow] = {}
    attempts: dict[tuple[str, int], list[int]] = {}
    for id_, task, number, ended_by, measurements, trace in connection.execute(schema.TRIALS, (grading,)):
        check_texts(task, ended_by, trace)
        if not isinstance(number, int):
            raise ValueError(f"the trial number {number!r}")
        trials[id_] = TrialRow(
            task=task,
            trial=number,
            ended_by=ended_by,
            measurements=measurements_of(measurements),
            trace=trace,
        )
        attempts.setdefault((task, number), []).append(id_)
    verdicts = _verdicts(connection, grading, trials)
    for several in attempts.values():
        yield trials[several[-1]]
        if len(several) == 1:
            yield from verdicts.get(several[0], ())
        else:
            yield from merged([verdicts.get(id_, ()) for id_ in several])


def check_texts(*values: object) -> None:
    """ValueError for a value that is neither text nor null."""
    for value in values:
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{value!r} where a text was written")


def _verdicts(
    connection: sqlite3.Connection, grading: int, trials: dict[int, TrialRow]
) -> dict[int, list[Verdict]]:
    """Verdicts by the id of their trial."""
    return _records(connection.execute(schema.VERDICTS, (grading,)), trials)


def _records(found_rows: Iterable[Sequence[Any]], trials: dict[int, TrialRow]) -> dict[int, list[Verdict]]:
    """Verdicts by the id of their trial. Each payload is decoded once, however many verdicts share it."""
    found: dict[int, list[Verdict]] = {}
    bodies: dict[int, Body] = {}
    here: list[Verdict] = []
    last, task, number = -1, "", 0
    for id_, criterion, status, score, tag, payload, text in found_rows:
        if id_ != last:
            here = found[id_] = []
            task, number, last = trials[id_].task, trials[id_].trial, id_
        body = bodies.get(payload)
        if body is None:
            body = bodies[payload] = decode_body(text)
        if not 0 <= status < len(schema.STATUSES):
            raise ValueError(f"a verdict with the status {status}")
        check_texts(criterion, tag)
        here.append(verdict_of((task, number, criterion), schema.STATUSES[status], score, tag, body))
    return found


def merged_trials(
    connection: sqlite3.Connection, several: Sequence[Sequence[int]]
) -> Iterator[Verdict | TrialRow]:
    """The rows of trials that were graded several times, given by the ids of their attempts; as in `rows`."""
    for ids in several:
        marks = f"({','.join('?' * len(ids))})"
        trials = {
            id_: TrialRow(
                task=task,
                trial=number,
                ended_by=ended_by,
                measurements=measurements_of(measurements),
                trace=trace,
            )
            for id_, task, number, ended_by, measurements, trace in connection.execute(
                schema.TRIALS_AT + marks, ids
            )
        }
        found = connection.execute(f"{schema.ATTEMPTS_AT}{marks} ORDER BY v.trial_id, v.id", ids)
        verdicts = _records(found, trials)
        yield trials[ids[-1]]
        yield from merged([verdicts.get(id_, ()) for id_ in ids])


def merged(attempts: Sequence[Sequence[Verdict]]) -> Iterator[Verdict]:
    """The verdicts of a trial that was graded several times: for each criterion those of its last attempt.

    The earlier ones stand under `attempts`, and `cost_usd` is what all of them cost. One that says the same again and
    cost nothing is no further attempt.
    """
    latest: dict[str, tuple[Sequence[Verdict], Sequence[Verdict]]] = {}
    for verdicts in attempts:
        by_criterion: dict[str, list[Verdict]] = {}
        for verdict in verdicts:
            by_criterion.setdefault(verdict.criterion, []).append(verdict)
        for criterion, current in by_criterion.items():
            before, earlier = latest.get(criterion, ((), []))
            again = list(before) == current and all(verdict.cost_usd is None for verdict in current)
            latest[criterion] = (current, earlier if again else [*earlier, *before])
    for last, earlier in latest.values():
        yield from (_with_earlier(verdict, earlier) for verdict in last) if earlier else last


def _with_earlier(verdict: Verdict, earlier: Iterable[Verdict]) -> Verdict:
    every = [*earlier, verdict]
    costs = [each.cost_usd for each in every if each.cost_usd is not None]
    tries = tuple(attempt for each in every for attempt in (each.attempts or (_attempt(each),)))
    return msgspec.structs.replace(verdict, attempts=tries, cost_usd=sum(costs) if costs else None)


def _attempt(verdict: Verdict) -> Attempt:
    """A verdict without attempts of its own, as one."""
    status = str(type(verdict).__struct_config__.tag)
    if isinstance(verdict, Errored):
        return Attempt(
            stop_reason=status, error=f"{verdict.error}: {verdict.reason}", cost_usd=verdict.cost_usd
        )
    return Attempt(reply=verdict.reason or None, stop_reason=status, cost_usd=verdict.cost_usd)


def by_trial(rows: Iterable[Verdict | TrialRow]) -> Iterator[tuple[TrialRow, list[Verdict]]]:
    """Each trial row with the verdicts that follow it. ValueError for a verdict that follows none of its own."""
    current: tuple[TrialRow, list[Verdict]] | None = None
    for row in rows:
        if isinstance(row, TrialRow):
            if current is not None:
                yield current
            current = (row, [])
        elif current is None or (row.task, row.trial) != (current[0].task, current[0].trial):
            raise ValueError(f"the verdict {row.task}#{row.trial}/{row.criterion} does not follow its trial")
        else:
            current[1].append(row)
    if current is not None:
        yield current
