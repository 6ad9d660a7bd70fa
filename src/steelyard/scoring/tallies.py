"""Plain counts over the cells: gates, verdict states, faults, graders, measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from steelyard.model.columns import ERROR, GRADED
from steelyard.scoring.cells import NO_ROW, STATUS_WORDS, Cells
from steelyard.scoring.plan import Bools


class GateStates(msgspec.Struct, frozen=True, kw_only=True):
    """Gates of one group (a dimension or a layer) over counted trials.

    `violated` are graded below their mark, `undecided` are no pass for another reason; `trials` have one, `violations`
    are trials with one violated, `open` those with one undecided and none violated.
    """

    violated: int
    undecided: int
    trials: int
    violations: int
    open: int


def gate_states(cells: Cells, group_of: npt.NDArray[np.int32], n_groups: int) -> list[GateStates]:
    """Of each group, where `group_of` is the group of each cell."""
    m = len(cells.layout.task)
    gates = cells.gate & cells.counted
    if not gates.any():
        nothing = GateStates(violated=0, undecided=0, trials=0, violations=0, open=0)
        return [nothing] * n_groups
    violated = gates & (cells.status == GRADED) & ~cells.passed
    undecided = gates & ~cells.passed & ~violated
    found = []
    for place in range(n_groups):
        own = group_of == place
        bad, missing = _in_trials(cells, own & violated, m), _in_trials(cells, own & undecided, m)
        found.append(
            GateStates(
                violated=int((own & violated).sum()),
                undecided=int((own & undecided).sum()),
                trials=int(_in_trials(cells, own & gates, m).sum()),
                violations=int(bad.sum()),
                open=int((missing & ~bad).sum()),
            )
        )
    return found


def _in_trials(cells: Cells, chosen: Bools, m: int) -> Bools:
    found: Bools = np.bincount(cells.trial[chosen], minlength=m) > 0
    return found


def states(cells: Cells) -> dict[str, int]:
    """Verdicts of counted trials by status; a missing row is an error."""
    times = np.bincount(cells.status[cells.counted], minlength=len(STATUS_WORDS)).tolist()
    return dict(zip(STATUS_WORDS, times, strict=True))


def fault_counts(cells: Cells) -> dict[str, int]:
    """Trials that ended by an infrastructure or simulator fault; they are in no mean."""
    ended = Counter(cells.layout.ended.tolist())
    names = cells.layout.endings
    times = {names[code]: count for code, count in ended.items() if code >= 0}
    return {
        "infrastructure": times.get("infrastructure_fault", 0),
        "simulator": times.get("simulator_fault", 0),
    }


def graders(cells: Cells) -> tuple[dict[str, int], int]:
    """Verdicts of counted trials by kind of grader, and how many a model gave, which is machine labelling.

    Errors are in no kind; rows that do not say are `unnamed`.
    """
    kinds = cells.placed.read.kinds
    known = cells.counted & (cells.given != NO_ROW) & (cells.kind >= 0)
    given = np.bincount(cells.kind[known & (cells.given != ERROR)], minlength=len(kinds)).tolist()
    every = np.bincount(cells.kind[known], minlength=len(kinds)).tolist()
    found: Counter[str] = Counter()
    for names, times in zip(kinds, given, strict=True):
        for name in names or ("unnamed",):
            found[name] += times
    judged = sum(times for names, times in zip(kinds, every, strict=True) if "judge" in names)
    return {name: times for name, times in sorted(found.items()) if times}, judged


def stated(cells: Cells) -> Iterator[tuple[str, list[float]]]:
    """Each measurement's values, sorted, over the counted trials that state it, by name."""
    read, layout = cells.placed.read, cells.layout
    used = np.zeros(len(read.trial_task), dtype=np.bool_)
    used[layout.row[layout.counted & (layout.row >= 0)]] = True
    chosen = np.flatnonzero(used[read.measured])
    order = np.lexsort((read.value[chosen], read.measure[chosen]))
    names, values = read.measure[chosen][order], read.value[chosen][order]
    starts = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1]))) if len(names) else names
    bounds = [*starts.tolist(), len(names)]
    groups = {read.measures[names[start]]: (start, stop) for start, stop in pairwise(bounds)}
    for name, (start, stop) in sorted(groups.items()):
        yield name, values[start:stop].tolist()


def median_of(values: Sequence[float]) -> float:
    """The middle of sorted values, or the mean of the two in the middle."""
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
