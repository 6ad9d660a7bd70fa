"""Advice on how a standard is written. Findings are notices: a suite with every one of them is still valid."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from steelyard.model.checks import ExprCheck, LaterCheck
from steelyard.model.standard import LAYERS, Criterion, Task
from steelyard.standards.expressions import reads_extracted
from steelyard.standards.problems import Path, quoted, sentence
from steelyard.standards.suites import Built

_MODAL = re.compile(r"\b(?:MUST|SHALL|SHOULD|REQUIRED|RECOMMENDED|MAY|OPTIONAL)\b")
_COMPOUND = re.compile(r"\b(?:MUST|SHALL)\b.*?\b(?:and|AND)\b.*?\b(?:MUST|SHALL)\b", re.DOTALL)
_QUALITY = re.compile(
    r"\b(?:good|better|best|nice|appropriate(?:ly)?|proper(?:ly)?|suitable|reasonable|high[- ]quality|helpful|"
    r"professional(?:ly)?|should understand)\b",
    re.IGNORECASE,
)
_SHOWN = 3
_Finding = tuple[str, Path, str]
"""A message that is the same for every place where it applies, the place, and what stands there."""


def notices(built: Built, name: str, locate: Callable[[Path], int]) -> tuple[str, ...]:
    """One sentence per finding; the same finding in many places is one sentence with the first few of them."""
    grouped: dict[str, list[tuple[Path, str]]] = {}
    for message, path, what in _findings(built):
        grouped.setdefault(message, []).append((path, what))
    said: list[str] = []
    for message, places in grouped.items():
        path, what = places[0]
        others = ", ".join(dict.fromkeys(other for _, other in places[1:_SHOWN] if other))
        more = len(places) - _SHOWN
        tail = f" (also {others}{f' and {more} more' if more > 0 else ''})" if others else ""
        said.append(sentence(name, locate(path), path, f"{f'{what}: ' if what else ''}{message}{tail}"))
    return tuple(said)


def _findings(built: Built) -> Iterator[_Finding]:
    yield from _unused(built)
    seen: set[str] = set()
    for placed, task in zip(built.places, built.suite.tasks, strict=True):
        yield from _task(task, placed.path)
        index = {
            file.use if isinstance(file.use, str) else file.id: i
            for i, file in enumerate(placed.task.criteria)
        }
        index.update({file.id: i for i, file in enumerate(placed.task.criteria) if isinstance(file.id, str)})
        for criterion in task.criteria:
            path: Path = (*placed.path, "criteria", index.get(criterion.id, 0))
            what = f"{task.id}/{criterion.id}"
            yield from _grading(criterion, path, what)
            if criterion.rubric is not None:
                if criterion.rubric in seen:
                    continue
                seen.add(criterion.rubric)
                path, what = ("rubrics", criterion.rubric), criterion.rubric
            for message in _wording(criterion):
                yield message, path, what


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


def _grading(criterion: Criterion, path: Path, what: str) -> Iterator[_Finding]:
    check = criterion.check
    if criterion.judge is not None and (check is None or criterion.judge.extract):
        yield "judges are not asked yet in this version; give their verdicts as recorded rows", path, what
    if b"FILL IN" in msgspec.json.encode(check, enc_hook=str):
        yield "FILL IN stands in the check; say what a right answer holds", path, what
    if isinstance(check, LaterCheck):
        yield (
            f"`{check.kind}` checks are not graded yet in this version, so the verdict will be an error",
            path,
            what,
        )
    if (
        isinstance(check, ExprCheck)
        and reads_extracted(check)
        and not (criterion.judge and criterion.judge.extract)
    ):
        yield "reads an extracted value, but no judge extracts one: `judge: {extract: {...}}`", path, what
    if criterion.gate and criterion.failure_tag is None:
        yield "a gate without a failure tag; name the failure with `failure_tag`", path, what


def _wording(criterion: Criterion) -> Iterable[str]:
    if not _MODAL.search(criterion.rule):
        yield "the rule has no word that binds (MUST, MUST NOT, SHOULD, ...)"
    if _COMPOUND.search(criterion.rule):
        yield "the rule demands two things; two criteria say which one failed"
    quality = _QUALITY.search(criterion.rule)
    if quality:
        yield f"the rule rests on {quoted(quality[0].lower())}, which graders read differently; say what can be seen"
