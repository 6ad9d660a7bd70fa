"""Standards, trials and clocks for the tests of the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from steelyard.model.checks import Check, EqualsCheck, JsonCheck, LaterCheck
from steelyard.model.standard import Criterion, Dimension, Fact, JudgeUse, Suite, Task
from steelyard.model.verdict import Graded, GraderRef, Score, TrialRow, Undecided, Verdict
from steelyard.ports.store import Payload, payload_of

REF = GraderRef(kind="check:equals", version="1")


def now() -> str:
    return "2026-11-30T10:00:00Z"


def clock(*times: str) -> Callable[[], str]:
    """A clock that shows these times one after the other, and the last one from then on."""
    left = list(times)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def a_suite(
    *, check: Check | LaterCheck | None = None, tasks: Sequence[str] = ("a", "b"), **changes: Any
) -> Suite:
    criteria = (
        Criterion(
            id="C1",
            dimension="correctness",
            layer="outcome",
            rule="The answer MUST be Paris.",
            check=check or EqualsCheck(value="Paris"),
            weight=Decimal("0.10"),
        ),
        Criterion(
            id="C2",
            dimension="correctness",
            layer="outcome",
            rule="It MUST be polite.",
            judge=JudgeUse(),
            needs=("C1",),
        ),
        Criterion(
            id="C3",
            dimension="correctness",
            layer="outcome",
            rule="The table MUST hold it.",
            check=JsonCheck(),
        ),
        Criterion(
            id="C4",
            dimension="correctness",
            layer="outcome",
            rule="It MUST run.",
            check=LaterCheck(kind="python", settings={"file": "x.py", "limits": [1, 2.5, None]}),
        ),
    )
    made = tuple(
        Task(
            id=task,
            prompt=f"What is {task}?",
            criteria=criteria,
            facts={
                "city": Fact(data={"n": 1, "f": 1.0, "big": 10**30, "list": [True, None, {"x": "$tuple"}]})
            },
        )
        for task in tasks
    )
    fields: dict[str, Any] = {
        "name": "capitals",
        "owner": "jo@example.com",
        "tasks": made,
        "dimensions": {"correctness": Dimension(name="correctness", definition="It is right.")},
        "hash": "f" * 64,
        "folder": "suites",
        "version": "1.0",
    }
    return Suite(**{**fields, **changes})


def graded(
    task: str = "a",
    criterion: str = "C1",
    score: Fraction = Fraction(1),
    *,
    trial: int = 1,
    reason: str = "equal",
) -> tuple[Verdict, Payload]:
    """A verdict and the payload behind it."""
    payload = payload_of(Score(value=score, reason=reason, evidence=("s0001",)), graders=(REF,))
    verdict = Graded(
        task=task,
        trial=trial,
        criterion=criterion,
        score=float(score),
        reason=reason,
        evidence_refs=("s0001",),
        graders=(REF,),
    )
    return verdict, payload


def undecided(reason: str = "nothing says so") -> Payload:
    return payload_of(Undecided(reason=reason), graders=(REF,))


def a_trial(task: str = "a", trial: int = 1, **changes: Any) -> TrialRow:
    fields: dict[str, Any] = {
        "ended_by": "agent_stop",
        "measurements": {"seconds": 1.5, "tool_calls": 2.0},
        "trace": f"{task}-{trial}",
    }
    return TrialRow(task=task, trial=trial, **{**fields, **changes})
