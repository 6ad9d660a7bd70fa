"""TOML to nodes. The parser keeps no positions, so lines are found again by the keys, as well as that goes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from steelyard.standards.nodes import MAX_DEPTH, Key, Node, text_fault, typed_text
from steelyard.standards.problems import Path, Problems, quoted

_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")
_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?")
_ASSIGNED = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


class _Number(str):
    """A fractional number as it was written."""

    __slots__ = ()


def read_toml(text: str, problems: Problems) -> Node | None:
    """The root node, or None when the text is not TOML (which is then among `problems`)."""
    try:
        tree = tomllib.loads(text, parse_float=_Number)
    except tomllib.TOMLDecodeError as error:
        matched = _LINE.search(str(error))
        said = _LINE.sub("", str(error)).strip()
        column = f" (column {matched[2]})" if matched else ""
        problems.add((), f"is not valid TOML: {said}{column}", line=int(matched[1]) if matched else None)
        return None
    except RecursionError:
        problems.add((), f"is nested more than {MAX_DEPTH} levels deep")
        return None
    except ValueError as error:
        # An integer of more digits than Python reads.
        problems.add((), f"is not valid TOML: {error}")
        return None
    return _node(tree, problems, (), 0)


def _node(value: Any, problems: Problems, path: Path, depth: int) -> Node:
    if depth > MAX_DEPTH:
        problems.add(path, f"is nested more than {MAX_DEPTH} levels deep")
        return Node("broken", None)
    if isinstance(value, Mapping):
        children = {key: _node(child, problems, (*path, key), depth + 1) for key, child in value.items()}
        for key in children:
            if text_fault(key):
                problems.add(path, f"has a key that {text_fault(key)}")
        return Node("map", children, keys={key: Key(0, False) for key in children})
    if isinstance(value, list):
        return Node("list", [_node(child, problems, (*path, i), depth + 1) for i, child in enumerate(value)])
    if isinstance(value, _Number):
        return Node("typed", str(value).replace("_", "").lstrip("+"))
    if isinstance(value, bool | int):
        return Node("typed", typed_text(value))
    if isinstance(value, str):
        fault = text_fault(value)
        if fault:
            problems.add(path, fault)
        return Node("broken" if fault else "text", value)
    problems.add(path, f"is a date or time; a standard keeps those as text, so write {quoted(str(value))}")
    return Node("broken", None)


def toml_lines(text: str) -> Callable[[Path], int]:
    """Looks up the line of a path: of its key, or of the nearest table header or key above it."""
    known: dict[Path, int] = {}

    def locate(path: Path) -> int:
        if not known:
            known.update(_index(text))
        for end in range(len(path), 0, -1):
            if path[:end] in known:
                return known[path[:end]]
        return 0

    return locate


def _index(text: str) -> dict[Path, int]:
    lines: dict[Path, int] = {(): 0}
    counts: dict[Path, int] = {}
    here: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.fullmatch(line)
        assigned = _ASSIGNED.match(line)
        if header and not assigned:
            here = _table(_parts(header[2]), header[1] == "[[", counts)
            lines.setdefault(here, number)
        elif assigned:
            lines.setdefault((*here, *_parts(assigned[1])), number)
    return lines


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _table(parts: tuple[str, ...], element: bool, counts: dict[Path, int]) -> Path:
    """The path of a table header: names of arrays of tables stand for their last element."""
    path: Path = ()
    for index, part in enumerate(parts):
        path = (*path, part)
        if element and index == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
