"""Best matching of two sequences: bipartite (Hopcroft and Karp, 1973) and in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from steelyard.errors import GraderError

MAX_PAIRS = 1_000_000
"""More pairs to compare than this are refused; a thousand expected calls against a thousand actual ones fit."""

Match = dict[int, int]


def adjacency(lefts: int, rights: int, fits: Callable[[int, int], bool]) -> list[list[int]]:
    """For each left, the rights that fit it. Raises `GraderError` (`too_large`) beyond `MAX_PAIRS`."""
    check_size(lefts, rights)
    return [[right for right in range(rights) if fits(left, right)] for left in range(lefts)]


def check_size(lefts: int, rights: int) -> None:
    if lefts * rights > MAX_PAIRS:
        raise GraderError(
            f"{lefts} expected against {rights} actual are too many pairs to compare (at most {MAX_PAIRS}).",
            code="too_large",
        )


def best_matching(fitting: Sequence[Sequence[int]]) -> Match:
    """A largest one-to-one matching, left index to right index; no greedy choice can spoil it."""
    to_right: Match = {}
    to_left: Match = {}
    for left, rights in enumerate(fitting):
        free = next((right for right in rights if right not in to_left), None)
        if free is not None:
            to_right[left], to_left[free] = free, left
    while True:
        layers = _layers(fitting, to_right, to_left)
        if layers is None:
            return to_right
        for left in range(len(fitting)):
            if left not in to_right:
                _augment(left, fitting, layers, to_right, to_left)


def is_subsequence(lefts: int, rights: int, fits: Callable[[int, int], bool]) -> list[int] | None:
    """For each left in order the earliest right that fits it after the one before; None when one has none."""
    chosen: list[int] = []
    start = 0
    for left in range(lefts):
        right = next((r for r in range(start, rights) if fits(left, r)), None)
        if right is None:
            return None
        chosen.append(right)
        start = right + 1
    return chosen


def longest_in_order(fitting: Sequence[Sequence[int]], rights: int) -> int:
    """How many lefts can be matched with rights when both keep their order (longest common subsequence)."""
    lengths = [0] * (rights + 1)
    for row in fitting:
        for right in reversed(row):
            # The best with this pair as the last; lengths[i] is the best among the first i rights.
            candidate = lengths[right] + 1
            position = right + 1
            while position <= rights and lengths[position] < candidate:
                lengths[position] = candidate
                position += 1
    return lengths[rights]


def _layers(fitting: Sequence[Sequence[int]], to_right: Match, to_left: Match) -> dict[int, int] | None:
    """Breadth-first distance of each left from a free one; None when no augmenting path exists."""
    distance = {left: 0 for left in range(len(fitting)) if left not in to_right}
    queue = deque(distance)
    reachable = False
    while queue:
        left = queue.popleft()
        for right in fitting[left]:
            owner = to_left.get(right)
            if owner is None:
                reachable = True
            elif owner not in distance:
                distance[owner] = distance[left] + 1
                queue.append(owner)
    return distance if reachable else None


def _augment(
    root: int, fitting: Sequence[Sequence[int]], distance: dict[int, int], to_right: Match, to_left: Match
) -> None:
    """One augmenting path from `root` along the layers, if there is one. Iterative: paths can be long."""
    path: list[tuple[int, int]] = []
    trail = [(root, iter(fitting[root]))]
    while trail:
        left, rights = trail[-1]
        step = next((r for r in rights if _leads_on(left, r, distance, to_left)), None)
        if step is None:
            distance.pop(left, None)
            trail.pop()
            if path:
                path.pop()
            continue
        path.append((left, step))
        owner = to_left.get(step)
        if owner is None:
            for a, b in path:
                to_right[a], to_left[b] = b, a
            return
        trail.append((owner, iter(fitting[owner])))


def _leads_on(left: int, right: int, distance: dict[int, int], to_left: Match) -> bool:
    owner = to_left.get(right)
    return owner is None or (left in distance and distance.get(owner) == distance[left] + 1)
