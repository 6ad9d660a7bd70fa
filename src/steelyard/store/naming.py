"""Names of runs: readable, in a row per day, never used twice in a store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from steelyard.errors import UsageError

LATEST = "latest"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def is_name(text: str) -> bool:
    """Whether a run may be called so: 1 to 100 letters, digits, dots, hyphens, underscores; not `latest`."""
    return _NAME.fullmatch(text) is not None and text != LATEST


def next_name(created: str, taken: Sequence[tuple[int, str]]) -> str:
    """`2026-11-30-2` for the second grading of the day that an ISO 8601 time begins with."""
    day = created[:10] if re.fullmatch(r"\d{4}-\d\d-\d\d", created[:10], re.A) else "run"
    counted = re.compile(re.escape(day) + r"-([0-9]{1,9})")
    numbers = [int(matched[1]) for _, name in taken if (matched := counted.fullmatch(name))]
    return f"{day}-{max(numbers, default=0) + 1}"


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """`wanted`, or with `-imported`, `-imported-2`, ... where another run has that name."""
    names = set(taken)
    found, number = wanted, 1
    while found in names:
        found = f"{wanted}-imported" if number == 1 else f"{wanted}-imported-{number}"
        number += 1
    return found


def choose(gradings: Sequence[tuple[int, str]], wanted: str) -> int:
    """The id of the grading that is meant: its name, the only one that begins so, or `latest`.

    UsageError when there is none or several, with the names that are likely.
    """
    if not gradings:
        raise UsageError("the store holds no run yet; `steelyard grade SUITE TRACES` makes one")
    if wanted == LATEST:
        return gradings[-1][0]
    exact = [id for id, name in gradings if name == wanted]
    if exact:
        return exact[0]
    begin = [(id, name) for id, name in gradings if wanted and name.startswith(wanted)]
    if len(begin) == 1:
        return begin[0][0]
    if begin:
        shown = ", ".join(name for _, name in begin[-8:])
        raise UsageError(
            f"{len(begin)} runs begin with {wanted!r} ({shown}); write the whole name, or `latest`"
        )
    names = [name for _, name in gradings]
    near = get_close_matches(wanted, names, n=1, cutoff=0.7)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"there is no run {wanted!r}; {hint}the last ones are {', '.join(names[:-6:-1])}")
