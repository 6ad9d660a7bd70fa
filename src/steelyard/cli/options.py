"""Options that several verbs share, and how a run is shown and written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from steelyard.cli.environment import Flag
from steelyard.cli.output import say, say_bytes, warn
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.app import Run
    from steelyard.model.trace import Quarantined, Trace
    from steelyard.ports.store import Store


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run goes. Files are written before anything is printed."""

    as_json: bool = False
    quiet: bool = False
    no_color: bool = False
    full: bool = False
    junit: str | None = None
    markdown: str | None = None
    out: str | None = None
    html: str | None = None
    csv: str | None = None


class Recordings(msgspec.Struct, frozen=True, kw_only=True):
    """The traces of a run for its HTML report, read when it is written; or `without`, a sentence why there are none."""

    traces: Iterable[Trace | Quarantined] | None = None
    without: str = ""
    date: str = ""


STORE = click.option(
    "--store", metavar="URL", cls=Flag, help="Where runs are kept (default sqlite:///.steelyard/store.db)."
)
ROWS = click.option("--out", metavar="FILE", cls=Flag, help="Write the rows as JSON Lines.")


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the output options; the command gets them as keyword arguments of `Output`."""
    options = (
        click.option("--json", "as_json", is_flag=True, cls=Flag, help="Print the scores as JSON."),
        click.option("--quiet", "-q", is_flag=True, cls=Flag, help="Print nothing; the exit code says it."),
        click.option("--no-color", is_flag=True, cls=Flag, help="No colour (also NO_COLOR)."),
        click.option("--full", is_flag=True, cls=Flag, help="List every verdict in --json, however many."),
        click.option("--junit", metavar="FILE", cls=Flag, help="Write a JUnit XML report."),
        click.option("--markdown", metavar="FILE", cls=Flag, help="Write a Markdown summary."),
        click.option("--html", metavar="FILE", cls=Flag, help="Write the report as one HTML file."),
    )
    for option in reversed(options):
        command = option(command)
    return command


FILES = ("out", "junit", "markdown", "html", "csv")
"""Outputs that are files."""


def refuse_overwriting_record(store: Store, run: str, url: str | None, output: Output) -> None:
    """UsageError when a report would replace the store, or what the kept run was graded from."""
    from steelyard import app

    if any(getattr(output, option) for option in FILES):
        refuse_overwriting((*app.store_files(url), *app.kept_inputs(store.columns(run))), output)


def refuse_overwriting(inputs: Sequence[str], output: Output) -> None:
    """UsageError when a report would replace an input or another report, or has an empty name."""
    taken = {os.path.realpath(name): name for name in inputs}
    for option in FILES:
        name = getattr(output, option)
        if name == "":
            raise UsageError(f"--{option} names no file; give it one, or leave it out")
        if name is None or (os.path.exists(name) and not os.path.isfile(name)):  # a pipe or device
            continue
        if os.path.realpath(name) in taken:
            raise UsageError(
                f"{name} is read or written by this command already; give each output a place of its own"
            )
        taken[os.path.realpath(name)] = name


def write_reports(run: Run, output: Output, recordings: Recordings | None = None) -> None:
    """Write the row file and reports that were asked for. OutputError when one cannot be written."""
    from steelyard import app

    if output.out:
        app.write_row_file(output.out, (*run.rows, *run.lost), suite=run.suite)
    if output.junit:
        app.write_whole(output.junit, app.junit_report(run).encode())
    if output.markdown:
        app.write_whole(output.markdown, app.markdown_report(run).encode())
    if output.csv and output.csv != "-":
        app.write_whole(output.csv, app.csv_report(run))
    if output.html:
        write_html(run, output.html, recordings or Recordings())


def write_html(run: Run, file: str, recordings: Recordings) -> None:
    """Write the HTML report, and say on standard error what it lacks or where further parts of it stand."""

    folder = run.report(file, recordings.traces, date=recordings.date, without=recordings.without)
    if recordings.without:
        warn(recordings.without)
    if folder:
        warn(f"{file} links to further trials in {folder}; send both")


def show_run(run: Run, output: Output, recordings: Recordings | None = None) -> None:
    """Write what was asked for, then print the scoreboard or JSON."""
    from steelyard import app

    write_reports(run, output, recordings)
    if output.as_json:
        say_bytes(app.json_report(run))
    elif not output.quiet:
        say(app.scoreboard(run, **style(output)))


def style(output: Output | None = None, *, no_color: bool = False) -> dict[str, Any]:
    """Width, colour and character set of this terminal; 80 columns where there is none."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    columns = os.get_terminal_size().columns if terminal else 80
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    return {
        "width": max(60, min(columns or 80, 100)) if terminal else 80,
        "color": terminal
        and not (no_color or (output and output.no_color))
        and not os.environ.get("NO_COLOR"),
        "unicode": encoding.replace("-", "") == "utf8",
    }
