"""`steelyard demo`: the bundled example."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
import msgspec

from steelyard.cli.options import (
    ROWS,
    Output,
    Recordings,
    output_options,
    refuse_overwriting,
    show_run,
    style,
    write_html,
)
from steelyard.cli.output import say, warn
from steelyard.errors import OutputError

if TYPE_CHECKING:
    from steelyard.app import Run

REPORT = "report.html"


@click.command()
@ROWS
@output_options
def demo(**options: Any) -> None:
    """Grade the bundled example: three tasks, two ways to average them, and what would change the score."""
    from steelyard import app

    output = Output(**options)
    refuse_overwriting((), output)
    main, lucky = app.demo_run()
    if output.html:
        write_html(main, output.html, Recordings(traces=app.demo_traces()))
    show_run(main, msgspec.structs.replace(output, html=None))
    if not (output.as_json or output.quiet):
        say("")
        say(app.demo_epilogue(main, lucky, **style(output)))
    if not output.html:
        _report(main, output.quiet)


def _report(run: Run, quiet: bool) -> None:
    """The report beside the demo; a demo that cannot write it, or finds another file there, has still run."""
    from steelyard import app

    if os.path.isfile(REPORT) and not _is_the_demos(run):
        if not quiet:
            warn(f"no {REPORT} was written: the one that is there is not the demo's; use --html FILE")
        return
    try:
        run.report(REPORT, app.demo_traces(), replace_others=False)
        said = f"wrote {REPORT}: the same in one page, with the traces; open it in a browser"
    except OutputError as error:
        said = f"no {REPORT} was written: {error}"
    if not quiet:
        warn(said)


def _is_the_demos(run: Run) -> bool:
    """Whether the file that stands there is a report of the demo, which may be written again."""
    with suppress(OSError), open(REPORT, "rb") as file:
        head, _, _ = file.read(8_000).decode("utf-8", "replace").partition("</title>")
        return f"{run.suite.name} {run.suite.version}" in head
    return False
