from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import FormatError
from steelyard.importers import read_traces
from steelyard.importers.building import StepBuilder
from steelyard.importers.formats.tau2 import read_result_file
from steelyard.importers.tau2_scores import read_scores
from steelyard.model.evidence import agent_calls, results_of
from steelyard.model.trace import Quarantined, Trace, Usage
from steelyard.ports.importer import Record

ACTION = {
    "action_id": "1_0",
    "requestor": "assistant",
    "name": "refuel",
    "arguments": {"gb": 2},
    "info": None,
}
FILE: dict[str, Any] = {
    "info": {
        "agent_info": {"implementation": "llm_agent", "llm": "m1"},
        "user_info": {"implementation": "user_simulator", "llm": "m2"},
        "environment_info": {"domain_name": "telecom", "policy": "One call at a time.", "tool_defs": None},
    },
    "tasks": [
        {
            "id": "t1",
            "ticket": "No data.",
            "evaluation_criteria": {
                "actions": [ACTION],
                "env_assertions": None,
                "communicate_info": [],
                "nl_assertions": ["Be kind", "Be brief"],
                "reward_basis": ["DB", "ACTION"],
            },
        }
    ],
    "simulations": [
        {
            "id": "sim-1",
            "task_id": "t1",
            "trial": 0,
            "duration": 12.5,
            "agent_cost": 0.25,
            "user_cost": None,
            "termination_reason": "user_stop",
            "reward_info": {
                "reward": 0.0,
                "db_check": {"db_match": True, "db_reward": 1.0},
                "env_assertions": [],
                "action_checks": [{"action": ACTION, "action_match": False, "action_reward": 0.0}],
                "nl_assertions": None,
                "communicate_checks": None,
                "reward_basis": ["DB", "ACTION"],
            },
            "messages": [
                {
                    "role": "assistant",
                    "content": "Hi!",
                    "tool_calls": None,
                    "cost": 0.0,
                    "usage": None,
                    "timestamp": "2025-08-10T02:44:06.5",
                },
                {
                    "role": "user",
                    "content": None,
                    "cost": 0.5,
                    "usage": {"prompt_tokens": 90, "completion_tokens": 9},
                    "tool_calls": [{"id": "u", "name": "toggle", "arguments": {}, "requestor": "user"}],
                },
                {"role": "tool", "id": "u", "content": "on", "requestor": "user", "error": False},
                {
                    "role": "assistant",
                    "content": "One moment.",
                    "cost": 0.1,
                    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
                    "tool_calls": [
                        {"id": "a", "name": "look", "arguments": {"id": 1}, "requestor": "assistant"},
                        {"id": "b", "name": "look", "arguments": {"id": 2}, "requestor": "assistant"},
                    ],
                },
                {
                    "role": "tool",
                    "tool_messages": [
                        {
                            "role": "tool",
                            "id": "a",
                            "content": '{"plan": "P1"}',
                            "requestor": "assistant",
                            "error": False,
                        },
                        {
                            "role": "tool",
                            "id": "b",
                            "content": "Error: none",
                            "requestor": "assistant",
                            "error": True,
                        },
                    ],
                },
                {"role": "user", "content": "Bye ###STOP###", "tool_calls": None},
            ],
        }
    ],
}


def read(tmp_path: Path, value: Any) -> list[Trace | Quarantined]:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(value))
    return list(read_traces(file))


def edited(tmp_path: Path, **changes: Any) -> Trace:
    """The trace of the one simulation after these changes to it; `reward_info` is merged."""
    value = copy.deepcopy(FILE)
    simulation = value["simulations"][0]
    info = changes.pop("reward_info", {})
    simulation.update(changes)
    simulation["reward_info"] = None if info is None else {**simulation["reward_info"], **info}
    (trace,) = read(tmp_path, value)
    assert isinstance(trace, Trace), trace
    return trace


def codes(trace: Trace) -> list[str]:
    return [notice.code for notice in trace.notices]


def test_both_speakers_and_their_calls(tmp_path: Path) -> None:
    trace = edited(tmp_path)
    assert [(s.kind, s.role, s.agent_id, s.turn) for s in trace.steps] == [
        ("assistant", "assistant", "agent", 0),
        ("tool_call", "user", "user", 1),
        ("tool_result", "tool", "user", 2),
        ("assistant", "assistant", "agent", 3),
        ("tool_call", "assistant", "agent", 3),
        ("tool_call", "assistant", "agent", 3),
        ("tool_result", "tool", "agent", 4),
        ("tool_result", "tool", "agent", 4),
        ("user", "user", "user", 5),
    ]
    assert [(s.call.name, s.call.args) for s in agent_calls(trace) if s.call] == [
        ("look", {"id": 1}),
        ("look", {"id": 2}),
    ]
    assert len(agent_calls(trace, by="user")) == 1
    assert {key: step.id for key, step in results_of(trace).items()} == {
        "s0002": "s0003",
        "s0005": "s0007",
        "s0006": "s0008",
    }
    assert [s.result.outcome for s in trace.steps if s.result] == ["ok", "ok", "error"]
    assert trace.steps[7].raw is not None
    assert trace.steps[7].raw.pointer == "/simulations/0/messages/4/tool_messages/1"
    assert (trace.steps[0].started_at, trace.steps[0].clock) == ("2025-08-10T02:44:06.5", "naive")
    assert trace.notices == ()


