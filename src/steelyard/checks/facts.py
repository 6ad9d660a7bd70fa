"""Facts of a task as checks see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.model.standard import Fact


def fact_value(fact: Fact) -> Any:
    """The fields of its data beside `text`; data that has no fields is the fact itself; without data, `text` alone."""
    if isinstance(fact.data, Mapping):
        return {"text": fact.text, **fact.data}
    return {"text": fact.text} if fact.data is None else fact.data
