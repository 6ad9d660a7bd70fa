"""One tree for every file format: what stands where, before anybody decides what it means.

A suite may be written in YAML, JSON, TOML or Python. Each reader makes the same nodes, so that types, defaults and
messages are decided in one place by what the standard wants there, and never by the file's own guesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import msgspec

from steelyard.standards.problems import Path, Problems

Kind = Literal["map", "list", "text", "plain", "typed", "filled", "broken"]
MAX_DEPTH = 100
MAX_BYTES = 64 * 1024 * 1024


class Key(NamedTuple):
    """A key of a mapping: its line (0: not known) and whether it was written without quotes in YAML."""

    line: int
    plain: bool


class Node:
    """One value of the file.

    `map`: `value` is a dict of text to Node, `keys` says where each key stands. `list`: a list of Nodes. `text`: text
    that was quoted or cannot be anything else. `plain`: an unquoted YAML scalar, its type still open. `typed`: a
    number, true, false or null of a typed format, as its JSON text. `filled`: text from a table's column, which a
    place that wants a number may read as one. `broken`: already reported; nothing more is said about it.
    """

    __slots__ = ("keys", "kind", "line", "value")

    def __init__(self, kind: Kind, value: Any, line: int = 0, keys: dict[str, Key] | None = None) -> None:
        self.kind = kind
        self.value = value
        self.line = line
        self.keys = keys if keys is not None else {}


def text_fault(text: str) -> str | None:
    """Why a text cannot stand in a standard, or None. Texts are stored and compared as UTF-8."""
    if "\x00" in text:
        return "holds a NUL character; remove it"
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return "holds half of a surrogate pair, which is no character; write the character itself"
    return None


def line_of(root: Node, path: Path) -> int:
    """The line of the deepest part of `path` that exists; 0 when the format keeps no lines."""
    node, line = root, root.line
    for step in path:
        if node.kind == "map" and isinstance(step, str) and step in node.keys:
            line = node.keys[step].line or line
            child = node.value.get(step)
        elif node.kind == "list" and isinstance(step, int) and step < len(node.value):
            child = node.value[step]
            line = child.line or line
        else:
            break
        if child is None:
            break
        node = child
    return line


def from_python(value: Any, problems: Problems, path: Path = (), depth: int = 0) -> Node:
    """Nodes of plain Python values (dicts, lists, texts, numbers, None) and of the library's own records."""
    if depth > MAX_DEPTH:
        problems.add(path, f"is nested more than {MAX_DEPTH} levels deep")
        return Node("broken", None)
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value, builtin_types=(Decimal,))
    if isinstance(value, str):
        return _text(value, problems, path)
    if value is None or isinstance(value, bool | int | float | Decimal):
        return Node("typed", typed_text(value))
    if isinstance(value, Mapping):
        return _map(value, problems, path, depth)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return Node("list", [from_python(v, problems, (*path, i), depth + 1) for i, v in enumerate(value)])
    problems.add(
        path, f"holds a {type(value).__name__}; a standard is made of text, numbers, lists and mappings"
    )
    return Node("broken", None)


def typed_text(value: bool | int | float | Decimal | None) -> str:
    """The JSON text of a scalar (`NaN` and `Infinity` stay what they are: the typed places refuse them)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Beyond 4,300 digits Python refuses the decimal text; the limit on digits refuses it anyway.
        return str(value) if value.bit_length() < 10_000 else "1e9999"
    return repr(float(value)) if isinstance(value, float) else str(value)


def _text(value: str, problems: Problems, path: Path) -> Node:
    fault = text_fault(value)
    if fault:
        problems.add(path, fault)
        return Node("broken", None)
    return Node("text", str(value))


def _map(value: Mapping[Any, Any], problems: Problems, path: Path, depth: int) -> Node:
    children: dict[str, Node] = {}
    for key, child in value.items():
        if not isinstance(key, str):
            problems.add(path, f"has the key {key!r}, which is not text; write {str(key)!r}")
            continue
        fault = text_fault(key)
        if fault:
            problems.add(path, f"has a key that {fault}")
            continue
        children[str(key)] = from_python(child, problems, (*path, key), depth + 1)
    return Node("map", children, keys={key: Key(0, False) for key in children})


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, parents first."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        if here.kind == "map":
            waiting.extend(here.value.values())
        elif here.kind == "list":
            waiting.extend(here.value)
