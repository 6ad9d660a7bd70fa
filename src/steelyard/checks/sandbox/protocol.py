"""What goes into a sandbox and what may come out of it, the same for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from steelyard.errors import GraderError, GraderTimeoutError

FULL_PYTHON = "pass --trust-graders if you trust the file, or write `sandbox: bubblewrap` in the check"
MAX_SAID = 300
"""Characters kept of what a check's own exception says."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of computing, bytes of memory, bytes of printed text."""

    seconds: float
    memory: int
    output: int


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a check function. `arguments` are JSON texts by parameter name; `file` is for messages."""

    source: str
    file: str
    function: str
    arguments: Mapping[str, str]
    limits: Limits


class Unusable(msgspec.Struct, frozen=True, kw_only=True):
    """Stands for a returned value that is no plain data; only the name of its type is kept."""

    type: str


class Sandbox(Protocol):
    """Runs the function and gives back what it returned, as plain data or `Unusable`.

    Raises `GraderError` for everything else: it raised, ran too long, used too much, ended early, could not start.
    """

    def __call__(self, job: Job) -> Any: ...


def too_long(job: Job) -> GraderTimeoutError:
    return GraderTimeoutError(f"{job.file}: {job.function} ran longer than {job.limits.seconds:g} s.")


def too_much_memory(job: Job) -> GraderError:
    allowed = job.limits.memory // (1024 * 1024)
    message = f"{job.file}: {job.function} needs more than {allowed} MB; raise `limits.memory_mb` if it must."
    return GraderError(message, code="memory_limit")


def too_much_output(job: Job) -> GraderError:
    allowed = job.limits.output // 1024
    message = (
        f"{job.file}: {job.function} printed more than {allowed} KB; print less, or raise `limits.output_kb`."
    )
    return GraderError(message, code="output_limit")


def ended_early(job: Job, how: str) -> GraderError:
    message = f"{job.file}: {job.function} {how} before it returned a verdict."
    return GraderError(message, code="no_verdict")


def raised(job: Job, kind: str, said: str) -> GraderError:
    """The error for an exception of the check. What it says is the check's own text: bounded here, cleaned later."""
    if kind in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
        return ended_early(job, f"raised {kind}")
    if kind == "MemoryError":
        return too_much_memory(job)
    message = f"{job.file}: {job.function} raised {kind[:80]}: {said[:MAX_SAID]}"
    return GraderError(message, code="too_deep" if kind == "RecursionError" else "check_raised")
