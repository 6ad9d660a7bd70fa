"""What every importer owes, over every format: conservation, pointers that resolve, and no crash on odd input."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.importers import known_formats, read_traces
from steelyard.importers.detect import IMPORTERS
from steelyard.importers.formats.canonical import encode_trace
from steelyard.model.evidence import follow, results_of
from steelyard.model.trace import Quarantined, Trace
from steelyard.ports.importer import Importer, Record

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Book a seat."},
    {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": '{"n": 1}'}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"free": 3}'},
    {"role": "assistant", "content": "There are 3."},
]
TAU2_MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Book a seat."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "name": "look", "arguments": {"n": 1}}],
    },
    {"role": "tool", "id": "1", "content": '{"free": 3}', "requestor": "assistant"},
    {"role": "assistant", "content": "There are 3."},
]
SAMPLES: dict[str, Any] = {
    "canonical": {
        "schema": "trace/1",
        "task_id": "a",
        "steps": [
            {"kind": "user", "text": "Book a seat."},
            {"kind": "tool_call", "name": "look", "args": {"n": 1}},
            {"kind": "tool_result", "value": {"free": 3}},
            {"kind": "assistant", "text": "There are 3."},
        ],
    },
    "tau2": {
        "info": {},
        "tasks": [{"id": "a"}],
        "simulations": [
            {"task_id": "a", "trial": 0, "termination_reason": "user_stop", "messages": TAU2_MESSAGES}
        ],
    },
    "taubench": {"task_id": "a", "trial": 0, "reward": 1.0, "info": {}, "traj": MESSAGES},
    "openai_chat": {"task_id": "a", "trial": 1, "messages": MESSAGES},
}
TAU2_FILES = [
    "airline__azure-gpt-4o__1trial.json",
    "airline__gpt-4.1__1trial.json",
    "airline__gpt-oss-120b-langchain__1trial.json",
    "custom_ecommerce__gemma-3-27b__NLASSERTION.json",
    "mock__gpt-4.1-mini__activegraph.json",
    "retail__gpt-4.1__1trial.json",
    "telecom-solo__gpt-4.1__5tasks_4trials.json",
    "telecom__gpt-4.1__default__1trial.json",
    "telecom__gpt-4o__default__20sims.json",
]
REAL_FILES = [
    *(f"data/tau2/{name}" for name in TAU2_FILES),
    "data/taubench/gpt-4o-airline.json",
    "data/formats/openai_chat/docent_tb_airline.json",
]

every_format = pytest.mark.parametrize("importer", IMPORTERS, ids=known_formats())


def record(value: Any) -> Record:
    return Record(value=value, where="a.json", file="a.json")


def assert_sound(trace: Trace) -> None:
    """What holds for every trace, whatever it was made from."""
    assert [step.id for step in trace.steps] == [f"s{n:04d}" for n in range(1, len(trace.steps) + 1)]
    assert [step.seq for step in trace.steps] == list(range(len(trace.steps)))
    assert len({step.uid for step in trace.steps}) == len(trace.steps)
    aliases = [step.alias for step in trace.steps if step.kind in ("tool_result", "retrieval")]
    assert aliases == [f"e{n}" for n in range(1, len(aliases) + 1)]
    calls = {step.id for step in trace.steps if step.kind == "tool_call"}
    pairs = [step.result.call_step_id for step in trace.steps if step.result is not None]
    paired = [call for call in pairs if call is not None]
    assert len(paired) == len(set(paired))
    assert set(paired) <= calls
    codes = {notice.code for notice in trace.notices}
    assert ("missing_result" in codes) == bool(calls - set(paired))
    assert ("orphan_result" in codes) == (len(paired) < len(pairs))
    assert len(codes) == len(trace.notices)
    for step in trace.steps:
        assert (step.call is not None) == (step.kind == "tool_call")
        assert (step.result is not None) == (step.kind == "tool_result")
        assert step.call is None or step.call.args_error is None or step.call.args is None


@every_format
def test_a_sample_is_recognised_by_its_own_format_alone(importer: Importer) -> None:
    assert [other.name for other in IMPORTERS if other.matches(SAMPLES[importer.name])] == [importer.name]


@every_format
def test_a_sample_gives_one_sound_trace(importer: Importer) -> None:
    (trace,) = importer.read(record(SAMPLES[importer.name]))
    assert isinstance(trace, Trace)
    assert_sound(trace)
    assert trace.task_id == "a"
    assert trace.notices == ()
    kinds = Counter(step.kind for step in trace.steps)
    assert (kinds["user"], kinds["tool_call"], kinds["tool_result"]) == (1, 1, 1)
    (call_id,) = results_of(trace)
    call = trace.steps[int(call_id[1:]) - 1].call
    assert call is not None
    assert (call.name, call.args, call.executed) == ("look", {"n": 1}, "yes")
    assert trace.source.format == importer.name


@every_format
def test_pointers_resolve_in_the_source(importer: Importer) -> None:
    value = SAMPLES[importer.name]
    (trace,) = importer.read(record(value))
    assert isinstance(trace, Trace)
    for step in trace.steps:
        assert step.raw is not None
        assert follow(value, step.raw.pointer) is not None


ODD_VALUES: list[Any] = [
    None,
    True,
    5,
    -1.5,
    "",
    "text",
    [],
    {},
    [[]],
    [None],
    {"role": "user"},
    {"a": {"b": [1]}},
]


@every_format
@pytest.mark.parametrize("value", ODD_VALUES, ids=repr)
def test_any_value_is_looked_at_without_raising(importer: Importer, value: Any) -> None:
    assert importer.matches(value) in (True, False)


def places(value: Any, pointer: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if pointer:
        yield pointer
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield from places(child, (*pointer, key))


def replaced(value: Any, pointer: tuple[Any, ...], new: Any) -> Any:
    copy = json.loads(json.dumps(value))
    parent = copy
    for key in pointer[:-1]:
        parent = parent[key]
    parent[pointer[-1]] = new
    return copy


@every_format
def test_no_field_of_any_type_crashes_or_loses_the_record(importer: Importer, tmp_path: Path) -> None:
    """Every field of the sample in turn is replaced by every kind of value: a trace or a reason, never nothing."""
    sample = SAMPLES[importer.name]
    file = tmp_path / "odd.jsonl"
    mutated = [replaced(sample, place, odd) for place in places(sample) for odd in ODD_VALUES]
    file.write_text("\n".join(json.dumps(value) for value in [sample, *mutated]))
    lines_seen = set()
    for found in read_traces(file):
        if isinstance(found, Trace):
            assert_sound(found)
            assert json.loads(encode_trace(found))["schema"] == "trace/1"
            lines_seen.add(found.source.locator.split("/")[0])
        else:
            assert found.reason.endswith(".")
            assert "importer failed" not in found.reason
            lines_seen.add("line " + found.where.split("#")[0].rsplit(":", 1)[1])
    assert lines_seen == {f"line {n}" for n in range(1, len(mutated) + 2)}


def simulations_of(value: Any) -> list[list[dict[str, Any]]]:
    if isinstance(value, dict) and "simulations" in value:
        return [simulation["messages"] for simulation in value["simulations"]]
    return [entry["traj"] for entry in (value if isinstance(value, list) else [value])]


def tool_results(messages: list[dict[str, Any]]) -> int:
    return sum(len(m.get("tool_messages", [m])) for m in messages if m["role"] == "tool")


@pytest.mark.parametrize("name", REAL_FILES)
def test_real_files_are_conserved(require_shared: Callable[[str], Path], name: str) -> None:
    """Counts per trace against a plain parse; nothing is lost, nothing told twice, every pointer resolves."""
    file = require_shared(name)
    value = json.loads(file.read_text())
    conversations = simulations_of(value)
    traces = list(read_traces(file))
    assert len(traces) == len(conversations)
    for trace, messages in zip(traces, conversations, strict=True):
        assert isinstance(trace, Trace)
        assert_sound(trace)
        assert "missing_result" not in {notice.code for notice in trace.notices}
        for role in ("user", "assistant", "system"):
            texts = [m["content"] for m in messages if m["role"] == role and m.get("content")]
            assert [step.text for step in trace.steps if step.kind == role] == texts
        names = [(c.get("function") or c)["name"] for m in messages for c in m.get("tool_calls") or ()]
        assert [step.call.name for step in trace.steps if step.call] == names
        assert sum(step.kind == "tool_result" for step in trace.steps) == tool_results(messages)
        for step in trace.steps:
            assert step.raw is not None
            source = follow(value, step.raw.pointer)
            if step.call is not None:
                body = source.get("function") or source
                args = body["arguments"]
                assert step.call.args == (json.loads(args) if isinstance(args, str) else args)
            else:
                assert source["content"] == step.text
                assert messages[step.turn]["role"] == source["role"]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        # user texts, assistant texts, calls, results: from a parse apart from this code
        ("data/tau2/airline__azure-gpt-4o__1trial.json", (295, 331, 277, 277)),
        ("data/tau2/airline__gpt-oss-120b-langchain__1trial.json", (257, 257, 847, 847)),
        ("data/tau2/telecom__gpt-4.1__default__1trial.json", (456, 456, 689, 689)),
        ("data/tau2/telecom-solo__gpt-4.1__5tasks_4trials.json", (0, 20, 192, 192)),
        ("data/taubench/gpt-4o-airline.json", (1490, 1380, 1164, 1164)),
    ],
)
def test_golden_counts(require_shared: Callable[[str], Path], name: str, counts: tuple[int, ...]) -> None:
    kinds: Counter[str] = Counter()
    for trace in read_traces(require_shared(name)):
        assert isinstance(trace, Trace)
        kinds.update(step.kind for step in trace.steps)
    assert tuple(kinds[kind] for kind in ("user", "assistant", "tool_call", "tool_result")) == counts


def test_repeated_call_ids_of_real_data_are_told(require_shared: Callable[[str], Path]) -> None:
    told = [
        notice.detail
        for trace in read_traces(require_shared("data/taubench/gpt-4o-airline.json"))
        if isinstance(trace, Trace)
        for notice in trace.notices
        if notice.code == "repeated_call_id"
    ]
    repeats = [int(detail.split("(")[1].split()[0]) if "(" in detail else 1 for detail in told]
    assert (len(told), sum(repeats)) == (49, 73)


def test_quarantined_is_never_mistaken_for_a_trace() -> None:
    found = list(IMPORTERS[-1].read(record({"messages": 5})))
    assert [type(one) for one in found] == [Quarantined]
