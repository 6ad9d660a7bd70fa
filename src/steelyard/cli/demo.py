"""`steelyard demo`: the bundled example."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.options import Output, output_options, show, style


@click.command()
@output_options
def demo(**options: Any) -> None:
    """Grade the bundled example: three tasks, two ways to average them, and what would change the score."""
    from steelyard import app

    output = Output(**options)
    main, lucky = app.demo_run()
    show(main, output)
    if not (output.as_json or output.quiet):
        click.echo()
        click.echo(app.demo_epilogue(main, lucky, **style(output)))
