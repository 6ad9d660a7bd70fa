"""Grades recorded outputs in pydantic-evals. Usage: run_pydantic_evals.py SUITE.json ANSWERS.jsonl"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

tasks = json.loads(Path(sys.argv[1]).read_bytes())["tasks"]
with Path(sys.argv[2]).open("rb") as file:
    outputs = {record["task_id"]: record["output"] for record in map(json.loads, file)}
cases = [
    Case(name=task["id"], inputs=task["id"], expected_output=task["criteria"][0]["check"]["value"])
    for task in tasks
]
dataset = Dataset(name="outputs", cases=cases, evaluators=[EqualsExpected()])
report = dataset.evaluate_sync(outputs.__getitem__, progress=False)
averages = report.averages()
print(json.dumps({"n": len(report.cases), "share": averages.assertions if averages else None}))
