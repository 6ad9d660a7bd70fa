"""A task's `reference` or `no_op` as it is written in a suite, to a trace and the verdicts recorded on it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from steelyard.app.facade import read_traces
from steelyard.errors import InputError
from steelyard.grading.matching import Matcher
from steelyard.model.checks import RecordedCheck
from steelyard.model.standard import Criterion, Suite, Task
from steelyard.model.trace import EndState, Quarantined, Trace

Kind = Literal["reference", "no_op"]
_RUNS = ("trace", "messages", "answer")
_BESIDE = ("start_state", "end_state", "ended_by", "measurements", "recorded")
_TOLD = ("bad_state", "missing_state", "unknown_ending", "bad_measurement")
"""Notices of an importer that here are mistakes in the suite."""


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a task declares. `recorded`: as written; `row_files` makes files of it."""

    trace: Trace
    recorded: Any = None


def read_declared(suite: Suite, task: Task, kind: Kind, written: Any, solved: Trace | None) -> Declared:
    """The run that is written under `reference` or `no_op`; the module `references` says how.

    `solved` is the task's reference, whose start state a no-op shares. InputError when it is no such run.
    """
    fields = _fields(kind, written)
    recorded = fields.pop("recorded", None)
    file = fields.pop("trace", None)
    if file is not None:
        trace = _with_fields(_from_file(suite, task, file), fields, suite)
    else:
        trace = _inline(suite, _conversation(task, fields))
    told = [notice.detail for notice in trace.notices if notice.code in _TOLD]
    if told:
        raise InputError(" ".join(told))
    if kind == "no_op":
        trace = _untouched(trace, solved)
    return Declared(trace=msgspec.structs.replace(trace, task_id=task.id), recorded=recorded)


def _fields(kind: Kind, declared: Any) -> dict[str, Any]:
    if isinstance(declared, str):
        return {"trace": declared}
    if kind == "no_op" and declared is True:
        return {}
    if not isinstance(declared, Mapping):
        raise InputError(
            "it is a file name, or a mapping with one of trace, messages and answer"
            + (", or true" if kind == "no_op" else "")
        )
    unknown = [str(key) for key in declared if key not in (*_RUNS, *_BESIDE)]
    if unknown:
        raise InputError(f"it has the unknown key {unknown[0]!r}; keys are {', '.join((*_RUNS, *_BESIDE))}")
    runs = [key for key in _RUNS if key in declared]
    if len(runs) > 1 or (kind == "reference" and not runs):
        raise InputError(
            f"it needs exactly one of {', '.join(_RUNS)}, and has {' and '.join(runs) or 'none'}"
        )
    return dict(declared)


