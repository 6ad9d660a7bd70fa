"""The standards built from tau2 result files and tau-bench trajectories, on small files made here."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.app.bundled_tau2 import build_from_files, build_tau2, build_taubench
from steelyard.errors import StandardError, UsageError
from steelyard.model.checks import CallsCheck, ContainsCheck, ExpectedCall, RecordedCheck
from steelyard.model.standard import Criterion, Suite

POLICY = "Make one tool call at a time, and do not respond to the user with a tool call at the same time."


def action(name: str, compare: list[str] | None = None, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "requestor": "user", "arguments": arguments, "compare_args": compare}


def task(task_id: Any, basis: list[str] | None, **criteria: Any) -> dict[str, Any]:
    return {
        "id": task_id,
        "ticket": f"ticket {task_id}",
        "evaluation_criteria": {"reward_basis": basis, **criteria},
    }


def result_file(*tasks: dict[str, Any], policy: str = "", **more: Any) -> dict[str, Any]:
    info = {"environment_info": {"domain_name": "toy", "policy": policy}, **more}
    return {"info": info, "tasks": list(tasks), "simulations": []}


def criteria(suite: Suite, task_id: str) -> dict[str, Criterion]:
    (found,) = (task for task in suite.tasks if task.id == task_id)
    return {criterion.id: criterion for criterion in found.criteria}


def test_the_basis_is_correctness_and_the_rest_is_reported() -> None:
    file = result_file(
        task(
            "t1",
            ["ENV_ASSERTION", "COMMUNICATE"],
            actions=[action("toggle", x=1)],
            env_assertions=[{"func_name": "is_on", "arguments": {}, "assert_value": True}],
            communicate_info=["1,000"],
            nl_assertions=["The agent was kind."],
        )
    )
    found = criteria(build_tau2(file), "t1")
    assert {name: criterion.dimension for name, criterion in found.items()} == {
        "ENV_ASSERTION": "correctness",
        "COMMUNICATE": "correctness",
        "DB": "components",
        "ACTION": "components",
        "NL_ASSERTION": "components",
    }
    assert not any(criterion.gate for criterion in found.values())
    assert found["ENV_ASSERTION"].check == RecordedCheck(score="ENV_ASSERTION")
    assert found["NL_ASSERTION"].check == RecordedCheck(score="NL_ASSERTION")
    assert found["COMMUNICATE"].check == ContainsCheck(of="said", all=("1,000",), case=False, drop=",")


def test_expected_calls_compare_as_the_source_does() -> None:
    file = result_file(
        task("t1", ["ACTION"], actions=[action("a", x=1), action("b", [], y=2), action("c", ["z"], z=3)])
    )
    check = criteria(build_tau2(file), "t1")["ACTION"].check
    assert isinstance(check, CallsCheck)
    assert (check.mode, check.by) == ("each", "any")
    assert check.expected == (
        ExpectedCall(name="a", args={"x": 1}, only="present", by="any"),
        ExpectedCall(name="b", args={"y": 2}, only=(), by="any"),
        ExpectedCall(name="c", args={"z": 3}, only=("z",), by="any"),
    )


def test_a_basis_member_without_gold_is_left_out_and_said() -> None:
    suite = build_tau2(result_file(task("t1", ["DB", "COMMUNICATE"], actions=[], communicate_info=None)))
    assert list(criteria(suite, "t1")) == ["DB"]
    (notice,) = suite.notices
    assert notice.startswith("COMMUNICATE: in the reward basis of 1 task (t1)")


def test_tasks_without_anything_to_check_never_pass_in_silence() -> None:
    free = {"id": "free", "evaluation_criteria": None}
    empty = task("empty", ["COMMUNICATE"], communicate_info=[])
    suite = build_tau2(result_file(free, empty, task("t1", ["DB"])))
    assert [task.id for task in suite.tasks] == ["t1"]
    assert any("2 tasks (free, empty): nothing to check" in notice for notice in suite.notices)
    with pytest.raises(StandardError, match="nothing to grade"):
        build_tau2(result_file(free, empty))


def test_an_unknown_component_counts_and_is_said() -> None:
    suite = build_tau2(result_file(task("t1", ["DB", "TONE"])))
    assert criteria(suite, "t1")["TONE"].check == RecordedCheck(score="TONE")
    assert any(notice.startswith("TONE: not a component") for notice in suite.notices)


def test_a_missing_basis_is_the_default_of_the_source() -> None:
    suite = build_tau2(result_file(task("t1", None, communicate_info=["yes"])))
    assert list(criteria(suite, "t1")) == ["DB", "COMMUNICATE"]
    assert any("no reward basis stated" in notice for notice in suite.notices)


def test_process_criteria_only_where_the_policy_states_them() -> None:
    assert list(criteria(build_tau2(result_file(task("t1", ["DB"]))), "t1")) == ["DB"]
    stated = build_tau2(result_file(task("t1", ["DB"]), policy=POLICY), gates=("P1",))
    found = criteria(stated, "t1")
    assert [(name, criterion.gate) for name, criterion in found.items()] == [
        ("DB", False),
        ("P1", True),
        ("P2", False),
    ]
    assert set(stated.dimensions) == {"correctness", "process"}


def test_a_policy_may_stand_in_the_simulations() -> None:
    file = result_file(task("t1", ["DB"]))
    file["simulations"] = [{"task_id": "t1", "policy": POLICY}, {"task_id": "t1", "policy": None}, 3]
    assert list(criteria(build_tau2(file), "t1")) == ["DB", "P1", "P2"]


def test_files_of_one_domain_are_one_standard() -> None:
    first, second = result_file(task("a", ["DB"]), task("b", ["DB"])), result_file(task("b", ["DB"]))
    suite = build_from_files({"x.json": first, "y.json": second})
    assert [entry.id for entry in suite.tasks] == ["a", "b"]
    assert suite.name == "tau2-toy"
    other = result_file(task("b", ["ACTION"], actions=[action("x")]))
    with pytest.raises(StandardError, match=r"y\.json: task b has other criteria"):
        build_from_files({"x.json": first, "y.json": other})
    with pytest.raises(StandardError, match=r"y\.json: tau-bench"):
        build_from_files({"x.json": first, "y.json": [{"task_id": 0}]})


def test_gates_must_exist() -> None:
    with pytest.raises(UsageError, match="has a criterion P1"):
        build_tau2(result_file(task("t1", ["DB"])), gates=("P1",))


def test_the_hash_follows_the_content_and_the_gates() -> None:
    plain = build_tau2(result_file(task("t1", ["DB"]), policy=POLICY))
    again = build_tau2(result_file(task("t1", ["DB"]), policy=POLICY))
    gated = build_tau2(result_file(task("t1", ["DB"]), policy=POLICY), gates=("P1",))
    assert plain.hash
    assert plain.hash == again.hash != gated.hash


def test_ids_become_text_and_repeats_are_told_apart() -> None:
    suite = build_tau2(result_file(task(7, ["DB"]), task(7, ["DB"])))
    assert [task.id for task in suite.tasks] == ["7"]
    assert any("stands twice" in notice for notice in suite.notices)
    with pytest.raises(StandardError, match="different content"):
        build_tau2(result_file(task("a", ["DB"]), task("a", ["ACTION"], actions=[action("x")])))


def test_planned_simulations_are_planned_trials_and_add_up_over_files() -> None:
    file = result_file(task("t1", ["DB"]), task("t2", ["DB"]), num_trials=2)
    file["simulations"] = [{"task_id": "t1"}, {"task_id": "t1"}, {"task_id": "t2"}]
    assert [task.trials for task in build_tau2(file).tasks] == [2, 2]
    assert [task.trials for task in build_from_files({"a": file, "b": file}).tasks] == [4, 4]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"tasks": {}},
        {"tasks": [3]},
        {"tasks": [{"id": True}]},
        {"tasks": [{"id": "x", "evaluation_criteria": 3}]},
        {"tasks": [{"id": "x", "evaluation_criteria": {"reward_basis": "DB"}}]},
        {
            "tasks": [
                {"id": "x", "evaluation_criteria": {"reward_basis": ["ACTION"], "actions": [{"name": 1}]}}
            ]
        },
        {"tasks": [{"id": "x", "evaluation_criteria": {"reward_basis": ["DB"], "communicate_info": [1]}}]},
    ],
)
def test_odd_files_are_refused_with_a_place(value: Any) -> None:
    with pytest.raises(StandardError) as refused:
        build_tau2(value)
    assert refused.value.problems
    assert all(
        problem.startswith("/tasks/0") or "tau2 result file" in problem for problem in refused.value.problems
    )


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(StandardError) as refused:
        build_tau2(
            result_file(task("a", ["DB"], actions=3), {"id": None}, task("b", ["DB"], nl_assertions=[None]))
        )
    assert len(refused.value.problems) == 3


def test_lone_surrogates_and_odd_optional_parts_do_no_harm() -> None:
    odd = {
        "id": "x\ud800",
        "user_scenario": {"instructions": 3},
        "evaluation_criteria": {"reward_basis": ["DB"]},
    }
    suite = build_tau2({"info": 3, "tasks": [odd], "simulations": None})
    assert [task.id for task in suite.tasks] == ["x?"]
    assert suite.tasks[0].prompt == "tau2 task x?"


def test_taubench_groups_by_task_and_reads_the_system_message() -> None:
    system = {"role": "system", "content": POLICY}
    records = [
        {"task_id": 0, "trial": 0, "traj": [system], "info": {"task": {"instruction": "Book a flight."}}},
        {"task_id": 0, "trial": 1, "traj": [system], "info": {"task": {"instruction": "Book a flight."}}},
        {"task_id": 1, "trial": 0, "traj": None},
        "no record",
    ]
    suite = build_taubench(records, gates=("P2",))
    assert [(task.id, task.prompt) for task in suite.tasks] == [
        ("0", "Book a flight."),
        ("1", "tau-bench task 1"),
    ]
    assert list(criteria(suite, "0")) == ["reward", "P1", "P2"]
    assert criteria(suite, "0")["P2"].gate
    assert list(criteria(suite, "1")) == ["reward"]
    assert suite.notices == ("1 records have no usable task_id and belong to no task.",)


def test_taubench_without_records_is_refused() -> None:
    with pytest.raises(StandardError):
        build_taubench([])
