"""JSON to nodes, with the line of every key and value.

The standard library checks the grammar; a small scanner then walks the text again for the positions.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from json.decoder import scanstring  # type: ignore[attr-defined,unused-ignore]
from typing import Any, NoReturn

from steelyard.standards.nodes import MAX_DEPTH, Key, Node, line_of, text_fault
from steelyard.standards.problems import Path, Problems, quoted

_SPACE = re.compile(r"[ \t\r\n]*")
_ATOM = re.compile(r"[-+.0-9a-zA-Z]+")


def refuse_constant(name: str) -> NoReturn:
    """`NaN` and `Infinity` are no JSON and no number that can be compared."""
    raise ValueError(f"{name} is not a number of JSON; write a finite number or null")


def read_json(text: str, problems: Problems) -> Node | None:
    """The root node, or None when the text is not JSON (which is then among `problems`)."""
    try:
        json.loads(text, parse_constant=refuse_constant, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        problems.add((), f"is not valid JSON: {error.msg} (column {error.colno})", line=error.lineno)
        return None
    except RecursionError:
        problems.add((), f"is nested more than {MAX_DEPTH} levels deep")
        return None
    except ValueError as error:
        problems.add((), f"is not valid JSON: {error}")
        return None
    return _Scanner(text, problems).read()


class _TooDeep(Exception):
    pass


class _Scanner:
    """Walks a text that is known to be valid JSON."""

    def __init__(self, text: str, problems: Problems) -> None:
        self.text = text
        self.problems = problems
        self.breaks = [match.start() for match in re.finditer("\n", text)]

    def read(self) -> Node | None:
        try:
            return self._value(self._skip(0), (), 0)[0]
        except _TooDeep:
            self.problems.add((), f"is nested more than {MAX_DEPTH} levels deep")
            return None

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _line(self, at: int) -> int:
        return bisect_right(self.breaks, at) + 1

    def _value(self, at: int, path: Path, depth: int) -> tuple[Node, int]:
        first = self.text[at]
        line = self._line(at)
        if first in "{[":
            if depth >= MAX_DEPTH:
                raise _TooDeep
            return self._map(at, line, path, depth) if first == "{" else self._list(at, line, path, depth)
        if first == '"':
            value, end = scanstring(self.text, at + 1, True)
            fault = text_fault(value)
            if fault:
                self.problems.add(path, fault, line=line)
                return Node("broken", None, line), end
            return Node("text", value, line), end
        atom = _ATOM.match(self.text, at)
        assert atom is not None
        return Node("typed", atom.group(), line), atom.end()

    def _list(self, at: int, line: int, path: Path, depth: int) -> tuple[Node, int]:
        children: list[Node] = []
        at = self._skip(at + 1)
        while self.text[at] != "]":
            child, at = self._value(at, (*path, len(children)), depth + 1)
            children.append(child)
            at = self._skip(at)
            if self.text[at] == ",":
                at = self._skip(at + 1)
        return Node("list", children, line), at + 1

    def _map(self, at: int, line: int, path: Path, depth: int) -> tuple[Node, int]:
        children: dict[str, Any] = {}
        keys: dict[str, Key] = {}
        at = self._skip(at + 1)
        while self.text[at] != "}":
            here = self._line(at)
            key, at = scanstring(self.text, at + 1, True)
            # Behind the key come the colon and the value.
            at = self._skip(self._skip(at) + 1)
            child, at = self._value(at, (*path, key), depth + 1)
            self._keep(key, child, here, path, children, keys)
            at = self._skip(at)
            if self.text[at] == ",":
                at = self._skip(at + 1)
        return Node("map", children, line, keys), at + 1

    def _keep(
        self, key: str, child: Node, line: int, path: Path, children: dict[str, Any], keys: dict[str, Key]
    ) -> None:
        fault = text_fault(key)
        if fault:
            self.problems.add(path, f"has the key {quoted(ascii(key))}, which {fault}", line=line)
        elif key in keys:
            first = keys[key].line
            self.problems.add(
                (*path, key), f"the key stands twice (first on line {first}); keep one of them", line=line
            )
        else:
            children[key] = child
            keys[key] = Key(line, False)


class JsonLines:
    """Lines of paths in a text that is known to be a valid JSON object; reads no further than it must."""

    _FEW = 12

    def __init__(self, text: str) -> None:
        self._text = text
        self._skip_value = json.JSONDecoder().raw_decode
        self._asked = 0
        self._root: Node | None = None

    def __call__(self, path: Path) -> int:
        """1-based line of the deepest part of `path` that exists."""
        self._asked += 1
        if self._asked <= self._FEW:
            return self._text.count("\n", 0, self._offset(path)) + 1
        if self._root is None:
            self._root = read_json(self._text, Problems())
        return line_of(self._root, path) if self._root is not None else 0

    def _offset(self, path: Path) -> int:
        at = shown = self._space(0)
        for step in path:
            found = self._child(at, step)
            if found is None:
                break
            shown, at = found
        return shown

    def _child(self, at: int, step: str | int) -> tuple[int, int] | None:
        """Where the child is shown (its key), and where its value starts."""
        kind = self._text[at]
        if kind not in "{[":
            return None
        at, index = self._space(at + 1), 0
        while self._text[at] not in "]}":
            shown, name = at, index
            if kind == "{":
                name, at = scanstring(self._text, at + 1, True)
                at = self._space(self._space(at) + 1)
            if name == step:
                return shown, at
            at = self._space(self._skip_value(self._text, at)[1])
            at = self._space(at + 1) if self._text[at] == "," else at
            index += 1
        return None

    def _space(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at
