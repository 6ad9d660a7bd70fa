"""`{column}` in the texts of a task template. Plain replacement: nothing is evaluated, nothing is looked into."""

from __future__ import annotations

import re
from collections.abc import Mapping

from steelyard.standards.nodes import Key, Node
from steelyard.standards.problems import Path, Problems, quoted, suggestion

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class _Unfilled(Exception):
    """A text that cannot be filled; the message is the end of a sentence."""


def fill(node: Node, cells: Mapping[str, Node], problems: Problems, path: Path) -> Node:
    """A copy of the template with the row's values. Problems are added with the template's path.

    A value that is only `{column}` takes the cell as it is: text from CSV, any JSON value from JSON Lines. Inside a
    longer text a cell stands as its text. `{{` and `}}` are braces.
    """
    if node.kind == "map":
        return _fill_map(node, cells, problems, path)
    if node.kind == "list":
        filled = [fill(child, cells, problems, (*path, i)) for i, child in enumerate(node.value)]
        return Node("list", filled, node.line)
    if node.kind not in ("text", "plain") or ("{" not in node.value and "}" not in node.value):
        return node
    try:
        whole = _PIECE.fullmatch(node.value)
        if whole and whole.group(1) is not None:
            cell = _cell(whole.group(1), cells)
            return Node(cell.kind, cell.value, node.line, cell.keys)
        return Node("text", _fill_text(node.value, cells), node.line)
    except _Unfilled as error:
        problems.add(path, str(error))
        return Node("broken", None, node.line)


def _fill_map(node: Node, cells: Mapping[str, Node], problems: Problems, path: Path) -> Node:
    filled: dict[str, Node] = {}
    keys: dict[str, Key] = {}
    for key, child in node.value.items():
        try:
            name = _fill_text(key, cells) if "{" in key or "}" in key else key
        except _Unfilled as error:
            problems.add((*path, key), str(error))
            continue
        if name in filled:
            problems.add((*path, key), f"the key {quoted(name)} stands twice once the columns are filled in")
            continue
        filled[name] = fill(child, cells, problems, (*path, key))
        keys[name] = node.keys.get(key, Key(child.line, False))
    return Node("map", filled, node.line, keys)


def _fill_text(text: str, cells: Mapping[str, Node]) -> str:
    def replace(match: re.Match[str]) -> str:
        piece = match.group()
        if piece in ("{{", "}}"):
            return piece[0]
        if match.group(1) is None:
            raise _Unfilled(f"holds a single {piece!r}; a column is {{name}}, a brace is {piece * 2}")
        return _cell_text(match.group(1), _cell(match.group(1), cells))

    return _PIECE.sub(replace, text)


def _cell(name: str, cells: Mapping[str, Node]) -> Node:
    if name not in cells:
        raise _Unfilled(
            f"{{{name}}} names no column of the table{suggestion(name, cells)} (a brace itself is written {{{{)"
        )
    return cells[name]


def _cell_text(name: str, cell: Node) -> str:
    if cell.kind in ("map", "list"):
        raise _Unfilled(
            f'{{{name}}} is not text in this row; such a value can only stand alone, as "{{{name}}}"'
        )
    if cell.kind == "typed" and cell.value == "null":
        raise _Unfilled(f"{{{name}}} is null in this row; give it a text")
    return str(cell.value)
