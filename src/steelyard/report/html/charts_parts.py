"""What charts are made of: specifications over rows, and the texts beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.report.plain import clean
from steelyard.report.text import visible

LONGEST = 40
"""Characters of a name beside a row."""

Chart = dict[str, Any]
Record = dict[str, Any]


def as_chart(
    id: str, title: str, description: str, spec: Record, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> Chart:
    """A chart with its texts made visible."""
    shown = [[visible(clean(text)) for text in row] for row in rows]
    return {
        "id": id, "title": visible(clean(title)), "description": visible(clean(description)), "spec": spec,
        "columns": list(columns), "rows": shown,
    }  # fmt: skip


def row_label(name: str, below: str) -> str:
    """Two lines beside a row: a name that fits, and what it rests on."""
    return f"{short(name)}\n{below}"


def short(name: str) -> str:
    """A name that fits beside a row."""
    plain = visible(clean(name))
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def share_of(field: str, **more: Any) -> Record:
    """A field of 0..1 along the x axis, in percent."""
    axis = {"title": None, "labelExpr": "round(datum.value * 100) + ' %'", "values": [0, 0.25, 0.5, 0.75, 1]}
    return {"field": field, "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": axis, **more}


def over_rows(records: Sequence[Record], step: int, **rest: Any) -> Record:
    """A specification over records: those with one `name` stand in one row, in the order of the records.

    The number before a row's label keeps equal labels apart; the axis leaves it out.
    """
    labels = {record["name"]: record["label"] for record in records}
    keys = {name: f"{number}\n{label}" for number, (name, label) in enumerate(labels.items())}
    axis = {
        "title": None,
        "labelExpr": "slice(split(datum.label, '\\n'), 1)",
        "domain": False,
        "ticks": False,
    }
    y = {"field": "row", "type": "nominal", "scale": {"domain": list(keys.values())}, "axis": axis}
    shown = [
        {key: value for key, value in record.items() if value is not None and key not in ("name", "label")}
        | {"row": keys[record["name"]]}
        for record in records
    ]
    encoding = {"y": y, **rest.pop("encoding", {})}
    return {"data": {"values": shown}, "height": {"step": step}, "encoding": encoding, **rest}
