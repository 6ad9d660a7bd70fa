"""What is wrong with a standard, collected: a person gets the whole list, each with its line and its mend."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from steelyard.errors import StandardError

Path = tuple[str | int, ...]
MAX_PROBLEMS = 200


class Problem(NamedTuple):
    """One finding. `line` is known to readers while they read; later it is looked up by `path`."""

    path: Path
    message: str
    line: int | None
    row: str | None


class Problems:
    """Collects findings; `row` names the table row that a generated task came from."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self._rows: dict[tuple[Path, str, int | None], int] = {}

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(self, path: Path, message: str, *, line: int | None = None, row: str | None = None) -> None:
        """The same finding in a thousand rows of a table is one finding with a count."""
        key = (path, message, line)
        seen = self._rows.get(key, 0)
        self._rows[key] = seen + 1
        if not seen:
            self.found.append(Problem(path, message, line, row))

    def sentences(self, name: str, locate: Callable[[Path], int]) -> list[str]:
        """One sentence each, in the order of the file."""
        placed = [(p.line if p.line is not None else locate(p.path), p) for p in self.found]
        placed.sort(key=lambda pair: pair[0])
        return [self._sentence(name, line, problem) for line, problem in placed]

    def _sentence(self, name: str, line: int, problem: Problem) -> str:
        message = problem.message
        repeats = self._rows[(problem.path, problem.message, problem.line)] - 1
        if problem.row:
            others = f" and {repeats} more row{'s' if repeats > 1 else ''}" if repeats else ""
            message = f"{message} ({problem.row}{others})"
        return sentence(name, line, problem.path, message)

    def raise_if_any(self, name: str, locate: Callable[[Path], int]) -> None:
        """Raise `StandardError` with every finding, or the first 200 and a count of the rest."""
        if not self.found:
            return
        sentences = self.sentences(name, locate)
        if len(sentences) > MAX_PROBLEMS:
            rest = len(sentences) - MAX_PROBLEMS
            sentences = [*sentences[:MAX_PROBLEMS], f"{name}: and {rest} more problems; mend these first"]
        raise StandardError(sentences)


def sentence(name: str, line: int, path: Path, message: str) -> str:
    """`file:line: tasks[2].criteria[0].dimention: unknown key; did you mean 'dimension'?`"""
    where = f"{name}:{line}" if line else name
    shown = show_path(path)
    return f"{where}: {shown}: {message}" if shown else f"{where}: {message}"


def show_path(path: Path) -> str:
    """`tasks[2].criteria[0].rule`."""
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        else:
            shown += f".{step}" if shown else step
    return shown


def quoted(text: str, limit: int = 60) -> str:
    """A text in quotes on one line, cut where it is long."""
    short = text if len(text) <= limit else text[: limit - 3] + "..."
    return repr(short)


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or what is known when nothing is near, or nothing when nothing is known."""
    names = list(dict.fromkeys(known))
    near = closest(word, names)
    if near is not None:
        return f"; did you mean {near!r}?"
    if not names:
        return ""
    shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"; known here: {shown}"


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is near enough to be a slip of the pen."""
    short = word[:100]
    names = [name for name in known if len(name) <= 200][:2000]
    folded = {name.casefold().replace("-", "_"): name for name in reversed(names)}
    same = folded.get(short.casefold().replace("-", "_").strip())
    if same is not None:
        return same
    near = difflib.get_close_matches(short, names, n=1, cutoff=0.6)
    if near:
        return near[0]
    begun = [name for name in names if len(short) >= 3 and name.startswith(short)]
    return begun[0] if len(begun) == 1 else None
