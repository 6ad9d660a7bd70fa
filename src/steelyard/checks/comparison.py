"""One comparison for every state: a list of differences, empty exactly when the two values are equal.

The verdict is whether the list is empty, and what is printed is the list, so that the two cannot disagree. Lists are
multisets unless declared ordered; numbers may be near. Everything else is JSON equality.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, Literal

import msgspec

from steelyard.checks.equality import json_equal, json_type, nfc
from steelyard.checks.matching import MAX_PAIRS, adjacency, best_matching
from steelyard.checks.numbers import exact
from steelyard.checks.show import show
from steelyard.errors import GraderError

Path = tuple[str | int, ...]
Patterns = tuple[tuple[str, ...], ...]
ANY = "*"

MAX_DIFFERENCES = 100
"""More are not looked for: nobody reads them."""

_PAIRED = 40
"""Up to this many rows without a partner on each side are paired by likeness, to say where they differ."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One place where the found value is not the expected one.

    `value`: another value; `missing` and `unexpected`: a member or element; `order`: a list with the same elements in
    another order. `path`: keys, and positions in the found list.
    """

    kind: Literal["value", "missing", "unexpected", "order"]
    path: Path = ()
    found: Any = None
    expected: Any = None
    element: bool = False
    """What is missing or not expected is an element of the list at `path`."""


def differences(
    found: Any,
    expected: Any,
    *,
    ordered: bool = False,
    ordered_at: Sequence[Sequence[str]] = (),
    abs_tol: Fraction = Fraction(0),
    key: Sequence[str] = (),
) -> list[Difference]:
    """Where `found` differs from `expected`: the first hundred places, none when they are equal.

    `ordered`: every list is compared in order; `ordered_at`: those whose path fits (`*` is any one step). `key`:
    members by which rows without a partner are paired, for what is said alone. Raises `GraderError` (`too_large`)
    when near numbers make too many pairs to compare; `RecursionError` for values nested without measure.
    """
    comparison = _Comparison(ordered, abs_tol, tuple(key))
    patterns = tuple(tuple(pattern) for pattern in ordered_at)
    return list(islice(comparison.differences(found, expected, (), patterns), MAX_DIFFERENCES))


class _Comparison:
    def __init__(self, ordered: bool, abs_tol: Fraction, key: tuple[str, ...]) -> None:
        self._ordered = ordered
        self._abs_tol = abs_tol
        self._key = key
        self._pairs = 0

    def differences(self, found: Any, expected: Any, path: Path, patterns: Patterns) -> Iterator[Difference]:
        kind = json_type(found)
        if kind != json_type(expected) or kind not in ("object", "list"):
            if not self._leaf_equal(found, expected):
                yield Difference(kind="value", path=path, found=found, expected=expected)
        elif kind == "object":
            yield from self._members(found, expected, path, patterns)
        elif self._is_ordered(patterns):
            yield from self._in_order(found, expected, path, patterns)
        else:
            yield from self._in_any_order(found, expected, path, patterns)

    def equal(self, found: Any, expected: Any, patterns: Patterns) -> bool:
        """Whether there are no differences, without looking for them: that would double the work at every level."""
        if not self._abs_tol:
            return bool(self._form(found, patterns) == self._form(expected, patterns))
        kind = json_type(found)
        if kind != json_type(expected) or kind not in ("object", "list"):
            return self._leaf_equal(found, expected)
        if kind == "object":
            return found.keys() == expected.keys() and all(
                self.equal(found[name], expected[name], _below(patterns, name)) for name in expected
            )
        if len(found) != len(expected):
            return False
        if self._is_ordered(patterns):
            return all(
                self.equal(left, right, _below(patterns, str(index)))
                for index, (left, right) in enumerate(zip(found, expected, strict=True))
            )
        return not self._unmatched_near(found, expected, _below(patterns, ANY))[0]

    def _is_ordered(self, patterns: Patterns) -> bool:
        return self._ordered or () in patterns

    def _leaf_equal(self, found: Any, expected: Any) -> bool:
        if self._abs_tol:
            left, right = exact(found), exact(expected)
            if left is not None and right is not None:
                return abs(left - right) <= self._abs_tol
        return json_equal(found, expected)

    def _members(
        self, found: Mapping[str, Any], expected: Mapping[str, Any], path: Path, patterns: Patterns
    ) -> Iterator[Difference]:
        for name, value in expected.items():
            where = (*path, name)
            if name in found:
                yield from self.differences(found[name], value, where, _below(patterns, name))
            else:
                yield Difference(kind="missing", path=where, expected=value)
        for name, value in found.items():
            if name not in expected:
                yield Difference(kind="unexpected", path=(*path, name), found=value)

    def _in_order(
        self, found: Sequence[Any], expected: Sequence[Any], path: Path, patterns: Patterns
    ) -> Iterator[Difference]:
        unequal = [
            index
            for index, (left, right) in enumerate(zip(found, expected, strict=False))
            if not self.equal(left, right, _below(patterns, str(index)))
        ]
        if unequal and len(found) == len(expected) and self._same_elements(found, expected, patterns):
            yield Difference(kind="order", path=path, found=found, expected=expected)
            return
        for index in unequal:
            below = _below(patterns, str(index))
            yield from self.differences(found[index], expected[index], (*path, index), below)
        yield from _elements("missing", path, expected[len(found) :])
        yield from _elements("unexpected", path, found[len(expected) :])

    def _same_elements(self, found: Sequence[Any], expected: Sequence[Any], patterns: Patterns) -> bool:
        lacking, extra = self._unmatched(found, expected, _below(patterns, ANY))
        return not lacking and not extra

    def _in_any_order(
        self, found: Sequence[Any], expected: Sequence[Any], path: Path, patterns: Patterns
    ) -> Iterator[Difference]:
        below = _below(patterns, ANY)
        lacking, extra = self._unmatched(found, expected, below)
        pairs = self._likely_pairs(found, expected, lacking, extra, below)
        for right, left in pairs.items():
            yield from self.differences(found[left], expected[right], (*path, left), below)
        yield from _elements("missing", path, [expected[i] for i in lacking if i not in pairs])
        taken = set(pairs.values())
        yield from _elements("unexpected", path, [found[i] for i in extra if i not in taken])

    def _unmatched(
        self, found: Sequence[Any], expected: Sequence[Any], below: Patterns
    ) -> tuple[list[int], list[int]]:
        """Positions without a partner (expected, found) in a best one-to-one matching of equal elements."""
        if self._abs_tol:
            return self._unmatched_near(found, expected, below)
        waiting: dict[Any, list[int]] = {}
        for index, element in enumerate(expected):
            waiting.setdefault(self._form(element, below), []).append(index)
        for positions in waiting.values():
            positions.reverse()
        extra = []
        for index, element in enumerate(found):
            partners = waiting.get(self._form(element, below))
            if partners:
                partners.pop()
            else:
                extra.append(index)
        return sorted(index for positions in waiting.values() for index in positions), extra

    def _unmatched_near(
        self, found: Sequence[Any], expected: Sequence[Any], below: Patterns
    ) -> tuple[list[int], list[int]]:
        # Nearness is not transitive, so that equal elements must not be taken out first.
        self._pairs += len(found) * len(expected)
        if self._pairs > MAX_PAIRS:
            raise GraderError(
                f"Lists with more than {MAX_PAIRS} pairs to compare; state no tolerance, or an order.",
                code="too_large",
            )
        fitting = adjacency(
            len(expected), len(found), lambda right, left: self.equal(found[left], expected[right], below)
        )
        matching = best_matching(fitting)
        taken = set(matching.values())
        lacking = [index for index in range(len(expected)) if index not in matching]
        return lacking, [index for index in range(len(found)) if index not in taken]

    def _form(self, value: Any, patterns: Patterns) -> Any:
        """A hashable that is equal for equal values, and for those alone."""
        kind = json_type(value)
        if kind == "object":
            members = ((name, self._form(child, _below(patterns, name))) for name, child in value.items())
            return "object", frozenset(members)
        if kind == "list" and self._is_ordered(patterns):
            return "list", tuple(
                self._form(child, _below(patterns, str(index))) for index, child in enumerate(value)
            )
        if kind == "list":
            below = _below(patterns, ANY)
            return "list", frozenset(Counter(self._form(child, below) for child in value).items())
        if kind == "number":
            number = value if isinstance(value, int) else exact(value)
            # A number of absurd size is equal to itself alone.
            return kind, (str(value) if number is None else number)
        if kind == "text":
            return kind, nfc(value)
        return kind, (value if kind is not None else object())

    def _likely_pairs(
        self,
        found: Sequence[Any],
        expected: Sequence[Any],
        lacking: Sequence[int],
        extra: Sequence[int],
        below: Patterns,
    ) -> dict[int, int]:
        """Expected position to found position, for rows that are meant to be the same: by key, else by likeness."""
        if self._key:
            return self._pairs_by_key(found, expected, lacking, extra, below)
        pairs: dict[int, int] = {}
        free = list(extra)
        if max(len(lacking), len(extra)) > _PAIRED:
            return pairs
        for right in lacking:
            likeness = {left: self._likeness(found[left], expected[right], below) for left in free}
            left = max(free, key=likeness.__getitem__, default=-1)
            if left >= 0 and likeness[left] >= 0.5:
                pairs[right] = left
                free.remove(left)
        rest = [right for right in lacking if right not in pairs]
        if len(rest) == len(free) == 1:
            kinds = json_type(found[free[0]]), json_type(expected[rest[0]])
            if kinds in (("object", "object"), ("list", "list")):
                pairs[rest[0]] = free[0]
        return pairs

    def _pairs_by_key(
        self,
        found: Sequence[Any],
        expected: Sequence[Any],
        lacking: Sequence[int],
        extra: Sequence[int],
        below: Patterns,
    ) -> dict[int, int]:
        waiting: dict[Any, list[int]] = {}
        for left in reversed(extra):
            waiting.setdefault(self._key_of(found[left], below), []).append(left)
        pairs: dict[int, int] = {}
        for right in lacking:
            named = self._key_of(expected[right], below)
            if named is not None and waiting.get(named):
                pairs[right] = waiting[named].pop()
        return pairs

    def _key_of(self, row: Any, below: Patterns) -> Any:
        if json_type(row) != "object" or any(name not in row for name in self._key):
            return None
        return tuple(self._form(row[name], _below(below, name)) for name in self._key)

    def _likeness(self, found: Any, expected: Any, below: Patterns) -> float:
        if json_type(found) != "object" or json_type(expected) != "object":
            return 0.0
        names = found.keys() | expected.keys()
        same = sum(
            name in found
            and name in expected
            and self.equal(found[name], expected[name], _below(below, name))
            for name in names
        )
        return same / len(names) if names else 0.0


def _below(patterns: Patterns, step: str) -> Patterns:
    """What is left of the patterns after one step down."""
    if not patterns:
        return patterns
    return tuple(pattern[1:] for pattern in patterns if pattern and pattern[0] in (ANY, step))


def _elements(
    kind: Literal["missing", "unexpected"], path: Path, elements: Sequence[Any]
) -> Iterator[Difference]:
    for element in elements:
        found, expected = (None, element) if kind == "missing" else (element, None)
        yield Difference(kind=kind, path=path, found=found, expected=expected, element=True)


def said(found: Sequence[Difference], root: str, *, rows: bool = False, most: int = 5) -> str:
    """The differences as one sentence. `root` names the whole; `rows`: it is a table, and its elements are rows."""
    shown = "; ".join(_sentence(difference, root, rows) for difference in found[:most])
    if len(found) <= most:
        return shown
    more = "many" if len(found) >= MAX_DIFFERENCES else str(len(found) - most)
    return f"{shown}; and {more} more"


def _sentence(difference: Difference, root: str, rows: bool) -> str:
    where = _where(difference.path, root, rows)
    if difference.kind == "order":
        return f"{where}: same rows, other order"
    if difference.kind == "value":
        return f"{where} is {show(difference.found)}, expected {show(difference.expected)}"
    noun = "the row " if rows and not difference.path else ""
    if difference.kind == "missing":
        lacks = f"{where} lacks {noun}{show(difference.expected, 160)}"
        return lacks if difference.element else f"{where} is missing, expected {show(difference.expected)}"
    if difference.element:
        return f"{where} has {noun}{show(difference.found, 160)}, which is not expected"
    return f"{where} is {show(difference.found)}, and nothing is expected there"


def _where(path: Path, root: str, rows: bool) -> str:
    if rows and path and isinstance(path[0], int):
        steps = path[1:]
        return f"row {path[0] + 1}" + (f", {'/'.join(str(step) for step in steps)}," if steps else "")
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
    return f"{root} at {pointer}" if pointer else root
