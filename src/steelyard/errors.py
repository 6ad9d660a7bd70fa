"""The one tree of exceptions.

    SteelyardError
    ├── UsageError            the command or call cannot mean anything          exit 2
    ├── StandardError         the suite file is not a valid standard            exit 2
    ├── InputError            a file cannot be read, or holds no known format   exit 2
    │   └── FormatError       one record of it is refused (quarantined)
    ├── OutputError           a report or row file cannot be written            exit 2
    ├── StoreError            the store of runs is locked, full, damaged, ...   exit 2
    ├── MissingExtraError     an optional dependency is not installed           exit 2
    ├── NothingEvaluatedError a filter or folder matched nothing                exit 4
    └── GraderError           one check gave no verdict; becomes `Errored`      no exit of its own
        └── GraderTimeoutError

Every message is a sentence that says what happened, where, and what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence


class SteelyardError(Exception):
    """Base of all errors that Steelyard raises on purpose; `exit_code` is what the command line returns."""

    exit_code = 2


class UsageError(SteelyardError):
    """The command or call cannot mean anything (unknown task in `--set`, a bar outside 0..1, ...)."""


class StandardError(SteelyardError):
    """A suite that is not a valid standard. Carries every problem found, not only the first."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class InputError(SteelyardError):
    """A file cannot be read, or holds nothing in a known format."""


class FormatError(InputError):
    """One record of an input is refused. Readers catch it and quarantine the record; it never ends a run."""


class OutputError(SteelyardError):
    """A report or row file cannot be written."""


class StoreError(SteelyardError):
    """The store of runs cannot be used: locked, full, read-only, damaged, newer than this program, or no store at all.

    The file is left as it was, and nothing that was committed is lost.
    """


class MissingExtraError(SteelyardError):
    """An optional dependency is not installed; the message holds the pip command."""


class NothingEvaluatedError(SteelyardError):
    """There was nothing to evaluate: a filter, folder or trace file that matched no task."""

    exit_code = 4


class GraderError(SteelyardError):
    """A check could not give a verdict. The engine turns it into an `Errored` verdict of that criterion alone.

    `code` is a short stable word (`check_raised`, `bad_reference`, `missing_trace`, `non_finite`, ...).
    """

    def __init__(self, message: str, *, code: str = "check_raised") -> None:
        self.code = code
        super().__init__(message)


class GraderTimeoutError(GraderError):
    """A check ran past its time limit."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="timeout")
