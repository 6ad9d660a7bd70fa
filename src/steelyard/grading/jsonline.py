"""One line of JSON that nobody vouches for, as values that can be compared, shown and written again."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from decimal import Decimal
from typing import Any

MOST_DEPTH = 200
"""Nesting beyond this is refused: whatever compares, shows or writes a value later would need that much stack."""

MOST_DIGITS = 400
"""A whole number with more digits is kept as text; none that a row may hold is nearly as long."""

LONG_NUMBER = 19
"""Characters from which a decimal may say more than its float does."""
SHORT_DIGITS = 15
"""Significant digits up to which floats tell decimals apart; pass marks and bars have no more."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class UnreadableLineError(Exception):
    """The line is no JSON that can be used; the message says why in a few words."""


class JsonLine:
    """`value` in plain JSON types, except that NaN and infinities stay floats until `named` turns them into text.

    Halves of surrogate pairs become U+FFFD. `repeated` are the keys written twice in the outermost object, and
    `repeated_inside` one key written twice within it: what such an object says depends on its reader.
    """

    def __init__(self, line: bytes) -> None:
        """Raises UnreadableLineError."""
        self.repeated: frozenset[str] = frozenset()
        self.repeated_inside: str | None = None
        try:
            value = json.loads(
                line.decode("utf-8-sig"),
                object_pairs_hook=self._object,
                parse_int=_integer,
                parse_float=_number,
            )
        except RecursionError:
            raise UnreadableLineError("nested too deep") from None
        except ValueError as problem:
            raise UnreadableLineError(str(problem).split(":", maxsplit=1)[0]) from None
        if _too_deep(value):
            raise UnreadableLineError("nested too deep")
        self.value = clean(value)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Called for the outermost object last, so that what it held until then stands further in."""
        found = dict(pairs)
        if self.repeated and self.repeated_inside is None:
            self.repeated_inside = min(self.repeated)
        self.repeated = frozenset()
        if len(found) < len(pairs):
            written = Counter(name for name, _ in pairs)
            self.repeated = frozenset(clean(name) for name, times in written.items() if times > 1)
        return found


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


def _number(text: str) -> float:
    """The float of a decimal, on the same side of every short decimal (a bound, a pass mark) as what was written."""
    value = float(text)
    if len(text) < LONG_NUMBER or not math.isfinite(value):
        return value
    written, short = Decimal(text), Decimal(repr(value))
    if written == short or len(short.as_tuple().digits) > SHORT_DIGITS:
        return value
    return math.nextafter(value, math.inf if written > short else -math.inf)


def _too_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level and depth <= MOST_DEPTH:
        level = [child for parent in level for child in _children(parent)]
        depth += 1
    return depth > MOST_DEPTH


def _children(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [child for child in inside if isinstance(child, dict | list)]


def clean(value: Any) -> Any:
    """The same value with U+FFFD for what is no character, so that it can be written as UTF-8."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean(name): clean(child) for name, child in value.items()}
    return [clean(child) for child in value] if isinstance(value, list | tuple) else value


def named(value: Any) -> Any:
    """The same value with the names of NaN and infinities as text, since JSON has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: named(child) for name, child in value.items()}
    return [named(child) for child in value] if isinstance(value, list) else value
