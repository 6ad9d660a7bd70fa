"""Every shared reference value that this room covers, each computed by the public function."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.stats import (
    benjamini_hochberg,
    clopper_pearson,
    holm,
    mean_pass_at_k,
    mean_pass_hat_k,
    minimum_detectable_effect,
    pass_at_k,
    sample_size,
    standard_error,
    weighted_mean,
    wilson,
)

Case = dict[str, Any]


def _bounds(case: Case, _shared: Path) -> list[float | None]:
    function = {"wilson95": wilson, "clopper_pearson95": clopper_pearson}[case["statistic"]]
    interval = function(*case["input"])
    return [interval.low, interval.high]


def _trials(case: Case, shared: Path) -> list[Case]:
    rows: list[Case] = json.loads((shared / case["input"]["file"]).read_text(encoding="utf-8"))
    return rows


def _curve(case: Case, shared: Path) -> list[float | None]:
    if "file" not in case["input"]:
        values = [pass_at_k(case["input"]["n"], case["input"]["c"], k) for k in case["input"]["k"]]
        return [None if value is None else float(value) for value in values]
    rows = _trials(case, shared)
    passes = Counter(row["task_id"] for row in rows if row["reward"] == 1.0)
    pairs = [(n, passes[task]) for task, n in Counter(row["task_id"] for row in rows).items()]
    estimator = {"pass_at_k": mean_pass_at_k, "pass_hat_k": mean_pass_hat_k}[case["statistic"]]
    return [estimator(pairs, k).value for k in case["input"]["k"]]


def _clustered(case: Case, shared: Path) -> dict[str, float | None]:
    rows = _trials(case, shared)
    rewards, tasks = [row["reward"] for row in rows], [row["task_id"] for row in rows]
    return {
        "mean": weighted_mean(rewards),
        "se_naive": standard_error(rewards, population=True),
        "se_population_form": standard_error(rewards, clusters=tasks, population=True),
        "se_sample_form": standard_error(rewards, clusters=tasks),
    }


def _sample_size(case: Case, _shared: Path) -> float | None:
    given = case["input"]
    return sample_size(
        given["delta"],
        omega2=given["omega2"],
        sigma2_a=given["sigma2"],
        sigma2_b=given["sigma2"],
        alpha=given["alpha"],
        power=given["power"],
    )


def _effect(case: Case, _shared: Path) -> float | None:
    given = case["input"]
    return minimum_detectable_effect(
        given["n"],
        omega2=given["omega2"],
        sigma2_a=given["sigma2_each"],
        sigma2_b=given["sigma2_each"],
        repeats_a=given["K"],
        repeats_b=given["K"],
    )


def _rejections(case: Case, _shared: Path) -> dict[str, int]:
    p_values = case["input"]
    return {
        "bh": sum(map(bool, benjamini_hochberg(p_values).rejected)),
        "holm": sum(map(bool, holm(p_values).rejected)),
        "bonferroni": sum(p * len(p_values) <= 0.05 for p in p_values),
    }


COMPUTED_BY: dict[str, Callable[[Case, Path], Any]] = {
    "wilson95": _bounds,
    "clopper_pearson95": _bounds,
    "pass_hat_k": _curve,
    "pass_at_k": _curve,
    "clustered_se": _clustered,
    "power_n": _sample_size,
    "mde": _effect,
    "multipletests": _rejections,
}

COVERED = [
    "wilson_81_263",
    "cp_81_263",
    "wilson_15_148",
    "wilson_0_20",
    "cp_0_20",
    "wilson_1_29",
    "wilson_0_10",
    "wilson_10_10",
    "passk_tau",
    "passatk_tau",
    "humaneval_n5c2",
    "clustered_tau",
    "miller_969",
    "miller_mde",
    "bh95",
]


@pytest.fixture(scope="module")
def cases(shared_dir: Path) -> dict[str, Case]:
    listed: list[Case] = json.loads((shared_dir / "cases/statistics.json").read_text(encoding="utf-8"))
    return {case["id"]: case for case in listed}


@pytest.mark.parametrize("case_id", COVERED)
def test_reference_case(case_id: str, cases: dict[str, Case], shared_dir: Path) -> None:
    case = cases[case_id]
    computed = COMPUTED_BY[case["statistic"]](case, shared_dir)
    assert computed == pytest.approx(case["expected"], abs=case["tol"])


def test_no_case_of_a_covered_statistic_is_left_out(cases: dict[str, Case]) -> None:
    assert sorted(COVERED) == sorted(i for i, case in cases.items() if case["statistic"] in COMPUTED_BY)