def _conversation(task: Task, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as a line of a recording."""
    line = dict(fields)
    answer = line.pop("answer", None)
    prompt = {"role": "user", "content": task.prompt}
    if "messages" not in line:
        line["messages"] = [prompt]
    if answer is not None:
        text = answer if isinstance(answer, str) else _encode(answer).decode()
        line["messages"] = [prompt, {"role": "assistant", "content": text}]
    return line


def _inline(suite: Suite, line: Mapping[str, Any]) -> Trace:
    from steelyard.importers.formats.openai_chat import OpenAIChat
    from steelyard.ports.importer import Record

    value = json.loads(_encode(line))
    chat = OpenAIChat()
    if not chat.matches(value):
        raise InputError("its `messages` are no list of chat messages ({role: ..., content: ...})")
    # The paths of its states are relative to the suite, as if this were a file beside it.
    (found,) = chat.read(Record(value=value, where="the suite", file=str(Path(suite.folder) / "suite")))
    if isinstance(found, Quarantined):
        raise InputError(found.reason)
    return found


def _with_fields(trace: Trace, fields: Mapping[str, Any], suite: Suite) -> Trace:
    """What stands beside `trace` in the declaration comes before what the recording says."""
    if not fields:
        return trace
    told = _inline(suite, {**fields, "messages": []})
    outcome = told.outcome if "ended_by" in fields else trace.outcome
    return msgspec.structs.replace(
        trace,
        state_before=told.state_before if "start_state" in fields else trace.state_before,
        state_after=told.state_after if "end_state" in fields else trace.state_after,
        measurements={**trace.measurements, **told.measurements},
        outcome=outcome,
        notices=(*trace.notices, *(notice for notice in told.notices if notice.code in _TOLD)),
    )


def _untouched(trace: Trace, solved: Trace | None) -> Trace:
    """Where nothing was done, the end is as the start was."""
    start: EndState | None = trace.state_before or (solved.state_before if solved else None)
    return msgspec.structs.replace(trace, state_before=start, state_after=trace.state_after or start)


def _from_file(suite: Suite, task: Task, named: Any) -> Trace:
    if not isinstance(named, str):
        raise InputError("`trace` is no file name")
    name, _, locator = (named, "", "") if os.path.exists(Path(suite.folder, named)) else named.rpartition("#")
    path = _beside(suite, name or named)
    if not os.path.isfile(path):
        raise InputError(
            f"there is no file {name or named!r} beside the suite; an answer is written {{answer: ...}}"
        )
    matcher = Matcher(suite.tasks)
    traces: list[Trace] = []
    lost = ""
    for found in read_traces(path):
        if isinstance(found, Quarantined):
            lost = lost or f" (first that cannot be read: {found.reason})"
        else:
            traces.append(found)
    own = [trace for trace in traces if matcher.task_of(trace) is task]
    if not own and len(traces) == 1 and traces[0].task_id is None:
        own = traces
    if locator:
        own = [trace for trace in own if locator in (trace.id, str(trace.trial))]
    if len(own) != 1:
        hint = "; write FILE#TRIAL for one of them" if own else lost
        raise InputError(f"{named!r} holds {len(own)} recordings of this task, and must hold one{hint}")
    return own[0]


def _beside(suite: Suite, name: str) -> Path:
    folder = Path(suite.folder).resolve()
    try:
        path = (folder / name).resolve()
    except (OSError, ValueError):
        raise InputError(f"{name!r} is no file name") from None
    if not path.is_relative_to(folder):
        raise InputError(f"{name!r} is outside the folder of the suite; put the file beside it")
    return path


def row_files(suite: Suite, task: Task, declared: Declared, folder: Path) -> list[Path]:
    """Files with the verdicts recorded on a declared run; `folder` is a place to write to. InputError."""
    return list(_row_files(suite, task, declared, folder))


def _row_files(suite: Suite, task: Task, declared: Declared, folder: Path) -> Iterator[Path]:
    recorded = declared.recorded
    if isinstance(recorded, str):
        yield _beside(suite, recorded)
    elif isinstance(recorded, list | tuple):
        for name in recorded:
            if not isinstance(name, str):
                raise InputError("`recorded` is a list, but not one of file names")
            yield _beside(suite, name)
    elif isinstance(recorded, Mapping):
        file = folder / "recorded.jsonl"
        file.write_bytes(
            b"".join(_row(task, declared.trace, name, value) + b"\n" for name, value in recorded.items())
        )
        yield file
    elif recorded is not None:
        raise InputError("`recorded` is neither a mapping of criteria to scores nor a file of verdict rows")


def _row(task: Task, trace: Trace, criterion: str, value: Any) -> bytes:
    known = [each.id for each in task.criteria]
    if criterion not in known:
        raise InputError(f"`recorded` names {criterion!r}; the criteria are {', '.join(known)}")
    if _by_code(task.criteria[known.index(criterion)]):
        raise InputError(f"`recorded` names {criterion}, which code settles; leave it out")
    told = (
        value if isinstance(value, Mapping) else {"score": int(value) if isinstance(value, bool) else value}
    )
    who = {"status": "graded", "graders": [{"kind": "human", "setup": "recorded"}]}
    place = {"task": task.id, "trial": 1 if trace.trial is None else trace.trial, "criterion": criterion}
    return _encode({**who, **told, **place})


def _by_code(criterion: Criterion) -> bool:
    extracts = criterion.judge is not None and bool(criterion.judge.extract)
    recorded = isinstance(criterion.check, RecordedCheck) and criterion.check.score is None
    return criterion.check is not None and not extracts and not recorded


def _encode(value: Any) -> bytes:
    try:
        return msgspec.json.Encoder(decimal_format="number").encode(value)
    except (TypeError, ValueError, msgspec.MsgspecError) as problem:
        raise InputError(f"it holds what JSON cannot: {problem}") from None
