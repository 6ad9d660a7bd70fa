"""The verdicts of a run as one Parquet table, for notebooks and other tools. Needs the extra `[parquet]`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import MissingExtraError, OutputError
from steelyard.model.verdict import Errored, Graded, TrialRow, Verdict
from steelyard.ports.store import Store

_TEXTS = (
    "run",
    "suite",
    "task",
    "criterion",
    "status",
    "error",
    "reason",
    "failure_tag",
    "graders",
    "ended_by",
    "trace",
)


def export_parquet(store: Store, name: str, file: str | Path) -> str:
    """Write one row per verdict; returns the full name of the run.

    Columns: run, suite (its hash), task, trial, criterion, status, score (null unless graded), error, reason,
    evidence_refs (list of texts), failure_tag, graders (kinds, joined by `+`), cost_usd, and ended_by and trace of the
    trial. A trial without verdicts has one row whose criterion and status are null.

    MissingExtraError without pyarrow, UsageError when there is no such run, OutputError when it cannot be written.
    """
    _arrow("pyarrow")
    run = store.load(name)
    table = arrow_table(run.name, run.suite.hash, run.rows)
    try:
        _arrow("pyarrow.parquet").write_table(table, str(file))
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error}; choose another place or free some space") from error
    return run.name


def _arrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            "Parquet needs an extra that is not installed: pip install 'steelyard[parquet]'"
        ) from error


def arrow_table(name: str, suite_hash: str, rows: Sequence[Verdict | TrialRow]) -> Any:
    """The `pyarrow.Table` of these rows, with the columns of `export_parquet`. MissingExtraError without pyarrow."""
    arrow = _arrow("pyarrow")
    columns = _columns(name, suite_hash, tuple(rows))
    kinds = {text: arrow.string() for text in _TEXTS}
    kinds |= {"trial": arrow.int64(), "score": arrow.float64(), "cost_usd": arrow.float64()}
    kinds["evidence_refs"] = arrow.list_(arrow.string())
    schema = arrow.schema([(column, kinds[column]) for column in columns])
    return arrow.Table.from_pydict(columns, schema=schema)


def _columns(name: str, suite_hash: str, held: Sequence[Verdict | TrialRow]) -> dict[str, list[Any]]:
    rows: list[dict[str, Any]] = []
    trial: dict[str, Any] = {}
    for index, row in enumerate(held):
        if isinstance(row, TrialRow):
            trial = {"ended_by": row.ended_by, "trace": row.trace}
            after = held[index + 1 : index + 2]
            if not after or isinstance(after[0], TrialRow):
                rows.append({"task": row.task, "trial": row.trial, **trial})
            continue
        rows.append(
            {
                "task": row.task,
                "trial": row.trial,
                "criterion": row.criterion,
                "status": str(type(row).__struct_config__.tag),
                "score": row.score if isinstance(row, Graded) else None,
                "error": row.error if isinstance(row, Errored) else None,
                "reason": row.reason,
                "evidence_refs": list(row.evidence_refs),
                "failure_tag": row.failure_tag,
                "graders": "+".join(ref.kind for ref in row.graders),
                "cost_usd": row.cost_usd,
                **trial,
            }
        )
    names = (
        "run", "suite", "task", "trial", "criterion", "status", "score", "error", "reason", "evidence_refs",
        "failure_tag", "graders", "cost_usd", "ended_by", "trace",
    )  # fmt: skip
    same = {"run": name, "suite": suite_hash}
    return {column: [{**row, **same}.get(column) for row in rows] for column in names}
