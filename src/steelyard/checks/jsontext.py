"""JSON in a reply: the whole of it, at most inside one code fence. Strict, and exact in its decimals."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

_FENCE = re.compile(r"\s*```[A-Za-z0-9_+-]*[ \t]*\r?\n(?P<body>.*?)\r?\n?[ \t]*```\s*", re.DOTALL)
_LONG = 4_000


class NotJsonError(ValueError):
    """The text is not one JSON value; the message says why."""


def parse_json_text(text: str) -> Any:
    """The JSON value that the text is. Raises `NotJsonError`.

    Numbers with a point or exponent become `Decimal`. Refused: text around the value, several values, NaN and
    infinities, a key given twice (which one holds?), numbers and nesting without measure.
    """
    fenced = _FENCE.fullmatch(text)
    body = fenced["body"] if fenced and "```" not in fenced["body"] else text
    try:
        return _DECODER.decode(body.strip())
    except NotJsonError:
        raise
    except RecursionError:
        raise NotJsonError("it is nested too deeply") from None
    except (ValueError, ArithmeticError) as problem:
        raise NotJsonError(str(problem)[:120]) from None


def _integer(text: str) -> int | Decimal:
    # Python refuses to read integers of more than 4,300 digits; a decimal holds them exactly.
    return int(text) if len(text) < _LONG else Decimal(text)


def _constant(name: str) -> Any:
    raise NotJsonError(f"{name} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotJsonError("a key stands twice in one object")
    return found


_DECODER = json.JSONDecoder(
    parse_float=Decimal, parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object
)
