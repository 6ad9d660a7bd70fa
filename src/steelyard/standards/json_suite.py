"""A sound JSON suite decoded at once into the structs of the file.

It is refused here, without a word, for anything that wants the careful reader: that one says what is wrong, and where.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, NoReturn

import msgspec

from steelyard.standards.nodes import MAX_DEPTH
from steelyard.standards.scalars import MAX_SIGNIFICANT, shortest
from steelyard.standards.shapes import SuiteFile

_DECIMALS = frozenset(
    ("weight", "pass_mark", "at_least", "seconds", "cost_usd", "tokens", "tool_calls", "turns", "abs_tol", "rel_tol")
)  # fmt: skip
_OF_NUMBER = ("value", "min", "max")
_LARGE = re.compile(r"[eE][+-]?[0-9]{3}")
_ROUGH = re.compile(r"0$|[eE]")


class _Careful(Exception):
    """The quick way does not apply; the careful way finds out why, or that all is well."""


def decode_json(text: str) -> SuiteFile | None:
    """The file, or None when anything about it wants the careful reader."""
    if "\\u0000" in text:
        return None
    look = _Look()
    try:
        if (
            json.loads(
                text,
                object_pairs_hook=look.at_object,
                parse_float=look.at_float,
                parse_int=look.at_integer,
                parse_constant=_refused,
            )
            > MAX_DEPTH
        ):
            return None
        file = _DECODER.decode(text)
    except (_Careful, ValueError, TypeError, RecursionError):
        return None
    if not file.tasks or file.tasks_from or not _share_numbers(file, text):
        return None
    return shortened(file) if look.rough else file


_DECODER = msgspec.json.Decoder(SuiteFile)


def _refused(name: str) -> NoReturn:
    raise _Careful


class _Look:
    """Looks at what decoding passes over: doubled keys, depth, and how numbers are written. Keeps nothing of it."""

    def __init__(self) -> None:
        self.rough = False
        """A decimal is written in another than its shortest form."""

    def at_float(self, text: str) -> None:
        if len(text) > MAX_SIGNIFICANT or _LARGE.search(text):
            raise _Careful
        self.rough = self.rough or _ROUGH.search(text) is not None

    def at_integer(self, text: str) -> None:
        if len(text) > MAX_SIGNIFICANT or text == "-0":
            raise _Careful

    def at_object(self, pairs: list[tuple[str, Any]]) -> int:
        """How many mappings and lists are nested in it, itself included."""
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise _Careful
        if not _DECIMALS.isdisjoint(fields):
            _no_text(fields, _DECIMALS & fields.keys())
        if fields.get("kind") == "number":
            _no_text(fields, _OF_NUMBER)
        height = 0
        for value in fields.values():
            kind = type(value)
            if kind is list:
                height = max(height, _height(value))
            elif kind is int:
                height = max(height, value)
        return height + 1


def _no_text(fields: dict[str, Any], keys: Any) -> None:
    """Text where a decimal is wanted would be taken for one."""
    if any(isinstance(fields.get(key), str) for key in keys):
        raise _Careful


def _height(value: list[Any]) -> int:
    """The height of a list whose mappings stand as their own heights, and whose numbers as nothing."""
    height, above, level = 0, 0, [value]
    while level:
        above += 1
        if above > MAX_DEPTH:
            return above
        below: list[list[Any]] = []
        for entries in level:
            for entry in entries:
                if type(entry) is list:
                    below.append(entry)
                elif type(entry) is int and above + entry > height:
                    height = above + entry
        level = below
    return max(height, above)


def _share_numbers(file: SuiteFile, text: str) -> bool:
    """Whether no share of the vote is text; its name may be any, so that it is looked for where it stands."""
    if file.weights is None and file.composite is None:
        return True
    tree = json.loads(text)
    shares = [(tree.get("weights") or {}).get("shares"), (tree.get("composite") or {}).get("weights")]
    return not any(isinstance(share, str) for named in shares if named for share in named.values())


def shortened(value: Any) -> Any:
    """The same records with every decimal in its shortest form."""
    if isinstance(value, Decimal):
        return shortest(value)
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {name: new for name, old in fields.items() if (new := shortened(old)) is not old}
        return msgspec.structs.replace(value, **changed) if changed else value
    if isinstance(value, tuple):
        return tuple([shortened(child) for child in value])
    return {name: shortened(child) for name, child in value.items()} if isinstance(value, dict) else value
