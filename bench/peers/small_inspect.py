"""Three tasks with several checks each in inspect-ai. Usage: small_inspect.py SUITE.json ANSWERS LOG_FOLDER [keep]

A sample has one score, so a scorer gives the share of its checks that hold. A task without a recorded answer crashes;
with `keep`, an error of a sample does not end the evaluation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

tasks = json.loads(Path(sys.argv[1]).read_bytes())["tasks"]
with Path(sys.argv[2]).open("rb") as file:
    outputs = {record["task_id"]: record["output"] for record in map(json.loads, file)}


@solver
def recorded() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("recorded", outputs[str(state.sample_id)])
        return state

    return solve


@scorer(metrics=[mean()])
def holds() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=sum(text in state.output.completion for text in target) / len(target))

    return score


samples = [
    Sample(
        id=task["id"],
        input=task["prompt"],
        target=[criterion["check"]["all"][0] for criterion in task["criteria"]],
    )
    for task in tasks
]
keep = sys.argv[4:] == ["keep"]
log = inspect_ai.eval(
    inspect_ai.Task(dataset=samples, solver=recorded(), scorer=holds()), model="mockllm/model", log_dir=sys.argv[3],
    display="none", fail_on_error=False if keep else None,
)[0]  # fmt: skip
found = log.results
print(
    json.dumps(
        {
            "status": log.status,
            "mean": found.scores[0].metrics["mean"].value if found and found.scores else None,
            "completed": found.completed_samples if found else 0,
            "of": len(samples),
        }
    )
)
