"""What is the same for every trial of a criterion: its grader, who that is in a verdict, its time limit, its key."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from steelyard.grading.address import Asked, asked_of
from steelyard.model.checks import Check, LaterCheck, PythonCheck
from steelyard.model.standard import Criterion
from steelyard.model.verdict import GraderRef
from steelyard.ports.grader import Grader

GraderFor = Callable[[Check | LaterCheck], Grader]
MOST_HELD = 4_096
"""Criteria whose route is held; beyond, all are made anew."""


class Route(NamedTuple):
    """How a criterion is graded. `asked` null: no key is wanted, or the criterion cannot be addressed."""

    criterion: Criterion
    grader: Grader
    ref: GraderRef
    seconds: float
    asked: Asked | None


class Routes:
    """Routes by criterion. Those of scripts are looked up for every trial, since the file may change meanwhile."""

    def __init__(self, grader_for: GraderFor, *, seconds: float, keyed: bool) -> None:
        self.grader_for = grader_for
        self.seconds = seconds
        self.keyed = keyed
        self._held: dict[int, Route] = {}
        self._refs: dict[tuple[str, str], GraderRef] = {}

    def __call__(self, criterion: Criterion) -> Route:
        """The route. GraderError where there is no grader for the check."""
        held = self._held.get(id(criterion))
        if held is not None and held.criterion is criterion:
            return held
        route = self._route(criterion)
        if not isinstance(criterion.check, PythonCheck):
            if len(self._held) >= MOST_HELD:
                self._held.clear()
            self._held[id(criterion)] = route
        return route

    def _route(self, criterion: Criterion) -> Route:
        assert criterion.check is not None  # a criterion without check or judge does not load
        grader = self.grader_for(criterion.check)
        limit = max(self.seconds, getattr(grader, "seconds", None) or 0.0)
        named = grader.kind, grader.version
        ref = self._refs.get(named)
        if ref is None:
            ref = self._refs[named] = GraderRef(kind=f"check:{named[0]}", version=named[1])
        return Route(criterion, grader, ref, limit, self._asked(grader, criterion) if self.keyed else None)

    @staticmethod
    def _asked(grader: Grader, criterion: Criterion) -> Asked | None:
        try:
            return asked_of(grader, criterion)
        except Exception:  # noqa: BLE001 absurd depth, a broken grader: grading it says what is wrong
            return None
