"""GitHub Actions: annotations of what broke, and output in which no text of others is taken for a command.

A runner reads what a step prints. A line that starts with `::`, and `##[` anywhere in a line, is an order to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from steelyard.model.table import ScoreTable
from steelyard.report.failures import NO_RULES, Failure, Rules, failures
from steelyard.report.numbers import plural
from steelyard.report.text import visible
from steelyard.report.view import because

Level = Literal["error", "warning"]
Place = Callable[[str, str], tuple[str, int]]
"""(file, line) of a criterion of a task; an empty file or line 0 where it is not known."""

MOST = 10
"""Annotations of one level that GitHub shows for a step."""
MOST_CHARACTERS = 1000
MOST_TITLE = 200
SUMMARY_BYTES = 1024 * 1024
"""A step summary beyond this is thrown away by GitHub, whole."""
SUMMARY_CUT = (
    "\n\n*The summary ends here: GitHub takes 1 MiB of it for one step. The report files hold all of it.*\n"
)

_COMMAND = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_LINE_ENDS = re.compile(r"[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """One remark on a line of a file; `file` may be empty, `line` 0."""

    level: Level
    title: str
    message: str
    file: str = ""
    line: int = 0


def nowhere(task: str, criterion: str) -> tuple[str, int]:
    """The place of a criterion whose file is not known."""
    return "", 0


def workflow_commands(table: ScoreTable, rules: Rules = NO_RULES, place: Place = nowhere) -> list[str]:
    """Workflow commands, a line each: the decision unless it is PASS, then gates and acceptance criteria that fail or
    stay undecided.

    Failures are errors, what is undecided and the single failures of a passing run are warnings; at most 10 of each,
    the last of which counts those that are left.
    """
    causes = sorted(_by_criterion(table, rules), key=lambda cause: (not cause.gate, -cause.times))
    found: dict[Level, list[Annotation]] = {"error": [], "warning": []}
    if table.exit_code != 0:
        file, _ = place("", "")
        title = f"{table.suite.name}: {table.decision}"
        found["error"].append(Annotation(level="error", title=title, message=because(table), file=file))
    for cause in causes:
        level: Level = "error" if cause.outcome == "fail" and table.exit_code != 0 else "warning"
        found[level].append(_annotation(level, cause, rules, place))
    return [_command(each) for level, each_level in found.items() for each in _capped(level, each_level)]


def _by_criterion(table: ScoreTable, rules: Rules) -> Iterator[Failure]:
    """Causes, those of one criterion in several trials as one."""
    together: dict[tuple[object, ...], list[Failure]] = {}
    for cause in failures(table, rules, most=10**9).shown:
        key = (cause.task, cause.criterion, cause.outcome, cause.what, cause.gate)
        together.setdefault(key, []).append(cause)
    for members in together.values():
        trial = members[0].trial if len(members) == 1 else None
        yield msgspec.structs.replace(members[0], times=len(members), trial=trial)


def _annotation(level: Level, cause: Failure, rules: Rules, place: Place) -> Annotation:
    first = cause.criterion.partition(" +")[0]
    file, line = place(cause.task, first)
    where = cause.task if cause.trial is None else f"{cause.task}#{cause.trial}"
    gate = " (gate)" if cause.gate else ""
    rule = rules.get((cause.task, first), "")
    several = f"in {plural(cause.times, 'trial')}, the first: " if cause.times > 1 else ""
    lines = [f"{cause.what}{gate}", f"rule: {rule}" if rule and rule != cause.what else ""]
    lines.append(f"{several}{cause.reason}" if cause.reason else "")
    if cause.outcome != "fail":
        lines.append("Undecided is no pass: see what kept the verdict from being given.")
    return Annotation(
        level=level,
        title=" ".join(part for part in (where, cause.criterion, cause.outcome) if part),
        message="\n".join(visible(text[:MOST_CHARACTERS]) for text in lines if text),
        file=file,
        line=line,
    )


def _capped(level: Level, found: list[Annotation]) -> list[Annotation]:
    if len(found) <= MOST:
        return found
    left = len(found) - (MOST - 1)
    message = "The step summary and the report files list them."
    more = Annotation(level=level, title=f"and {left:,} more", message=message, file=found[-1].file)
    return [*found[: MOST - 1], more]


def _command(annotation: Annotation) -> str:
    named = {"file": annotation.file, "line": str(annotation.line) if annotation.line else ""}
    named["title"] = visible(annotation.title[:MOST_TITLE])
    properties = ",".join(f"{name}={_property(text)}" for name, text in named.items() if text)
    return f"::{annotation.level} {properties}::{_data(annotation.message)}"


def _data(text: str) -> str:
    """A message as the runner reads it back; `##[` is split, which an older syntax would take for a command."""
    split = text.replace("##[", "# #[")
    return split.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def harmless(text: str) -> str:
    """Text of many lines in which a runner finds no command: `::` at the start of a line becomes `: :`, `##[` `# #[`.

    Every other line break than a newline is written out, since a runner may take it for one.
    """
    lines = _LINE_ENDS.sub(lambda found: visible(found[0]), text)
    return _COMMAND.sub(r"\1: ", lines).replace("##[", "# #[")


def harmless_json(data: bytes) -> bytes:
    """JSON of the same value in which a runner finds no command. A line of JSON never starts with a colon."""
    return data.replace(b"##[", b"\\u0023#[")


def summary(text: str, room: int = SUMMARY_BYTES) -> bytes:
    """Markdown of at most `room` bytes: whole, or whole lines of it and a sentence; empty where not even that fits."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= room:
        return data
    cut = SUMMARY_CUT.encode()
    end = data.rfind(b"\n", 0, max(0, room - len(cut)) + 1)
    return data[:end] + cut if end > 0 else b""
