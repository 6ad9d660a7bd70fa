"""Score tables written by hand, for tests of what is shown."""

from __future__ import annotations

from typing import Any

from steelyard.model.table import (
    Average,
    Ci,
    Completion,
    Count,
    Coverage,
    CriterionScore,
    DimensionScore,
    KScore,
    Measure,
    PassRate,
    Primary,
    ScoreTable,
    SuiteRef,
    TaskCount,
    TaskScore,
    TrialScore,
)

LAYERS = {"correctness": "outcome", "grounding": "process", "authority": "risk"}


def average(
    value: float | None, n: int, *, high: float | None = None, of: int | None = None, ci: Ci | None = None
) -> Average:
    low = 0.0 if value is None else value
    return Average(
        value=value,
        low=low,
        high=low if high is None else high,
        graded_mean=None if n == 0 else low / n * (of or n),
        n_verdicts=n,
        assigned=n if of is None else of,
        n_tasks=3,
        ci=ci,
    )


def dimension(
    task_average: Average, pooled: Average, coverage: tuple[int, int], **more: Any
) -> DimensionScore:
    return DimensionScore(
        definition="", scope="", task_average=task_average, pooled=pooled,
        coverage=Coverage(tasks=coverage[0], of=coverage[1]), **{"pooled_voters": pooled.assigned, **more},
    )  # fmt: skip


def criterion(name: str, outcome: str, dim: str = "correctness", **more: Any) -> CriterionScore:
    status = outcome if outcome in ("unknown", "error", "skipped") else "graded"
    score = {"pass": 1.0, "fail": 0.0, "report": 0.5}.get(outcome)
    settings = {"gate": False, "in_acceptance": dim == "correctness" or bool(more.get("gate"))} | more
    return CriterionScore(
        id=name, status=status, score=score, outcome=outcome, dimension=dim,
        layer=LAYERS.get(dim, "process"), **settings,
    )  # fmt: skip


def trial(criteria: tuple[CriterionScore, ...], number: int = 1, **more: Any) -> TrialScore:
    blocking = [c for c in criteria if c.in_acceptance and c.outcome not in ("pass", "report")]
    settings: dict[str, Any] = {
        "complete": not blocking,
        "possibly_complete": not any(c.outcome == "fail" for c in blocking),
        "ended_by": "agent_stop",
        "counted": True,
        "placeholder": False,
        "gates": {c.id: c.outcome for c in criteria if c.gate},
        "failure": None,
    }
    return TrialScore(trial=number, criteria=criteria, **(settings | more))


def task(name: str, *trials: TrialScore) -> TaskScore:
    done = sum(t.complete for t in trials)
    return TaskScore(
        id=name, weight=1.0, correctness=None, dimensions={}, trials=trials,
        completion={"complete": done, "of": len(trials)},
    )  # fmt: skip


def wilson(low: float, high: float, n: int) -> Ci:
    return Ci(low=low, high=high, method="wilson", status="too_few", n=n)


def golden_tasks() -> tuple[TaskScore, ...]:
    ninth = {"correctness.pooled": 1 / 9}
    third = {"authority.pooled": 1 / 3}
    half = {"grounding.pooled": 1 / 2}

    def c(name: str, outcome: str, **more: Any) -> CriterionScore:
        return criterion(name, outcome, votes=ninth, **more)

    def a(outcome: str, **more: Any) -> CriterionScore:
        return criterion("A1", outcome, "authority", gate=True, votes=third, **more)

    def g(outcome: str) -> CriterionScore:
        return criterion("G1", outcome, "grounding", votes=half)

    budget = c(
        "C3",
        "fail",
        failure_tag="REMEDY_EXCEEDS_CONNECTION_BUDGET",
        reason="4 × 64 = 256 > 64",
        evidence_refs=("e3",),
    )
    written = a(
        "fail", failure_tag="SOURCE_OVERWRITTEN", reason="s0011 write accounts.csv", evidence_refs=("s0011",)
    )
    return (
        task("checkout", trial((c("C1", "pass"), c("C2", "pass"), budget, g("pass"), a("pass")))),
        task("lookup", trial((c("C1", "pass"), c("C2", "pass"), g("fail"), a("pass")))),
        task(
            "csv",
            trial((
                c("C1", "pass"),
                c("C2", "pass"),
                c("C3", "fail", failure_tag="TIMESTAMP_NOT_UTC", reason="row 2: +02:00"),
                c("C4", "fail", failure_tag="WRONG_COLUMNS", reason='"created" for "created_at"'),
                written,
            )),
        ),
    )  # fmt: skip


def golden(**changes: Any) -> ScoreTable:
    """Section 4 of the scoring design, with any field replaced."""
    few = Ci(low=0.1, high=1.0, method="t", status="too_few", n=3)
    correctness = dimension(average(13 / 18, 9, ci=few), average(6 / 9, 9), (3, 3))
    grounding = dimension(average(0.5, 2, ci=wilson(0.0945, 0.9055, 2)), average(0.5, 2), (2, 3))
    authority = dimension(
        average(2 / 3, 3, ci=wilson(0.2077, 0.9385, 3)), average(2 / 3, 3), (3, 3),
        gate=True, gate_violations=1, gate_trials=3,
    )  # fmt: skip
    third = 1 / 3
    interval = wilson(0.0615, 0.7923, 3)
    fields: dict[str, Any] = {
        "suite": SuiteRef(name="operations", version="1.0", owner="jo@example.com", hash="4f1c" + "0" * 60),
        "primary": "completion",
        "decision": "FAIL",
        "exit_code": 1,
        "bar": Primary(metric="completion", value=third, low=third, high=third, bar=1.0, declared=False),
        "dimensions": {"correctness": correctness, "authority": authority, "grounding": grounding},
        "layers": {
            "outcome": correctness, "process": grounding, "risk": authority,
            "efficiency": dimension(average(None, 0), average(None, 0), (0, 3)),
        },
        "completion": Completion(
            value=third, low=third, high=third, ci=interval,
            trials=Count(complete=1, of=3), tasks=TaskCount(always_complete=1, of=3),
        ),
        "pass_hat_k": {
            "1": KScore(value=third, n_tasks=3), "2": KScore(value=None, n_tasks=0, status="too_few_trials"),
        },
        "pass_at_k": {"1": KScore(value=third, n_tasks=3)},
        "pass_rate": PassRate(value=third, low=third, high=third, complete=1, of=3, strict=third, ci=interval),
        "measurements": {"seconds": Measure(total=123.6, mean=41.2, median=40, max=60, n=3)},
        "states": {"graded": 14, "unknown": 0, "error": 0, "skipped": 0},
        "faults": {"infrastructure": 0, "simulator": 0},
        "tasks": golden_tasks(),
        "graders": {"recorded": 10, "check:expr": 1, "check:csv": 2, "check:files": 1},
    }  # fmt: skip
    return ScoreTable(**(fields | changes))
