"""What the reader of a run should know about the traces, told once a kind: the first of it and how many more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from steelyard.grading.recorded import MOST_NAMED
from steelyard.model.checks import RuleCheck
from steelyard.model.standard import Suite
from steelyard.model.table import ScoreNotice


class Told:
    """Notices by code: the first detail, and a count."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._times: Counter[str] = Counter()

    def add(self, code: str, detail: str) -> None:
        self._first.setdefault(code, detail)
        self._times[code] += 1

    def notices(self) -> Iterator[ScoreNotice]:
        for code, detail in sorted(self._first.items()):
            more = self._times[code] - 1
            yield ScoreNotice(code=code, detail=detail + (f" (and {more} more)" if more else ""))


def exact_tools(suite: Suite) -> dict[str, str]:
    """Tools that rules name exactly, each with the first criterion that does."""
    found: dict[str, str] = {}
    for task in suite.tasks:
        for criterion in task.criteria:
            if isinstance(criterion.check, RuleCheck) and not criterion.check.rule.glob:
                for tool in criterion.check.rule.tool:
                    found.setdefault(tool, f"{task.id}/{criterion.id}")
    return found


def strange_tools(named: dict[str, str], called: set[str]) -> Iterator[ScoreNotice]:
    """A rule on a tool that nobody calls, named almost like one that is called, may be a slip of the pen."""
    for tool, where in named.items():
        close = get_close_matches(tool, called - {tool}, n=1, cutoff=0.8) if tool not in called else []
        if close:
            which = f"{where} is about the tool {tool!r}, which no recording calls"
            yield ScoreNotice(code="unknown_tool", detail=f"{which}; did you mean {close[0]!r}?")


class Unmatched:
    """Traces that belong to no task, by the task that they name (empty: none)."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, name: str, where: str) -> None:
        self.times[name] += 1
        self._first.setdefault(name, where)

    def notices(self, ids: Iterable[str]) -> Iterator[ScoreNotice]:
        known = list(ids) if self.times else []
        for name, count in sorted(self.times.items())[:MOST_NAMED]:
            several = f"{count} traces" if count > 1 else "1 trace"
            close = get_close_matches(name, known, n=1) if name else []
            hint = f"; did you mean {close[0]!r}?" if close else ""
            whose = f"name the task {name!r}, which" if name else "name no task, and their first user message"
            detail = (
                f"{several} (first: {self._first[name]}) {whose} is not in the standard; not graded{hint}"
            )
            yield ScoreNotice(code="unmatched_trace", detail=detail)
        if len(self.times) > MOST_NAMED:
            detail = f"and {len(self.times) - MOST_NAMED} more task ids"
            yield ScoreNotice(code="unmatched_trace", detail=detail)
