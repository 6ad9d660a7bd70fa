"""JSON Schema, fenced: nothing is fetched, and a schema that would take without end is refused."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import jsonschema_rs

from steelyard.checks.show import show
from steelyard.errors import GraderError

MAX_DEPTH = 200
"""The library descends recursively in native code; deeper values are refused before it sees them."""

MAX_UNFOLDED = 1_000_000
"""Sub-schemas to visit for one value when every local reference is followed; nested choices multiply."""

MAX_RECURSIVE_PATHS = 2**24
"""The same for schemas that refer to themselves, over the depth of the value."""

_PATTERN_BYTES = 1 << 20
_CHOICES = ("anyOf", "oneOf", "allOf", "if", "not", "dependentSchemas")


class Schema:
    """A compiled schema. `first_problem` says why a value does not fit, or nothing."""

    def __init__(self, source: Any) -> None:
        """Raises `GraderError` (`bad_schema`, `too_large`)."""
        if not isinstance(source, (Mapping, bool)):
            raise GraderError(f"A JSON Schema is an object or a bool, not {show(source)}.", code="bad_schema")
        if depth_of(source) > MAX_DEPTH:
            raise GraderError(f"The schema is nested more than {MAX_DEPTH} deep.", code="too_large")
        self._loops = _loops_of(source)
        try:
            self._validator = jsonschema_rs.validator_for(
                plain(source),
                offline=True,
                pattern_options=jsonschema_rs.RegexOptions(
                    size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
                ),
            )
        except (ValueError, TypeError, jsonschema_rs.ReferencingError) as problem:
            said = " ".join(str(problem).split())[:200]
            raise GraderError(f"The schema cannot be used: {said}.", code="bad_schema") from None

    def first_problem(self, value: Any) -> str:
        """Why the value does not fit; empty when it does. Raises `GraderError` (`too_large`)."""
        depth = depth_of(value)
        if depth > MAX_DEPTH:
            return f"it is nested more than {MAX_DEPTH} deep"
        if self._loops > 1 and depth * math.log2(self._loops) > math.log2(MAX_RECURSIVE_PATHS):
            raise GraderError(
                "The schema refers to itself in too many ways for so deep a value.", code="too_large"
            )
        try:
            problem = next(iter(self._validator.iter_errors(plain(value))), None)
        except UnicodeError:
            return "it holds a lone surrogate, which is no JSON text"
        except (ValueError, TypeError) as refused:
            return f"it is no JSON value: {str(refused)[:120]}"
        if problem is None:
            return ""
        where = "".join(f"/{part}" for part in problem.instance_path)
        return f"at {where or 'the top'}: {' '.join(problem.message.split())[:200]}"


def depth_of(value: Any) -> int:
    """How deep lists and objects are nested; a plain value has depth 0. Stops counting past `MAX_DEPTH`."""
    level = [value]
    for depth in range(MAX_DEPTH + 2):
        level = [child for node in level for child in _children(node)]
        if not level:
            return depth
    return MAX_DEPTH + 1


def plain(value: Any) -> Any:
    """The same JSON in dicts and lists, with text keys. Call it only on values of bounded depth."""
    if isinstance(value, Mapping):
        return {str(key): plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(child) for child in value]
    return value if not isinstance(value, Decimal) or value.is_finite() else float(value)


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, Mapping):
        return iter(node.values())
    return iter(node) if isinstance(node, (list, tuple)) else iter(())


def _loops_of(schema: Any) -> int:
    """How many references lead back to where they stand, if choices can multiply them; else 0.

    Raises `GraderError` (`too_large`) when following the other references alone unfolds beyond measure.
    """
    counter = _Unfolding(schema)
    if counter.size(schema) > MAX_UNFOLDED:
        raise GraderError("The schema unfolds to more than a million parts.", code="too_large")
    return counter.loops if counter.chooses else 0


class _Unfolding:
    """Counts sub-schemas with every local reference followed, each definition being counted once and remembered."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[str, int] = {}
        self._open: set[str] = {"#"}
        self.loops = 0
        self.chooses = False

    def size(self, node: Any) -> int:
        total = 1
        if isinstance(node, Mapping):
            self.chooses = self.chooses or any(word in node for word in _CHOICES)
            reference = node.get("$ref", node.get("$dynamicRef"))
            if isinstance(reference, str) and reference.startswith("#"):
                total += self._referred(reference)
            # Definitions count where they are used.
            total += sum(
                self.size(child) for key, child in node.items() if key not in ("$defs", "definitions")
            )
        elif isinstance(node, (list, tuple)):
            total += sum(self.size(child) for child in node)
        return total

    def _referred(self, reference: str) -> int:
        if reference in self._open:
            self.loops += 1
            return 1
        if reference not in self._known:
            self._open.add(reference)
            self._known[reference] = self.size(_target(self._root, reference))
            self._open.discard(reference)
        return self._known[reference]


def _target(root: Any, reference: str) -> Any:
    node = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, (list, tuple)) and key.isdecimal() and len(key) < 6 and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


class _Compiled:
    """The last schemas compiled. Keyed by identity: a suite's schema is one object for all its trials."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: OrderedDict[int, tuple[Any, Schema]] = OrderedDict()

    def compiled(self, source: Any) -> Schema:
        known = self._known.get(id(source))
        if known is not None and known[0] is source:
            return known[1]
        schema = Schema(source)
        self._known[id(source)] = (source, schema)
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        return schema


_SCHEMAS = _Compiled(128)


def compiled(source: Any) -> Schema:
    """The compiled schema, the last ones of which are remembered. Raises `GraderError` as `Schema` does."""
    return _SCHEMAS.compiled(source)
