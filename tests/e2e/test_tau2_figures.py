"""Published results, computed again from the public result files under the standard that each file holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steelyard.app import Run, grade_tau2
from steelyard.model.table import CriterionScore, TrialScore

FILES = {
    "airline__azure-gpt-4o__1trial": (50, 23),
    "airline__gpt-4.1__1trial": (20, 10),
    "airline__gpt-oss-120b-langchain__1trial": (50, 19),
    "custom_ecommerce__gemma-3-27b__NLASSERTION": (15, 13),
    "mock__gpt-4.1-mini__activegraph": (10, 8),
    "retail__gpt-4.1__1trial": (40, 34),
    "telecom-solo__gpt-4.1__5tasks_4trials": (20, 16),
    "telecom__gpt-4.1__default__1trial": (40, 18),
    "telecom__gpt-4o__default__20sims": (20, 14),
}
COMPONENTS = {"ACTION": ("action_checks", "action_match"), "COMMUNICATE": ("communicate_checks", "met")}


@pytest.fixture(scope="module")
def tau2(shared_dir: Path) -> Path:
    return shared_dir / "data" / "tau2"


def trials(run: Run) -> Iterator[tuple[str, TrialScore]]:
    return ((task.id, trial) for task in run.scores.tasks for trial in task.trials)


def raw(path: Path) -> Any:
    return msgspec.json.decode(path.read_bytes())


def codes(run: Run) -> set[str]:
    return {notice.code for notice in run.scores.notices}


def by_id(trial: TrialScore) -> dict[str, CriterionScore]:
    return {criterion.id: criterion for criterion in trial.criteria}


def of_simulation(run: Run, simulations: list[Any]) -> Iterator[tuple[Any, TrialScore]]:
    """Simulations beside their trials: by task, in the order of trials."""
    scored = sorted(trials(run), key=lambda pair: (pair[0], pair[1].trial))
    recorded = sorted(simulations, key=lambda entry: (str(entry["task_id"]), entry["trial"]))
    assert [task for task, _ in scored] == [str(entry["task_id"]) for entry in recorded]
    return ((entry, trial) for entry, (_, trial) in zip(recorded, scored, strict=True))


def test_every_public_file_is_covered(tau2: Path) -> None:
    assert {path.stem for path in tau2.glob("*.json")} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_reward_and_components_are_computed_again(tau2: Path, name: str) -> None:
    path = tau2 / f"{name}.json"
    run = grade_tau2([path])
    simulations, passes = FILES[name]
    compared = 0
    for entry, trial in of_simulation(run, raw(path)["simulations"]):
        recorded = entry["reward_info"]
        assert trial.complete == (abs(recorded["reward"] - 1) <= 1e-6), entry["id"]
        compared += 1
        for component, (checks, met) in COMPONENTS.items():
            if recorded[checks]:
                wanted = "pass" if all(check[met] for check in recorded[checks]) else "fail"
                assert by_id(trial)[component].outcome == wanted, (entry["id"], component)
    assert compared == simulations
    assert (run.scores.completion.trials.complete, run.scores.completion.trials.of) == (passes, simulations)
    assert run.lost == ()
    assert not codes(run) & {"reward_differs", "component_differs", "criteria_mismatch"}


def test_the_published_airline_figure(tau2: Path) -> None:
    scores = grade_tau2([tau2 / "airline__gpt-oss-120b-langchain__1trial.json"]).scores
    assert scores.completion.value == pytest.approx(0.380)
    assert scores.dimensions["correctness"].coverage.tasks == 50


def test_what_the_reward_hides(tau2: Path) -> None:
    run = grade_tau2([tau2 / "telecom__gpt-4o__default__20sims.json"])
    passing = [(task, trial) for task, trial in trials(run) if trial.complete]
    several = {task: by_id(trial)["P1"] for task, trial in passing if by_id(trial)["P1"].outcome == "fail"}
    assert (len(passing), len(several)) == (14, 7)
    assert {cell.failure_tag for cell in several.values()} == {"SEVERAL_CALLS_IN_ONE_MESSAGE"}
    example = several["[mms_issue]break_app_sms_permission[PERSONA:None]"]
    assert "message 14" in example.reason
    assert example.evidence_refs
    assert not example.gate


def test_a_gate_makes_completion_stricter_and_the_reward_still_agrees(tau2: Path) -> None:
    run = grade_tau2([tau2 / "telecom__gpt-4o__default__20sims.json"], gates=("P1",))
    assert run.scores.completion.trials.complete == 7
    assert run.scores.dimensions["process"].gate
    assert "reward_differs" not in codes(run)


def test_no_process_criteria_where_no_policy_states_them(tau2: Path) -> None:
    run = grade_tau2([tau2 / "mock__gpt-4.1-mini__activegraph.json"])
    assert "process" not in run.scores.dimensions


def test_statements_that_were_judged_in_other_words_are_no_verdicts(tau2: Path) -> None:
    path = tau2 / "airline__gpt-4.1__1trial.json"
    run = grade_tau2([path])
    gold = {task["id"]: task["evaluation_criteria"]["nl_assertions"] for task in raw(path)["tasks"]}
    assert "component_mismatch" in codes(run)
    differing = 0
    for entry, trial in of_simulation(run, raw(path)["simulations"]):
        judged = [check["nl_assertion"] for check in entry["reward_info"]["nl_assertions"]]
        if "NL_ASSERTION" in by_id(trial):
            same = sorted(judged) == sorted(gold[entry["task_id"]])
            differing += not same
            assert (by_id(trial)["NL_ASSERTION"].status == "graded") == same
    assert differing == 2


def test_simulations_under_a_wrong_task_id_are_errors(tau2: Path, tmp_path: Path) -> None:
    file = raw(tau2 / "telecom__gpt-4o__default__20sims.json")
    first, second = (entry for entry in file["simulations"][:2])
    first["task_id"], second["task_id"] = second["task_id"], first["task_id"]
    path = tmp_path / "swapped.json"
    path.write_bytes(msgspec.json.encode(file))
    run = grade_tau2([path])
    swapped = [trial for task, trial in trials(run) if task in (first["task_id"], second["task_id"])]
    assert [by_id(trial)["ENV_ASSERTION"].status for trial in swapped] == ["error", "error"]
    assert not any(trial.complete for trial in swapped)
    noticed = [notice for notice in run.scores.notices if notice.code == "criteria_mismatch"]
    assert all(any(entry["id"] in notice.detail for notice in noticed) for entry in (first, second))
    assert "reward_differs" not in codes(run)


def test_several_files_of_one_domain_become_trials(tau2: Path) -> None:
    names = ["airline__azure-gpt-4o__1trial.json", "airline__gpt-oss-120b-langchain__1trial.json"]
    scores = grade_tau2([tau2 / name for name in names]).scores
    assert (scores.completion.trials.complete, scores.completion.trials.of) == (42, 100)


@pytest.fixture(scope="module")
def taubench(shared_dir: Path) -> Run:
    return grade_tau2([shared_dir / "data" / "taubench" / "gpt-4o-airline.json"])


def test_tau_bench_repeats(taubench: Run) -> None:
    scores = taubench.scores
    assert (scores.completion.trials.complete, scores.completion.trials.of) == (84, 200)
    hat = [scores.pass_hat_k[str(k)].value for k in (1, 2, 3, 4)]
    some = [scores.pass_at_k[str(k)].value for k in (1, 2, 3, 4)]
    assert hat == pytest.approx([0.42, 0.2733, 0.22, 0.20], abs=5e-5)
    assert some == pytest.approx([0.42, 0.5667, 0.66, 0.72], abs=5e-5)
    assert {scores.pass_hat_k[str(k)].n_tasks for k in (1, 2, 3, 4)} == {50}
    assert scores.completion.ci.se == pytest.approx(0.0522, abs=5e-5)


def test_tau_bench_process_is_reported_beside_it(taubench: Run) -> None:
    assert set(taubench.scores.dimensions) == {"correctness", "process"}
    assert taubench.scores.dimensions["process"].coverage.tasks == 50
