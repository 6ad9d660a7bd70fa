from __future__ import annotations

import json
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import pytest

from steelyard.importers import read_traces
from steelyard.model.trace import Quarantined, Trace

ENTRY = {
    "task_id": 4,
    "trial": 1,
    "reward": 1.0,
    "info": {"user_cost": 0.25, "reward_info": {"actions": [{"name": "book"}]}},
    "traj": [{"role": "system", "content": "policy"}, {"role": "user", "content": "hi"}],
}


def read(tmp_path: Path, value: Any) -> list[Trace | Quarantined]:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(value))
    return list(read_traces(file))


def test_a_list_tells_numeric_task_ids_once(tmp_path: Path) -> None:
    found = read(tmp_path, [ENTRY, {**ENTRY, "task_id": 5}, {**ENTRY, "task_id": "x", "trial": 0}])
    traces = [one for one in found if isinstance(one, Trace)]
    assert [(t.task_id, t.trial) for t in traces] == [("4", 1), ("5", 1), ("x", 0)]
    assert [[n.code for n in t.notices] for t in traces] == [["task_id_number"], [], []]
    assert [t.id.removeprefix(str(tmp_path)) for t in traces] == ["/a.json#/0", "/a.json#/1", "/a.json#/2"]
    assert traces[1].steps[1].raw is not None
    assert traces[1].steps[1].raw.pointer == "/1/traj/1"
    assert (traces[0].external_scores[0].name, traces[0].external_scores[0].value) == ("reward", 1.0)
    assert traces[0].external_scores[0].components == ({"actions": [{"name": "book"}]},)
    assert traces[0].measurements == {"user_cost_usd": 0.25}
    assert traces[0].fidelity.has_system_prompt
    assert {t.source.format for t in traces} == {"taubench"}


def test_a_single_trajectory(tmp_path: Path) -> None:
    (trace,) = read(tmp_path, ENTRY)
    assert isinstance(trace, Trace)
    assert (trace.task_id, trace.trial) == ("4", 1)


@pytest.mark.parametrize(
    "wrong", [None, 5, [], {}, {**ENTRY, "traj": None}, {**ENTRY, "task_id": {}}, {**ENTRY, "trial": "a"}]
)
def test_a_wrong_entry_is_quarantined_alone(tmp_path: Path, wrong: Any) -> None:
    lost, kept = read(tmp_path, [wrong, ENTRY])
    assert isinstance(lost, Quarantined)
    assert lost.where.endswith("a.json#/0")
    assert isinstance(kept, Trace)


@pytest.mark.parametrize("reward", ["1", True, [1]])
def test_a_reward_that_is_no_number_is_not_recorded(tmp_path: Path, reward: Any) -> None:
    (trace,) = read(tmp_path, {**ENTRY, "reward": reward, "info": 5})
    assert isinstance(trace, Trace)
    assert trace.external_scores[0].value is None
    assert "bad_reward" in [notice.code for notice in trace.notices]


def test_the_published_pass_hat_k_comes_out(require_shared: Callable[[str], Path]) -> None:
    successes: dict[str | None, list[float]] = {}
    for trace in read_traces(require_shared("data/taubench/gpt-4o-airline.json")):
        assert isinstance(trace, Trace)
        successes.setdefault(trace.task_id, []).append(trace.external_scores[0].value or 0.0)
    assert {len(rewards) for rewards in successes.values()} == {4}
    passed = [
        sum(comb(int(sum(rewards)), k) / comb(4, k) for rewards in successes.values()) / len(successes)
        for k in (1, 2, 3, 4)
    ]
    assert [round(value, 3) for value in passed] == [0.42, 0.273, 0.22, 0.2]


def test_the_openai_style_file(require_shared: Callable[[str], Path]) -> None:
    (trace,) = read_traces(require_shared("data/formats/openai_chat/docent_tb_airline.json"))
    assert isinstance(trace, Trace)
    calls = [step.call for step in trace.steps if step.call]
    assert len(calls) == 12
    assert calls[0].args == {"user_id": "mia_li_3668"}
    assert (trace.task_id, trace.trial) == ("0", 0)
