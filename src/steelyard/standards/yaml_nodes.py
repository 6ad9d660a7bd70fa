"""YAML to nodes: every scalar's text and line, nothing resolved.

It reads the parser's events instead of loading: YAML's own rules would turn `no` into false, `12:30` into 750 and
`007` into 7. Anchors, tags, merge keys, several documents, doubled keys and keys that are not text are refused: each of
them makes a standard that reads differently from what stands in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from steelyard.standards.nodes import MAX_DEPTH, Key, Node, text_fault
from steelyard.standards.problems import Path, Problems, quoted


class _Open:
    """A mapping or list that is being read."""

    __slots__ = ("key", "node", "path")

    def __init__(self, node: Node, path: Path) -> None:
        self.node = node
        self.path = path
        self.key: str | None = None


def read_yaml(text: str, problems: Problems) -> Node | None:
    """The root node, or None when the text cannot be parsed at all (which is then among `problems`)."""
    reader = _Reader(problems)
    try:
        for event in _events(text):
            if not reader.take(event):
                return None
    except yaml.YAMLError as error:
        problems.add((), _syntax(error), line=_error_line(error))
        return None
    except RecursionError:
        problems.add((), f"is nested more than {MAX_DEPTH} levels deep")
        return None
    if reader.root is None:
        problems.add((), "the file holds no suite; it starts with `schema: suite/1`", line=1)
    return reader.root


def _events(text: str) -> Iterator[Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return iter(yaml.parse(text, Loader=loader))


class _Reader:
    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.root: Node | None = None
        self.stack: list[_Open] = []
        self.documents = 0

    def take(self, event: Any) -> bool:
        """False: reading cannot go on."""
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self._problem(
                    event, (), "a second document starts here; a suite is one document, so remove the `---`"
                )
                return False
            return True
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self.stack.pop()
            return True
        if isinstance(event, yaml.NodeEvent):
            return self._node(event)
        return True

    def _node(self, event: Any) -> bool:
        line = event.start_mark.line + 1
        top = self.stack[-1] if self.stack else None
        if top is not None and top.node.kind == "map" and top.key is None:
            return self._key(event, top, line)
        path = self._path(top)
        self._refuse_marks(event, path)
        if isinstance(event, yaml.AliasEvent):
            node = Node("broken", None, line)
        elif isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, path, line)
        else:
            node = (
                Node("map", {}, line) if isinstance(event, yaml.MappingStartEvent) else Node("list", [], line)
            )
            if len(self.stack) >= MAX_DEPTH:
                self._problem(event, path, f"is nested more than {MAX_DEPTH} levels deep")
                return False
        self._attach(top, node)
        if node.kind in ("map", "list"):
            self.stack.append(_Open(node, path))
        return True

    def _path(self, top: _Open | None) -> Path:
        if top is None:
            return ()
        return (*top.path, len(top.node.value) if top.key is None else top.key)

    def _attach(self, top: _Open | None, node: Node) -> None:
        if top is None:
            self.root = node
        elif top.node.kind == "list":
            top.node.value.append(node)
        else:
            assert top.key is not None
            # A key that was refused has no place, and of two equal ones the first stays.
            if top.key in top.node.keys:
                top.node.value.setdefault(top.key, node)
            top.key = None

    def _key(self, event: Any, top: _Open, line: int) -> bool:
        if not isinstance(event, yaml.ScalarEvent):
            self._problem(event, top.path, "has a key that is not text; a key is one word or a quoted text")
            # What follows cannot be paired with its key any more.
            return False
        self._refuse_marks(event, (*top.path, event.value))
        plain, key = not event.style, event.value
        fault = text_fault(key)
        if plain and key == "<<":
            self._problem(event, top.path, "merges another mapping with `<<`; write its keys out")
        elif plain and key == "":
            self._problem(event, top.path, "has a key without a name; write one before the colon")
        elif fault:
            self._problem(event, top.path, f"has a key that {fault}")
        elif key in top.node.keys:
            first = top.node.keys[key].line
            self._problem(
                event, (*top.path, key), f"the key stands twice (first on line {first}); keep one of them"
            )
        else:
            top.node.keys[key] = Key(line, plain)
        top.key = key
        return True

    def _scalar(self, event: Any, path: Path, line: int) -> Node:
        fault = text_fault(event.value)
        if fault:
            self._problem(event, path, fault)
            return Node("broken", None, line)
        return Node("plain" if not event.style else "text", event.value, line)

    def _refuse_marks(self, event: Any, path: Path) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._problem(
                event, path, f"points to another part with *{event.anchor}; write that part out here"
            )
        elif event.anchor is not None:
            self._problem(event, path, f"sets the anchor &{event.anchor}; anchors are not read, so remove it")
        if getattr(event, "tag", None) is not None:
            tag = quoted(str(event.tag))
            self._problem(event, path, f"carries the tag {tag}; the standard decides types, so remove it")

    def _problem(self, event: Any, path: Path, message: str) -> None:
        self.problems.add(path, message, line=event.start_mark.line + 1)


def _error_line(error: yaml.YAMLError) -> int | None:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return None if mark is None else int(mark.line) + 1


def _syntax(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    column = f" (column {mark.column + 1})" if mark is not None else ""
    parts = [
        getattr(error, "context", None),
        getattr(error, "problem", None) or getattr(error, "reason", None),
    ]
    said = ": ".join(str(part) for part in parts if part) or "unreadable text"
    return f"is not valid YAML{column}: {' '.join(said.split())}"
