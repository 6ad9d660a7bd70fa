"""An engine over stub graders: what a grader does is chosen by the value that its `equals` check names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steelyard.grading import Engine, RecordedRows, Row
from steelyard.grading.rows import read_row
from steelyard.model.standard import Suite
from steelyard.model.trace import Quarantined, Trace
from steelyard.model.verdict import TrialRow, Verdict
from steelyard.ports.grader import GraderInput

Act = Callable[[GraderInput], Any]


class Stub:
    """A grader that does what a test says."""

    kind = "stub"
    version = "7"

    def __init__(self, acts: Mapping[str, Act]) -> None:
        self.acts = acts

    def grade(self, spec: Any, given: GraderInput) -> Any:
        return self.acts[spec.value](given)


def engine(
    suite: Suite, acts: Mapping[str, Act], *, recorded: Iterable[Row | Quarantined] = (), **settings: Any
) -> Engine:
    stub = Stub(acts)
    return Engine(suite, grader_for=lambda check: stub, recorded=RecordedRows(recorded), **settings)


def checked(name: str, act: str, dimension: str = "correctness", **settings: Any) -> dict[str, Any]:
    """A criterion of a suite file whose check the stub answers."""
    rule = f"The result MUST satisfy {name}."
    return {
        "id": name,
        "dimension": dimension,
        "rule": rule,
        "check": {"kind": "equals", "value": act},
        **settings,
    }


def by_criterion(rows: Iterable[Row]) -> dict[tuple[str, int, str], Verdict]:
    return {(row.task, row.trial, row.criterion): row for row in rows if not isinstance(row, TrialRow)}


def verdicts(made: Engine, *traces: Trace | Quarantined) -> dict[str, Verdict]:
    """The verdicts by criterion; each id may occur once."""
    rows = [row for row in made.grade(traces) if not isinstance(row, TrialRow)]
    found = {row.criterion: row for row in rows}
    assert len(found) == len(rows)
    return found


def row(line: bytes) -> Row | Quarantined:
    return read_row("rows.jsonl:1", line)
