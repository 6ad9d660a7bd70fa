"""Advice on how a standard is written. Findings are notices: a suite with every one of them is still valid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from steelyard.model.checks import ExprCheck, LaterCheck
from steelyard.model.standard import LAYERS, Criterion, Task
from steelyard.standards.expressions import reads_extracted
from steelyard.standards.problems import Path, quoted, sentence
from steelyard.standards.suites import Built, Stands

_MODAL = re.compile(r"\b(?:MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED|MAY|OPTIONAL)\b")
_COMPOUND = re.compile(r"\b(?:MUST|SHALL)\b.*?\b(?:and|AND)\b.*?\b(?:MUST|SHALL)\b", re.DOTALL)
_QUALITY = re.compile(
    r"\b(?:good|better|best|nice|appropriate(?:ly)?|proper(?:ly)?|suitable|reasonable|high[- ]quality|helpful|"
    r"professional(?:ly)?|should understand)\b",
    re.IGNORECASE,
)
_SHOWN = 3
FILL_IN = b"FILL IN"
_Finding = tuple[str, Path, str]
"""A message that is the same for every place where it applies, the place, and what stands there."""


def notices(
    built: Built, name: str, locate: Callable[[Path], int], *, unfilled: bool = True
) -> tuple[str, ...]:
    """One sentence per finding; the same finding in many places is one sentence with the first few of them.

    `unfilled`: FILL IN may stand somewhere.
    """
    grouped: dict[str, _Places] = {}
    for message, path, what in _findings(built, unfilled):
        places = grouped.get(message)
        if places is None:
            places = grouped[message] = _Places()
        places.add(path, what)
    said: list[str] = []
    for message, places in grouped.items():
        path, what = places.first[0]
        others = ", ".join(dict.fromkeys(other for _, other in places.first[1:] if other))
        more = places.count - _SHOWN
        tail = f" (also {others}{f' and {more} more' if more > 0 else ''})" if others else ""
        said.append(sentence(name, locate(path), path, f"{f'{what}: ' if what else ''}{message}{tail}"))
    return tuple(said)


class _Places:
    """Where a finding stands: the first few, and how often."""

    def __init__(self) -> None:
        self.first: list[tuple[Path, str]] = []
        self.count = 0

    def add(self, path: Path, what: str) -> None:
        self.count += 1
        if len(self.first) < _SHOWN:
            self.first.append((path, what))


def _findings(built: Built, unfilled: bool) -> Iterator[_Finding]:
    yield from _unused(built)
    seen: set[str] = set()
    worded: dict[str, tuple[str, ...]] = {}
    for placed, task in zip(built.places, built.suite.tasks, strict=True):
        yield from _task(task, placed.path)
        for criterion in task.criteria:
            wording = worded.get(criterion.rule)
            if wording is None:
                wording = worded[criterion.rule] = tuple(_wording(criterion))
            grading = _grading(criterion, unfilled)
            if not (wording or grading):
                continue
            path: Path = (*placed.path, "criteria", _position(placed, task, criterion.id))
            what = f"{task.id}/{criterion.id}"
            for message in grading:
                yield message, path, what
            if criterion.rubric is not None:
                if criterion.rubric in seen:
                    continue
                seen.add(criterion.rubric)
                path, what = ("rubrics", criterion.rubric), criterion.rubric
            for message in wording:
                yield message, path, what


def _position(placed: Stands, task: Task, criterion: str) -> int:
    """Where the criterion stands in its task in the file: by its own id, else by the rubric that it uses."""
    if placed.file is None:
        return next(i for i, one in enumerate(task.criteria) if one.id == criterion)
    own = [i for i, file in enumerate(placed.file.criteria) if file.id == criterion]
    used = [i for i, file in enumerate(placed.file.criteria) if file.use == criterion]
    return own[-1] if own else used[-1] if used else 0


def _unused(built: Built) -> Iterator[_Finding]:
    suite = built.suite
    for name in built.unused_rubrics:
        yield "no task uses this rubric", ("rubrics", name), name
    used = {criterion.dimension for task in suite.tasks for criterion in task.criteria}
    for name in suite.dimensions:
        if name not in used:
            yield "no task has a criterion of this dimension", ("dimensions", name), name
    for key in ("branches", "composite", "judges"):
        if getattr(suite, key):
            yield f"`{key}` is read and checked, but this version does not use it yet", (key,), ""
    if suite.weights is not None:
        values = {task.tags.get(suite.weights.by) for task in suite.tasks}
        for value in suite.weights.shares:
            if value not in values:
                yield (
                    "no task has this value, so its share goes to the others",
                    ("weights", "shares", value),
                    "",
                )


def _task(task: Task, path: Path) -> Iterator[_Finding]:
    present = {criterion.layer for criterion in task.criteria}
    lacking = [layer for layer in LAYERS if layer not in present and layer not in task.layers]
    if lacking:
        yield f"no criterion and no reason under `layers` for {', '.join(lacking)}", path, task.id


def _grading(criterion: Criterion, unfilled: bool) -> list[str]:
    check, found = criterion.check, []
    if criterion.judge is not None and (check is None or criterion.judge.extract):
        found.append("judges are not asked yet in this version; give their verdicts as recorded rows")
    if unfilled and FILL_IN in msgspec.json.encode(check, enc_hook=str):
        found.append("FILL IN stands in the check; say what a right answer holds")
    if isinstance(check, LaterCheck):
        found.append(
            f"`{check.kind}` checks are not graded yet in this version, so the verdict will be an error"
        )
    if (
        isinstance(check, ExprCheck)
        and reads_extracted(check)
        and not (criterion.judge and criterion.judge.extract)
    ):
        found.append("reads an extracted value, but no judge extracts one: `judge: {extract: {...}}`")
    if criterion.gate and criterion.failure_tag is None:
        found.append("a gate without a failure tag; name the failure with `failure_tag`")
    return found


def _wording(criterion: Criterion) -> Iterable[str]:
    if not _MODAL.search(criterion.rule):
        yield "the rule has no word that binds (MUST, MUST NOT, SHOULD, ...)"
    if _COMPOUND.search(criterion.rule):
        yield "the rule demands two things; two criteria say which one failed"
    quality = _QUALITY.search(criterion.rule)
    if quality:
        yield f"the rule rests on {quoted(quality[0].lower())}, which graders read differently; say what can be seen"
