"""Options that several verbs share, and how a run is shown and written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from steelyard.cli.environment import Flag

if TYPE_CHECKING:
    from steelyard.app import Run


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run goes. Files are written before anything is printed."""

    as_json: bool
    quiet: bool
    no_color: bool
    full: bool
    out: str | None
    junit: str | None
    markdown: str | None


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the output options; the command gets them as keyword arguments of `Output`."""
    options = (
        click.option("--json", "as_json", is_flag=True, cls=Flag, help="Print the scores as JSON."),
        click.option("--quiet", "-q", is_flag=True, cls=Flag, help="Print nothing; the exit code says it."),
        click.option("--no-color", is_flag=True, cls=Flag, help="No colour (also NO_COLOR)."),
        click.option("--full", is_flag=True, cls=Flag, help="List every verdict in --json, however many."),
        click.option("--out", metavar="FILE", cls=Flag, help="Write the rows as JSON Lines."),
        click.option("--junit", metavar="FILE", cls=Flag, help="Write a JUnit XML report."),
        click.option("--markdown", metavar="FILE", cls=Flag, help="Write a Markdown summary."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def write_reports(run: Run, output: Output) -> None:
    """Write the row file and reports that were asked for. OutputError when one cannot be written."""
    from steelyard import app

    if output.out:
        app.write_row_file(output.out, (*run.rows, *run.lost))
    if output.junit:
        app.write_whole(output.junit, app.junit_report(run).encode())
    if output.markdown:
        app.write_whole(output.markdown, app.markdown_report(run).encode())


def show(run: Run, output: Output) -> None:
    """Write what was asked for, then print the scoreboard or JSON."""
    from steelyard import app

    write_reports(run, output)
    if output.as_json:
        print_bytes(app.json_report(run))
    elif not output.quiet:
        click.echo(app.scoreboard(run, **style(output)), nl=False)


def print_bytes(data: bytes) -> None:
    """Print bytes that are UTF-8 already, whatever the encoding of the terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def style(output: Output) -> dict[str, Any]:
    """Width, colour and character set of this terminal; 80 columns where there is none."""
    terminal = sys.stdout.isatty()
    columns = os.get_terminal_size().columns if terminal else 80
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    return {
        "width": max(60, min(columns or 80, 100)) if terminal else 80,
        "color": terminal and not output.no_color and not os.environ.get("NO_COLOR"),
        "unicode": encoding.replace("-", "") == "utf8",
    }