def test_the_run_around_the_messages(tmp_path: Path) -> None:
    trace = edited(tmp_path)
    assert (trace.id, trace.task_id, trace.trial) == ("sim-1", "t1", 0)
    assert (trace.outcome.exit_status, trace.outcome.ended_by) == ("user_stop", "user_stop")
    assert trace.measurements == {
        "seconds": 12.5,
        "cost_usd": 0.25,
        "tool_calls": 2,
        "turns": 2,
        "tokens": 15,
    }
    assert trace.usage == Usage(input_total=10, output=5, cost_usd=0.25, cost_basis="reported")
    assert [(a.id, a.name, a.model, a.instructions) for a in trace.agents] == [
        ("agent", "llm_agent", "m1", "One call at a time."),
        ("user", "user_simulator", "m2", None),
    ]
    assert trace.fidelity.has_system_prompt
    assert trace.source.locator == "/simulations/0"


def test_recorded_scores_by_component(tmp_path: Path) -> None:
    trace = edited(tmp_path)
    assert {score.name: score.value for score in trace.external_scores} == {
        "reward": 0.0,
        "DB": 1.0,
        "ENV_ASSERTION": None,
        "ACTION": 0.0,
        "COMMUNICATE": None,
        "NL_ASSERTION": None,
    }
    action = next(score for score in trace.external_scores if score.name == "ACTION")
    assert [check["action"]["name"] for check in action.components] == ["refuel"]


@pytest.mark.parametrize(
    ("checks", "value"),
    [
        (None, None),
        ([], None),
        ([{"met": True}], 1.0),
        ([{"met": True}, {"met": False}], 0.0),
        ([{"met": None}], None),
        ([{"met": True}, {"met": "yes"}], None),
        ([{"met": False}, {}], 0.0),
        ([5], None),
        ("x", None),
        ([{"met": 1}], None),
    ],
)
def test_a_component_is_met_only_when_every_entry_says_so(checks: Any, value: float | None) -> None:
    builder = StepBuilder(Record(value=None, where="", file=""))
    scores = read_scores({"env_assertions": checks}, builder)
    assert {score.name: score.value for score in scores}["ENV_ASSERTION"] == value


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("agent_stop", "agent_stop"),
        ("user_stop", "user_stop"),
        ("max_steps", "max_turns"),
        ("too_many_errors", "agent_error"),
        ("infrastructure_error", "infrastructure_fault"),
        ("infrastructure_timeout", "infrastructure_fault"),
        ("user_error", "simulator_fault"),
        ("user_simulator_crashed", "simulator_fault"),
        ("timeout", "budget"),
        ("context_window_exceeded", "agent_error"),
    ],
)
def test_endings(tmp_path: Path, reason: str | None, ending: str | None) -> None:
    trace = edited(tmp_path, termination_reason=reason)
    assert (trace.outcome.exit_status, trace.outcome.ended_by) == (reason, ending)
    assert trace.notices == ()


def test_a_simulation_that_does_not_say_how_it_ended_earns_nothing(tmp_path: Path) -> None:
    trace = edited(tmp_path, termination_reason=None)
    assert trace.outcome.ended_by == "unknown"
    assert codes(trace) == ["unknown_ending"]


def test_an_unknown_ending_is_not_guessed(tmp_path: Path) -> None:
    trace = edited(tmp_path, termination_reason="unexpected_error")
    assert (trace.outcome.exit_status, trace.outcome.ended_by) == ("unexpected_error", "unknown")
    assert codes(trace) == ["unknown_ending"]


def test_an_infrastructure_error_has_no_messages_and_no_reward(tmp_path: Path) -> None:
    trace = edited(tmp_path, termination_reason="infrastructure_error", reward_info=None, messages=None)
    assert (trace.steps, trace.external_scores) == ((), ())
    assert codes(trace) == ["no_messages"]


def test_criteria_of_another_task_are_told(tmp_path: Path) -> None:
    other = {**ACTION, "name": "cancel"}
    trace = edited(tmp_path, reward_info={"action_checks": [{"action": other, "action_match": True}]})
    assert codes(trace) == ["criteria_mismatch"]
    assert "action_checks" in trace.notices[0].detail
    assert "'t1'" in trace.notices[0].detail


