"""Equality of JSON values: by value and type, never by Python's `True == 1`."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import msgspec

_PLAIN = frozenset({str, int, bool, type(None)})
"""Types whose values need no second look when they are equal and of one type."""

_ONE_FORM = _PLAIN - {str}
"""Those of them that differ where they are not the same."""

JsonType = Literal["null", "bool", "number", "text", "list", "object"]

_TYPES: dict[type[Any], JsonType] = {
    type(None): "null",
    bool: "bool",
    int: "number",
    str: "text",
    dict: "object",
    list: "list",
    tuple: "list",
}


def json_type(value: Any) -> JsonType | None:
    """The JSON type of a value; None for what JSON cannot hold: NaN, infinities and foreign objects."""
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, (float, Decimal, int)):
        return "number" if is_finite(value) else None
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "object"
    return "list" if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)) else None


def is_finite(number: int | float | Decimal) -> bool:
    """Whether it is an ordinary number: no NaN (quiet or signalling), no infinity."""
    if isinstance(number, Decimal):
        return number.is_finite()
    return isinstance(number, int) or math.isfinite(number)


def nfc(text: str) -> str:
    """The composed Unicode form, in which the two spellings of an accented letter are one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def json_equal(left: Any, right: Any, *, text: Callable[[str], str] = nfc) -> bool:
    """The same JSON value and type.

    1 equals 1.0; neither equals "1" or true. Order of keys does not matter, order of list elements does. Texts are
    equal when `text` makes them equal (default: their composed forms); keys are compared as they are. NaN,
    infinities and objects that JSON cannot hold equal nothing. Any depth; decimals are compared as written (a
    float stands for its shortest spelling).
    """
    pending = [(left, right)]
    while pending:
        a, b = pending.pop()
        alike = type(a) is type(b)
        if alike and type(a) in _PLAIN and a == b:
            continue
        kind = json_type(a)
        if kind is None or kind != json_type(b) or (alike and type(a) in _ONE_FORM):
            return False
        if kind == "object":
            if a.keys() != b.keys():
                return False
            pending.extend((a[key], b[key]) for key in a)
        elif kind == "list":
            if len(a) != len(b):
                return False
            pending.extend(zip(a, b, strict=True))
        elif not _leaves_equal(kind, a, b, text):
            return False
    return True


_TEXTS = msgspec.msgpack.Encoder(order="deterministic").encode
_NUMBERS = msgspec.msgpack.Encoder(order="deterministic", decimal_format="number").encode
_NOT_FINITE = (b"\xcb\x7f\xf0", b"\xcb\xff\xf0", b"\xcb\x7f\xf8", b"\xcb\xff\xf8")


def packed(value: Any) -> bytes | None:
    """Bytes that are the same only for values that `json_equal` calls equal, or None where there are none.

    Equal values may have different ones (1 and 1.0), so a difference says nothing. None for a value that holds a
    decimal (which would look like a text), a number that is not finite, or what has no such form.
    """
    try:
        found = _TEXTS(value)
        if found != _NUMBERS(value):
            return None
    except (TypeError, ValueError, OverflowError):
        return None
    return None if b"\xcb" in found and any(mark in found for mark in _NOT_FINITE) else found


def _leaves_equal(kind: JsonType, a: Any, b: Any, text: Callable[[str], str]) -> bool:
    if kind == "text":
        return a == b or text(a) == text(b)
    if kind == "number" and type(a) is not type(b):
        return as_decimal(a) == as_decimal(b)
    return bool(a == b)


def as_decimal(number: int | float | Decimal) -> Decimal:
    """The exact decimal of a finite number; a float by its shortest spelling (0.1 is one tenth)."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
