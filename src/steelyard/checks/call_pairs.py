"""Expected calls beside actual ones: which of them fit, with as few comparisons as that takes."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

from steelyard.checks.arguments import FITS, Fit, clearly_differs, fit
from steelyard.model.checks import ExpectedCall
from steelyard.model.trace import Step
from steelyard.rules.values import packed


class Shape(NamedTuple):
    """The names of arguments, and which of them are plain: whole numbers and ASCII texts, whose values say all.

    Two plain values are equal exactly where they are the same. So arguments of one shape can only be equal where the
    plain ones are the same, and are equal where there are no others.
    """

    names: frozenset[str]
    plain: frozenset[str]


Plain = frozenset[tuple[str, int | str]]


def shape_of(args: Any) -> tuple[Shape, Plain] | None:
    """The shape and the plain arguments; None for what is no object."""
    if type(args) is not dict:
        return None
    plain = [
        (name, value)
        for name, value in args.items()
        if type(value) is int or (type(value) is str and value.isascii())
    ]
    names = frozenset(args)
    return Shape(names, names if len(plain) == len(args) else frozenset(map(_first, plain))), frozenset(plain)


_first = itemgetter(0)


class _Tool:
    """The calls of one tool, by what their arguments are at first sight."""

    def __init__(self) -> None:
        self.all: list[int] = []
        self.odd: list[int] = []
        """Those whose arguments are no object or could not be read."""
        self.shapes: dict[Shape, dict[Plain, list[int]]] = {}

    def add(self, place: int, args: Any) -> None:
        self.all.append(place)
        found = shape_of(args)
        if found is None:
            self.odd.append(place)
        else:
            self.shapes.setdefault(found[0], {}).setdefault(found[1], []).append(place)

    def perhaps(self, shape: Shape) -> list[int]:
        """Those that may be equal to arguments of this shape, beside the ones of the very same."""
        return self.odd + [
            place
            for other, calls in self.shapes.items()
            if other.names == shape.names and other.plain != shape.plain
            for places in calls.values()
            for place in places
        ]


class Comparison:
    """The expected calls of a check beside the actual ones; each pair is compared once."""

    def __init__(self, expected: tuple[ExpectedCall, ...], actual: list[Step]) -> None:
        self.expected = expected
        self.actual = actual
        self._fits: dict[tuple[int, int], Fit] = {}
        self._wanted: dict[int, bytes | None] = {}
        self._given: dict[int, bytes | None] = {}

    def fit(self, e: int, a: int) -> Fit:
        known = self._fits.get((e, a))
        if known is None:
            known = FITS if self._is_same(e, a) else fit(self.expected[e], self.actual[a])
            self._fits[e, a] = known
        return known

    def fits(self, e: int, a: int) -> bool:
        # Another tool's call is the common case and needs no sentence about it; another argument is the next one.
        expected, call = self.expected[e], self.actual[a].call
        if call is None or call.name != expected.name:
            return False
        plain = not expected.compare and expected.only is None
        if plain and clearly_differs(expected.args, call.args):
            return False
        return self.fit(e, a).fits

    def fitting(self) -> list[list[int]]:
        """For each expected call the actual ones that fit it, in order. Most are settled without comparing pairs."""
        tools: dict[str, _Tool] = {}
        for a, step in enumerate(self.actual):
            call = step.call
            if call is not None:
                tool = tools.setdefault(call.name, _Tool())
                tool.add(a, call.args if call.args_error is None else None)
        return [
            self._fitting(e, tools[expected.name]) if expected.name in tools else []
            for e, expected in enumerate(self.expected)
        ]

    def _fitting(self, e: int, tool: _Tool) -> list[int]:
        expected = self.expected[e]
        plain = not expected.compare and expected.only is None and expected.by in (None, "any")
        found = shape_of(expected.args) if plain else None
        if found is None:
            return [a for a in tool.all if self.fits(e, a)]
        shape, values = found
        same = tool.shapes.get(shape, {}).get(values, [])
        if shape.plain == shape.names:
            self._fits.update(dict.fromkeys([(e, a) for a in same], FITS))
            perhaps = tool.perhaps(shape)
            return sorted([*same, *(a for a in perhaps if self.fits(e, a))]) if perhaps else same
        return sorted(a for a in (*same, *tool.perhaps(shape)) if self.fits(e, a))

    def _is_same(self, e: int, a: int) -> bool:
        """Whether the call is the expected one to the letter, which is soon seen. False: it may fit all the same."""
        expected, step = self.expected[e], self.actual[a]
        call = step.call
        if call is None or call.name != expected.name or call.args_error is not None:
            return False
        if expected.compare or expected.only is not None or expected.by not in (None, "any", step.role):
            return False
        if e not in self._wanted:
            self._wanted[e] = packed(expected.args) if isinstance(expected.args, dict) else None
        if a not in self._given:
            self._given[a] = packed(call.args)
        wanted = self._wanted[e]
        return wanted is not None and wanted == self._given[a]
