"""`steelyard trace`: what was imported, readably."""

from __future__ import annotations

import click

from steelyard.cli.environment import Flag
from steelyard.cli.options import style
from steelyard.cli.output import say, say_bytes

FEW = 3
"""Files with more traces than this are listed, one line a trace, unless one is picked."""


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--task", metavar="ID", cls=Flag, help="Only traces of this task.")
@click.option("--trial", type=int, metavar="N", cls=Flag, help="Only this trial.")
@click.option("--json", "as_json", is_flag=True, cls=Flag, help="Print the traces as JSON.")
@click.option(
    "--full", is_flag=True, cls=Flag, help="Show long outputs whole, and every trace of a long file."
)
@click.option("--no-color", is_flag=True, cls=Flag, help="No colour (also NO_COLOR).")
def trace(
    files: tuple[str, ...], task: str | None, trial: int | None, as_json: bool, full: bool, no_color: bool
) -> None:
    """Show the steps of recorded FILES with their ids, notices and fidelity."""
    from steelyard import app

    found, lost = app.collect_traces(files, task=task, trial=trial)
    if as_json:
        say_bytes(app.trace_json(found, lost))
        return
    say(app.trace_board(found, lost, steps=full or len(found) <= FEW, full=full, **style(no_color=no_color)))
