"""GitHub Actions: the step summary and annotations of `grade` and `score`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
import msgspec

from steelyard.cli.environment import Flag
from steelyard.cli.options import Output
from steelyard.cli.output import FORCED, command_runner, warn
from steelyard.errors import OutputError

if TYPE_CHECKING:
    from steelyard.app import Run

GITHUB = click.option(
    "--github/--no-github",
    default=None,
    cls=Flag,
    help="Step summary and annotations for GitHub Actions (default: where GITHUB_ACTIONS is true).",
)


class Github(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner is told about a run; nothing unless `on`."""

    on: bool
    summary: str
    workspace: str

    @classmethod
    def wanted(cls, context: click.Context, flag: bool | None) -> Github:
        """By the flag, else by the environment that a runner sets."""
        on = os.environ.get("GITHUB_ACTIONS") == "true" if flag is None else flag
        context.meta[FORCED] = on
        return cls(
            on=on,
            summary=os.environ.get("GITHUB_STEP_SUMMARY", ""),
            workspace=os.environ.get("GITHUB_WORKSPACE") or ".",
        )

    def tell(self, run: Run, suite: str, output: Output) -> None:
        """Add the summary and print annotations, these not with `--quiet`. Neither changes the exit code."""
        from steelyard import app

        if not self.on:
            return
        written = output.markdown and os.path.realpath(output.markdown) == os.path.realpath(self.summary)
        if self.summary and not written:
            try:
                app.append_summary(run, self.summary)
            except OutputError as error:
                warn(f"steelyard: {error}")
        if not output.quiet:
            command_runner(app.github_annotations(run, suite, workspace=self.workspace))
