"""`regex`: an RE2 pattern matches. RE2 takes time in proportion to the text, whatever the pattern."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from steelyard.checks.findings import decided, missing
from steelyard.checks.selectors import Absent, aspects_of, select
from steelyard.checks.show import show
from steelyard.checks.texts import as_text
from steelyard.errors import GraderError
from steelyard.model.checks import RegexCheck
from steelyard.model.verdict import Finding
from steelyard.ports.grader import GraderInput

VERSION = "1"
SHOWN = 400
"""Bytes of a match that its reason quotes from."""


def reads(spec: RegexCheck) -> frozenset[str]:
    """What `of` selects."""
    return aspects_of(spec.of)


def grade(spec: RegexCheck, given: GraderInput) -> Finding:
    """1 or 0. Lone surrogates in the text are kept as bytes that no character class matches."""
    pattern = _compiled(spec.pattern)
    found = select(spec.of, given)
    if isinstance(found, Absent):
        return missing(found)
    text = as_text(found.value).encode("utf-8", "surrogatepass")
    match = pattern.fullmatch(text) if spec.full else pattern.search(text)
    if match is None:
        how = "as a whole" if spec.full else "anywhere"
        return decided(False, f"{spec.of} does not match {show(spec.pattern)} {how}", found.evidence)
    start, end = match.span()
    standing = text[start : min(end, start + SHOWN)].decode("utf-8", "replace")
    return decided(True, f"{spec.of} matches {show(spec.pattern)}: {show(standing)}", found.evidence)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as problem:
        said = problem.args[0] if problem.args else problem
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise GraderError(f"The pattern {show(pattern)} is not RE2: {text}.", code="bad_pattern") from None
