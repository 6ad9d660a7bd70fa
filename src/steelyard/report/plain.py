"""Any value as strict JSON: what has no JSON form is written as the nearest that has one, never as `NaN`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec

DEEPEST = 150
MOST_BITS = 4096
"""Integers longer than this go out as text, since readers and Python itself refuse to parse them."""


def plain(value: Any, depth: int = 0) -> Any:
    """JSON values only. Records become objects; non-finite numbers null; lone surrogates are escaped as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= MOST_BITS else f"{Decimal(value):f}"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Decimal | Fraction):
        return _real(value)
    return _nested(value, depth) if depth < DEEPEST else f"[nested deeper than {DEEPEST} levels]"


def _nested(value: Any, depth: int) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = type(value).__struct_fields__
        return {name: plain(getattr(value, name), depth + 1) for name in fields}
    if isinstance(value, Mapping):
        return {clean(str(key)): plain(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, Set):
        return sorted((plain(entry, depth + 1) for entry in value), key=msgspec.json.encode)
    if isinstance(value, list | tuple):
        return [plain(entry, depth + 1) for entry in value]
    return clean(str(value))


def _real(value: Decimal | Fraction) -> float | None:
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def clean(text: str) -> str:
    """`text` without lone surrogates, which no JSON file in UTF-8 can hold; they are written out as `\\udc80`."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def dumps(value: Any) -> bytes:
    """A plain value as indented UTF-8 JSON with a final newline, keys in their order."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