def test_wholly_other_assertions_outside_the_reward_are_another_tasks(tmp_path: Path) -> None:
    trace = edited(tmp_path, reward_info={"nl_assertions": [{"nl_assertion": "Sing", "met": True}]})
    assert codes(trace) == ["criteria_mismatch"]


def test_a_corrected_wording_outside_the_reward_costs_only_its_component(tmp_path: Path) -> None:
    checks = [{"nl_assertion": "Be kind", "met": True}, {"nl_assertion": "Be breif", "met": True}]
    trace = edited(tmp_path, reward_info={"nl_assertions": checks})
    assert codes(trace) == ["component_mismatch"]
    values = {score.name: score.value for score in trace.external_scores}
    assert (values["NL_ASSERTION"], values["DB"]) == (None, 1.0)
    inside = edited(tmp_path, reward_info={"nl_assertions": checks, "reward_basis": ["NL_ASSERTION"]})
    assert codes(inside) == ["criteria_mismatch"]


def test_fields_that_are_null_or_absent_are_the_same_criteria(tmp_path: Path) -> None:
    action = {key: value for key, value in ACTION.items() if key != "info"} | {"compare_args": None}
    assert (
        codes(edited(tmp_path, reward_info={"action_checks": [{"action": action, "action_match": True}]}))
        == []
    )


def test_a_task_that_the_file_lacks_is_told(tmp_path: Path) -> None:
    assert codes(edited(tmp_path, task_id="t9")) == ["unknown_task"]


@pytest.mark.parametrize("simulation", [None, 5, {"messages": 5}, {"trial": "x"}, {"task_id": []}, []])
def test_a_simulation_that_cannot_be_read_is_quarantined_alone(tmp_path: Path, simulation: Any) -> None:
    lost, kept = read(tmp_path, {**FILE, "simulations": [simulation, FILE["simulations"][0]]})
    assert isinstance(lost, Quarantined)
    assert lost.where.endswith("results.json#/simulations/0")
    assert isinstance(kept, Trace)


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        {},
        {"role": "ghost"},
        {"role": "assistant", "tool_calls": "x"},
        {"role": "assistant", "tool_calls": [None, {"name": 5}]},
        {"role": "tool", "tool_messages": [7]},
    ],
)
def test_an_odd_message_is_kept_as_a_note(tmp_path: Path, message: Any) -> None:
    trace = edited(tmp_path, messages=[message])
    assert "note" in {step.kind for step in trace.steps}
    assert not trace.fidelity.complete


def test_a_file_without_tasks_or_info_is_read(tmp_path: Path) -> None:
    (trace,) = read(tmp_path, {"tasks": None, "info": 5, "simulations": FILE["simulations"]})
    assert isinstance(trace, Trace)
    assert codes(trace) == ["unknown_task"]


def test_the_parts_of_a_result_file() -> None:
    file = read_result_file(FILE)
    assert (file.policy, file.domain, len(file.simulations)) == ("One call at a time.", "telecom", 1)
    assert file.tasks["t1"]["ticket"] == "No data."
    assert file.criteria("t1") == FILE["tasks"][0]["evaluation_criteria"]
    assert file.criteria("t9") is None
    with pytest.raises(FormatError):
        read_result_file([])


# Facts about public files, counted independently of the importer (traces of one file in one number each).
EXAMPLE = "[mms_issue]break_app_sms_permission[PERSONA:None]"


def test_passing_runs_that_call_several_tools_in_one_message(require_shared: Callable[[str], Path]) -> None:
    traces = read_traces(require_shared("data/tau2/telecom__gpt-4o__default__20sims.json"))
    passing = [t for t in traces if isinstance(t, Trace) and t.external_scores[0].value == 1.0]
    several = {
        trace.task_id: max(
            Counter(step.turn for step in agent_calls(trace)).items(), key=lambda turn: turn[1]
        )
        for trace in passing
        if any(n > 1 for n in Counter(step.turn for step in agent_calls(trace)).values())
    }
    assert (len(passing), len(several)) == (14, 7)
    assert several[EXAMPLE][0] == 14


def test_premature_ends_have_no_basis(require_shared: Callable[[str], Path]) -> None:
    traces = list(read_traces(require_shared("data/tau2/airline__gpt-oss-120b-langchain__1trial.json")))
    ends = Counter(trace.outcome.ended_by for trace in traces if isinstance(trace, Trace))
    assert ends == {"user_stop": 44, "max_turns": 5, "agent_error": 1}
    early = [t for t in traces if isinstance(t, Trace) and t.outcome.ended_by != "user_stop"]
    assert all(score.value is None for trace in early for score in trace.external_scores[1:])
    assert all(trace.external_scores[0].value == 0.0 for trace in early)
