"""Any value as strict JSON: what has no JSON form is written as the nearest that has one, never as `NaN`."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec

DEEPEST = 150
MOST_BITS = 4096
"""Integers longer than this go out as text, since readers and Python itself refuse to parse them."""


Spell = Callable[[str], str]


def plain(value: Any, depth: int = 0, spell: Spell | None = None) -> Any:
    """JSON values only. Records become objects; non-finite numbers null; lone surrogates are escaped as text.

    `spell` writes the texts, in place of `clean`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean(value) if spell is None else spell(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= MOST_BITS else f"{Decimal(value):f}"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Decimal | Fraction):
        return _real(value)
    return _nested(value, depth, spell) if depth < DEEPEST else f"[nested deeper than {DEEPEST} levels]"


def _nested(value: Any, depth: int, spell: Spell | None) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = type(value).__struct_fields__
        return {name: plain(getattr(value, name), depth + 1, spell) for name in fields}
    if isinstance(value, Mapping):
        return {clean(str(key)): plain(entry, depth + 1, spell) for key, entry in value.items()}
    if isinstance(value, Set):
        return sorted((plain(entry, depth + 1) for entry in value), key=msgspec.json.encode)
    if isinstance(value, list | tuple):
        return [plain(entry, depth + 1, spell) for entry in value]
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


LONG = 1 << 20
"""Characters from which on a text is written in pieces."""


def dump_parts(value: Any, indent: int = 0) -> Iterator[bytes]:
    """The value as `dumps` would write it where it stands `indent` columns in, in parts.

    Texts of many megabytes are never copied whole: a token stands for each until it is written.
    """
    token = secrets.token_hex(16)
    texts: list[str] = []

    def spell(text: str) -> str:
        if len(text) <= LONG:
            return clean(text)
        texts.append(text)
        return f"{token} {len(texts) - 1}"

    shown = _indented(plain(value, spell=spell), indent)
    if not texts:
        yield shown
        return
    for number, part in enumerate(re.split(rb'"%b (\d+)"' % token.encode(), shown)):
        if number % 2 == 0:
            yield part
        else:
            yield b'"'
            text = texts[int(part)]
            for start in range(0, len(text), LONG):
                yield msgspec.json.encode(clean(text[start : start + LONG]))[1:-1]
            yield b'"'


def list_parts(entries: Iterable[Any], indent: int = 0) -> Iterator[bytes]:
    """The list of the entries as `dumps` would write it, one entry at a time."""
    inner = b"\n" + b" " * (indent + 2)
    start = b"[" + inner
    for entry in entries:
        yield start
        yield from dump_parts(entry, indent + 2)
        start = b"," + inner
    yield b"[]" if start[:1] == b"[" else b"\n" + b" " * indent + b"]"


def _indented(value: Any, indent: int) -> bytes:
    shown = msgspec.json.format(msgspec.json.encode(value), indent=2)
    return shown.replace(b"\n", b"\n" + b" " * indent) if indent else shown
