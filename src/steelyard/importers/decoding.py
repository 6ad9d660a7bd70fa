"""JSON as it really arrives: strict where meaning is at stake, tolerant where it is not, and never a crash.

The fast path is msgspec. It takes the last of two equal keys without a word, so its reading is checked by counting
quotation marks; whatever it refuses or that check doubts is read again by the standard library, with notices.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from steelyard.model.trace import MOST_DECODED

MAX_DEPTH = 200
"""Nesting beyond this is refused: every later reader that walks a value would need that much stack."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_NOT_MARKS = _NOT_BRACKETS.replace(b'"', b"")
_ROUNDS = 24
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_SURROGATE = re.compile("[\ud800-\udfff]")
_JSON_START = frozenset('{["-0123456789tfn \t\r\n')

Oddities = tuple[tuple[str, str], ...]


class Refused(Exception):
    """The text is no JSON that can be used; the message is a sentence."""


class RepeatedKeys(dict[str, Any]):
    """An object of which some key was written twice. Its last value stands; call arguments refuse it."""


def decode(raw: bytes) -> tuple[Any, Oddities]:
    """The value of one JSON text and the oddities met. Raises `Refused`.

    Odd values stay recognisable: NaN and infinities are floats, objects with a key written twice `RepeatedKeys`
    (see `oddity` and `plain`). Lone surrogates become U+FFFD.
    """
    try:
        value = _decode(raw)
    except (msgspec.MsgspecError, UnicodeError):
        return _decode_oddly(raw)
    except RecursionError:
        raise Refused(_TOO_DEEP) from None
    marks = raw.translate(None, _NOT_MARKS)
    brackets = marks.translate(None, b'"')
    escapes = b"\\" in raw
    quotes = len(marks) - len(brackets) + (raw.count(b"\\u0022") if escapes else 0)
    # Every dropped entry takes at least the two quotation marks of its key with it.
    if quotes != _encode(value).count(b'"'):
        return _decode_oddly(raw)
    if len(brackets) > 2 * MAX_DEPTH and _too_deep(brackets, value):
        raise Refused(_TOO_DEEP)
    return value, _nul(raw) if escapes else ()


def decode_arguments(text: str) -> tuple[Any, str | None, Oddities]:
    """(value, why it is malformed or None, oddities) of a call's argument text. Empty text is the caller's case.

    Malformed are: no JSON, a key written twice, NaN or an infinity, a number too long to be one.
    """
    try:
        value, oddities = decode(text.encode())
    except Refused as refused:
        return None, f"The arguments cannot be read as JSON: {refused}.", ()
    except UnicodeEncodeError:
        return None, "The arguments hold characters that are no text (lone surrogates).", ()
    if not oddities:
        return value, None, ()
    huge = next((detail for code, detail in oddities if code == "huge_number"), None)
    reason = oddity(value) or huge
    return (None if reason else value), reason, oddities


def decode_result(text: str) -> tuple[Any, bool]:
    """A tool's result text as JSON where it is JSON, else the text; and whether odd JSON was left as text."""
    if text[:1] not in _JSON_START or len(text) > MOST_DECODED:
        return text, False
    try:
        value, oddities = decode(text.encode())
    except (Refused, UnicodeEncodeError):
        return text, False
    return (text, True) if oddities and oddities != _NUL_NOTICE else (value, False)


def may_be_json(text: str) -> bool:
    """Whether a text begins as an object or a list does and ends so: what else is JSON is seldom long."""
    first, last = text[:64].lstrip()[:1], text[-64:].rstrip()[-1:]
    return (first, last) in (("{", "}"), ("[", "]"))


def oddity(value: Any) -> str | None:
    """Why a decoded value must not be taken for exact: a number that is none, a key written twice. Else None."""
    if isinstance(value, float):
        return None if math.isfinite(value) else "The value NaN or Infinity is no JSON number."
    if isinstance(value, RepeatedKeys):
        return "An object names the same key twice, so what it says is undecided."
    return next((reason for reason in map(oddity, _children(value)) if reason), None)


