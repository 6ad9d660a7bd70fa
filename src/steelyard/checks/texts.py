"""Text as the text checks read it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from steelyard.rules.values import nfc


def as_text(value: Any) -> str:
    """The text of a value: text as it is, a structure as its keys and leaves, one a line, in order.

    Leaves are not escaped, so that a forbidden text cannot hide behind JSON's spelling of it.
    """
    if isinstance(value, str):
        return value
    lines: list[str] = []
    pending: list[Any] = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            for key in reversed(list(current)):
                pending.extend((current[key], str(key)))
        elif isinstance(current, (list, tuple)):
            pending.extend(reversed(current))
        else:
            lines.append(_leaf(current))
    return "\n".join(lines)


def folded(text: str, *, case: bool, composed: bool = True) -> str:
    """The form in which texts are compared: composed Unicode, and without letter case unless `case`."""
    form = nfc(text) if composed else text
    if case:
        return form
    return nfc(form.casefold()) if composed else form.casefold()


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    # Every digit stands: Python itself refuses to spell out long integers, a decimal does not.
    return str(Decimal(value)) if isinstance(value, int) else str(value)
