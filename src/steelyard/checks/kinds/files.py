"""`files`: what is there, what is not, what is as it was, and what has a given content."""

from __future__ import annotations

import fnmatch
import itertools

import msgspec

from steelyard.checks.findings import empty_check, failed, passed
from steelyard.checks.show import counted, names, show
from steelyard.checks.states import (
    NoFileError,
    check_path,
    entries,
    folder_of,
    is_folder,
    no_part,
    real_place,
    sha256_of,
    stands,
)
from steelyard.model.state_checks import FilesCheck
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import GraderInput

VERSION = "1"

_SIGNS = "*?["
_SHORT = 8
_CITED = 50


class _Read(msgspec.Struct, kw_only=True):
    """What was found so far: `problems` are fails, `open_questions` are parts that cannot be decided."""

    held: int = 0
    problems: list[str] = []
    open_questions: list[str] = []
    evidence: list[str] = []


def reads(spec: FilesCheck) -> frozenset[str]:
    """The aspects of a trial that the check reads."""
    own = "state_after:files" if spec.at == "end" else "state_before:files"
    return frozenset({own, "state_before:files"}) if spec.unchanged else frozenset({own})


def grade(spec: FilesCheck, given: GraderInput) -> Finding:
    """1 when everything that is stated holds, else 0 with each file that does not.

    Undecided where the recording has no such files, or a file to be unchanged was not there at the start. Raises
    `GraderError`: `bad_state`, `bad_path`, `too_large`.
    """
    if not (spec.exists or spec.absent or spec.unchanged or spec.sha256):
        raise empty_check("give `exists`, `absent`, `unchanged` or `sha256`")
    root = folder_of(given.trace, spec.at)
    if root is None:
        return Undecided(reason=no_part(spec.at, "files"))
    read = _Read()
    scheme = "file" if spec.at == "end" else "file_before"
    for path in spec.exists:
        _note(read, real_place(root, path) is not None, f"{show(path)} is not there", f"{scheme}:{path}")
    for path in spec.absent:
        _note(read, not stands(root, path), f"{show(path)} is there", f"{scheme}:{path}")
    for path, wanted in spec.sha256.items():
        _content(read, root, path, wanted.lower(), f"{scheme}:{path}")
    if spec.unchanged:
        _unchanged(read, spec, given, root)
    evidence = [ref for ref in dict.fromkeys(read.evidence) if ref.isprintable()][:_CITED]
    if read.problems:
        return failed(names(read.problems, joint="; "), evidence)
    if read.open_questions:
        return Undecided(reason=names(read.open_questions, joint="; "), evidence=tuple(evidence))
    return passed(f"{counted(read.held, 'file')} as stated", evidence)


def _note(read: _Read, holds: bool, problem: str, reference: str) -> None:
    read.evidence.append(reference)
    if holds:
        read.held += 1
    else:
        read.problems.append(problem)


def _content(read: _Read, root: str, path: str, wanted: str, reference: str) -> None:
    try:
        found = sha256_of(root, path)
    except NoFileError as problem:
        _note(read, False, str(problem), reference)
        return
    short = f"{show(path)} has the SHA-256 {found[:_SHORT]}, expected {wanted[:_SHORT]}"
    _note(read, found == wanted, short, reference)


def _unchanged(read: _Read, spec: FilesCheck, given: GraderInput, root: str) -> None:
    before = folder_of(given.trace, "start")
    if before is None:
        read.open_questions.append(f"{no_part('start', 'files')}, so it cannot show what was changed")
        return
    listed: list[str] | None = None
    for pattern in spec.unchanged:
        check_path(pattern)
        if not _is_pattern(pattern, before, root):
            _same(read, before, root, pattern)
            continue
        if listed is None:
            listed = sorted({*entries(before), *entries(root)})
        paths = _matching(listed, pattern)
        if not paths:
            read.open_questions.append(f"no file was there under {show(pattern)}")
        for path in paths:
            _same(read, before, root, path, listed=True)


def _is_pattern(pattern: str, *roots: str) -> bool:
    """Whether it stands for several files: a pattern, or a folder."""
    if any(sign in pattern for sign in _SIGNS):
        # A file may be called so.
        return not all(_hash(root, pattern) for root in roots)
    return any(is_folder(root, pattern) for root in roots)


def _matching(listed: list[str], pattern: str) -> list[str]:
    """The paths under the pattern; a pattern without signs is a folder."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if not any(sign in pattern for sign in _SIGNS):
        parts.append("**")
    return [path for path in listed if _fits(path.split("/"), parts)]


def _fits(steps: list[str], parts: list[str]) -> bool:
    """Whether a path fits a pattern, step by step; `**` is any number of steps."""
    reached = {0}
    for step in steps:
        reached = _closed(reached, parts)
        following = {at for at in reached if at < len(parts) and parts[at] == "**"}
        following |= {at + 1 for at in reached if at < len(parts) and fnmatch.fnmatchcase(step, parts[at])}
        reached = following
    return len(parts) in _closed(reached, parts)


def _closed(reached: set[int], parts: list[str]) -> set[int]:
    found = set(reached)
    for start in reached:
        stars = itertools.takewhile(lambda at: parts[at] == "**", range(start, len(parts)))
        found.update(at + 1 for at in stars)
    return found


def _same(read: _Read, before: str, root: str, path: str, *, listed: bool = False) -> None:
    """Compares one file with what it was. `listed`: it came from a pattern, so that a new one is a change."""
    old, new = _hash(before, path), _hash(root, path)
    if new is not None:
        read.evidence.append(f"file:{path}")
    if old is None and not listed:
        read.open_questions.append(
            f"{show(path)} was not among the files of the start state, so nothing shows whether it was changed"
        )
    elif old is None:
        read.problems.append(f"{show(path)} is new ({(new or '')[:_SHORT]})")
    elif new is None:
        read.problems.append(f"{show(path)} ({old[:_SHORT]}) is gone")
    elif old != new:
        read.problems.append(f"{show(path)} was changed from {old[:_SHORT]} to {new[:_SHORT]}")
    else:
        read.held += 1


def _hash(root: str, path: str) -> str | None:
    """The hash of a file; None when it is not there or is no file."""
    try:
        return sha256_of(root, path, follow=False)
    except NoFileError:
        return None