def plain(value: Any) -> Any:
    """The same value in plain JSON types: NaN and infinities become their names as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return value


_NUL_NOTICE: Oddities = (("nul_character", "A text holds the NUL character; it is kept."),)


def _decode_oddly(raw: bytes) -> tuple[Any, Oddities]:
    value, oddities = _decode_slowly(raw)
    if _too_deep(raw.translate(None, _NOT_BRACKETS), value):
        raise Refused(_TOO_DEEP)
    return value, oddities + _nul(raw) if b"\\" in raw else oddities


def _too_deep(brackets: bytes, value: Any) -> bool:
    """Brackets are first paired off from the inside, which is cheap and settles nearly every record.

    Brackets inside texts count there too. They mostly make a record look deeper, and then its value is looked at;
    contrived ones can hide depth, and whoever meets it gets a RecursionError, which quarantines the record.
    """
    if brackets.count(b"[") + brackets.count(b"{") <= MAX_DEPTH:
        return False
    for _ in range(_ROUNDS):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return False
    return _deeper_than(value, MAX_DEPTH)


def _deeper_than(value: Any, limit: int) -> bool:
    level, depth = [value], 0
    while level and depth <= limit:
        level = [child for parent in level for child in _children(parent) if isinstance(child, dict | list)]
        depth += 1
    return depth > limit


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _nul(raw: bytes) -> Oddities:
    return _NUL_NOTICE if b"\\u0000" in raw and _NUL.search(raw) else ()


class _SlowReader:
    """One reading by the standard library that remembers what was odd."""

    def __init__(self) -> None:
        self.oddities: dict[str, str] = {}

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        twice = next(key for i, (key, _) in enumerate(pairs) if any(key == k for k, _ in pairs[:i]))
        shown = _SURROGATE.sub("�", twice[:60])
        self.oddities.setdefault(
            "duplicate_key", f"The key '{shown}' is written twice in one object; its last value stands."
        )
        return RepeatedKeys(found)

    def constant(self, name: str) -> float:
        self.oddities.setdefault(
            "non_finite", f"The number {name} is not allowed in JSON; it is kept as text."
        )
        return float(name.replace("Infinity", "inf"))

    def real(self, digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else self.constant("-Infinity" if value < 0 else "Infinity")

    def integer(self, digits: str) -> int | str:
        try:
            return int(digits)
        except ValueError:
            self.oddities.setdefault(
                "huge_number", f"A whole number of {len(digits)} digits is kept as text."
            )
            return digits

    def clean(self, value: Any) -> Any:
        if isinstance(value, str) and _SURROGATE.search(value):
            self.oddities.setdefault(
                "lone_surrogate", "A text holds half of a surrogate pair; it is replaced by U+FFFD."
            )
            return _SURROGATE.sub("�", value)
        if isinstance(value, dict):
            kind = RepeatedKeys if isinstance(value, RepeatedKeys) else dict
            return kind({self.clean(key): self.clean(child) for key, child in value.items()})
        if isinstance(value, list):
            return [self.clean(child) for child in value]
        return value


def _decode_slowly(raw: bytes) -> tuple[Any, Oddities]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as broken:
        raise Refused(f"it is not UTF-8 (byte {broken.start})") from None
    reader = _SlowReader()
    try:
        value = json.loads(
            text,
            object_pairs_hook=reader.pairs,
            parse_constant=reader.constant,
            parse_float=reader.real,
            parse_int=reader.integer,
        )
        value = reader.clean(value)
    except json.JSONDecodeError as broken:
        raise Refused(f"{broken.msg} (line {broken.lineno}, column {broken.colno})") from None
    except RecursionError:
        raise Refused(_TOO_DEEP) from None
    return value, tuple(reader.oddities.items())
