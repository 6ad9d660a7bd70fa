"""Grades recorded outputs in inspect-ai, log on disk. Usage: run_inspect.py SUITE.json ANSWERS.jsonl LOG_FOLDER"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import exact
from inspect_ai.solver import Generate, Solver, TaskState, solver

tasks = json.loads(Path(sys.argv[1]).read_bytes())["tasks"]
with Path(sys.argv[2]).open("rb") as file:
    outputs = {record["task_id"]: record["output"] for record in map(json.loads, file)}


@solver
def recorded() -> Solver:
    """Gives the recorded output; no model is asked."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("recorded", outputs[str(state.sample_id)])
        return state

    return solve


samples = [
    Sample(id=task["id"], input=task["prompt"], target=task["criteria"][0]["check"]["value"])
    for task in tasks
]
logs = inspect_ai.eval(
    inspect_ai.Task(dataset=samples, solver=recorded(), scorer=exact()), model="mockllm/model", log_dir=sys.argv[3],
    display="none",
)  # fmt: skip
found = logs[0].results
scores = {name: metric.value for name, metric in found.scores[0].metrics.items()} if found else {}
print(
    json.dumps(
        {"n": found.completed_samples if found else 0, "share": scores.get("mean"), "status": logs[0].status}
    )
)
