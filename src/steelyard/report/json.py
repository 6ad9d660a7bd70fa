"""The score table as strict JSON, in the published field names."""

from __future__ import annotations

from typing import Any

import msgspec

from steelyard.model.table import ScoreTable
from steelyard.report.failures import detail_is_partial
from steelyard.report.plain import dumps, plain

MOST_VERDICTS = 10_000
LEFT_OUT = "tasks_left_out"


def score_json(table: ScoreTable, *, full: bool = False) -> bytes:
    """The table as UTF-8 JSON: finite full-precision numbers or null, keys in the order of the records.

    Beyond 10,000 verdicts the key `tasks` is absent unless `full`, and a notice `tasks_left_out` says so.
    """
    held = sum(len(trial.criteria) for task in table.tasks for trial in task.trials)
    verdicts = max(held, sum(table.states.values()))
    # A table made without detail holds only some tasks: they must not look like all of them.
    detailed = (full or verdicts <= MOST_VERDICTS) and not detail_is_partial(table)
    skipped = () if detailed else ("tasks",)
    names = [name for name in ScoreTable.__struct_fields__ if name not in skipped]
    shown: dict[str, Any] = {
        name: _tasks(table) if name == "tasks" else plain(getattr(table, name)) for name in names
    }
    if not detailed:
        detail = f"the detail of {verdicts:,} verdicts is left out; --full has it"
        shown["notices"].append({"code": LEFT_OUT, "detail": detail, "where": "tasks"})
    return dumps(shown)


def _tasks(table: ScoreTable) -> Any:
    """Most of the text by far: written at once where the values allow it, else value by value."""
    try:
        return msgspec.Raw(msgspec.json.Encoder(enc_hook=plain, decimal_format="number").encode(table.tasks))
    except (ValueError, OverflowError, RecursionError):
        return plain(table.tasks)
