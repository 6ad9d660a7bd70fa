"""Three tasks with several checks each in pydantic-evals. Usage: small_pydantic_evals.py SUITE.json ANSWERS.jsonl

A task without a recorded answer crashes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext


@dataclass
class Holds(Evaluator[str, str, None]):
    """Each text stands in the output: one assertion a text."""

    texts: tuple[str, ...]

    def evaluate(self, ctx: EvaluatorContext[str, str, None]) -> dict[str, bool]:
        return {f"C{position + 1}": text in ctx.output for position, text in enumerate(self.texts)}


tasks = json.loads(Path(sys.argv[1]).read_bytes())["tasks"]
with Path(sys.argv[2]).open("rb") as file:
    outputs = {record["task_id"]: record["output"] for record in map(json.loads, file)}
cases = []
for task in tasks:
    texts = tuple(criterion["check"]["all"][0] for criterion in task["criteria"])
    cases.append(Case(name=task["id"], inputs=task["id"], evaluators=(Holds(texts),)))
report = Dataset(name="small", cases=cases).evaluate_sync(outputs.__getitem__, progress=False)
averages = report.averages()
print(
    json.dumps(
        {
            "assertions": averages.assertions if averages else None,
            "cases": len(report.cases),
            "failures": len(report.failures),
        }
    )
)
