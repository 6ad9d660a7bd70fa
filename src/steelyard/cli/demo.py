"""`steelyard demo`: the bundled example."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.options import ROWS, Output, output_options, show_run, style
from steelyard.cli.output import say


@click.command()
@ROWS
@output_options
def demo(**options: Any) -> None:
    """Grade the bundled example: three tasks, two ways to average them, and what would change the score."""
    from steelyard import app

    output = Output(**options)
    main, lucky = app.demo_run()
    show_run(main, output)
    if not (output.as_json or output.quiet):
        say("")
        say(app.demo_epilogue(main, lucky, **style(output)))
