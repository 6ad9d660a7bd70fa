"""Text as the text checks read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.checks.show import show_number
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


def excerpt(text: str, start: int, end: int, around: int = 30) -> str:
    """A piece of the text with a little of what stands about it."""
    return text[max(0, start - around) : min(len(text), end + around)]


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return show_number(value) if isinstance(value, (int, float)) else str(value)
