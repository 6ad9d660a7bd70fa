"""Values in sentences: short, on one line, and safe to write whatever they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from json.encoder import encode_basestring
from typing import Any

LIMIT = 80
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with control characters and lone surrogates spelt out, so that it can be encoded and printed."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def show(value: Any, limit: int = LIMIT) -> str:
    """A value as short JSON: long text is cut, long numbers are counted, deep structures are only named."""
    if isinstance(value, str):
        cut = value if len(value) <= limit else value[: limit - 3] + "..."
        return clean(encode_basestring(cut))
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float, Decimal, Fraction)):
        return show_number(value)
    try:
        text = json.dumps(_shortened(value, 0), ensure_ascii=False, default=show_number)
    except (TypeError, ValueError):
        text = f"a value of type {type(value).__name__}"
    return clean(text if len(text) <= limit else text[: limit - 3] + "...")


def show_number(number: int | float | Decimal | Fraction) -> str:
    """A number as it would be written; one third as 1/3; a huge one by its size."""
    if isinstance(number, int) and number.bit_length() > 200:
        return f"an integer of {number.bit_length()} bits"
    if isinstance(number, Fraction):
        return _show_fraction(number)
    if isinstance(number, Decimal):
        return f"{number:f}" if number.is_finite() and abs(number.adjusted()) < 30 else str(number)[:LIMIT]
    return str(number)


def names(found: list[str], limit: int = 5, *, joint: str = ", ") -> str:
    """A short enumeration: the first few, and how many more."""
    shown = joint.join(found[:limit])
    return shown if len(found) <= limit else f"{shown} and {len(found) - limit} more"


def counted(number: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _show_fraction(number: Fraction) -> str:
    if number.denominator == 1:
        return show_number(number.numerator)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > 100:
        return "a fraction of large integers"
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return f"{number.numerator}/{number.denominator}"
    return format((Decimal(number.numerator) / Decimal(number.denominator)).normalize(), "f")


def _shortened(value: Any, depth: int) -> Any:
    """Enough of a structure to fill the limit, never all of it."""
    if isinstance(value, str):
        return value[:LIMIT]
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= 200 else show_number(value)
    if depth > 6:
        return "..."
    if isinstance(value, Mapping):
        return {str(key)[:LIMIT]: _shortened(value[key], depth + 1) for key in list(value)[:20]}
    if isinstance(value, (list, tuple)):
        return [_shortened(element, depth + 1) for element in value[:20]]
    return show_number(value) if isinstance(value, (Decimal, Fraction)) else f"({type(value).__name__})"
