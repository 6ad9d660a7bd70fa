"""What a run says to GitHub Actions: its step summary and its annotations."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from steelyard.app.reports import markdown_report, rules_of
from steelyard.app.run import Run
from steelyard.errors import OutputError


def github_annotations(run: Run, suite: str, *, workspace: str | Path = ".") -> list[str]:
    """Workflow commands for what kept the run from passing, at the lines of the suite file where they are known."""
    from steelyard.report import github

    return github.workflow_commands(run.scores, rules_of(run), _places(suite, workspace))


def _places(suite: str, workspace: str | Path) -> Callable[[str, str], tuple[str, int]]:
    """Annotations name files from the top of the workspace; a suite elsewhere has no place there."""
    from steelyard.standards import criterion_lines

    path = Path(suite).resolve()
    if not path.is_file() or not path.is_relative_to(Path(workspace).resolve()):
        return lambda task, criterion: ("", 0)
    file = path.relative_to(Path(workspace).resolve()).as_posix()
    lines = criterion_lines(path)
    return lambda task, criterion: (file, lines.get((task, criterion)) or lines.get((task, "")) or 0)


def append_summary(run: Run, file: str) -> None:
    """Add the Markdown of a run to a step summary, cut to what GitHub takes. OutputError when it cannot be written."""
    from steelyard.report.github import SUMMARY_BYTES, summary

    try:
        taken = os.stat(file).st_size if os.path.isfile(file) else 0
        text = ("\n" if taken else "") + markdown_report(run)
        data = summary(text, SUMMARY_BYTES - taken)
        if not data:
            raise OutputError(f"{file} is full: GitHub takes 1 MiB for one step; use --markdown FILE")
        with open(file, "ab") as stream:
            stream.write(data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"cannot write the step summary {file}: {reason}; use --markdown FILE") from error


def harmless(text: str) -> str:
    """Text in which a runner finds no command."""
    from steelyard.report import github

    return github.harmless(text)


def harmless_json(data: bytes) -> bytes:
    """The same JSON value, written so that a runner finds no command in it."""
    from steelyard.report import github

    return github.harmless_json(data)
