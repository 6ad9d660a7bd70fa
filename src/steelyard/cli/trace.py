"""`steelyard trace`: what was imported, readably."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from steelyard.cli.environment import Flag
from steelyard.cli.options import style
from steelyard.cli.output import say, say_parts
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.model.trace import Quarantined

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
@click.option(
    "--steps", "window", metavar="FROM-TO", cls=Flag, help="Of each trace only these steps, as 201-300."
)
@click.option("--no-color", is_flag=True, cls=Flag, help="No colour (also NO_COLOR).")
def trace(
    *,
    files: tuple[str, ...],
    task: str | None,
    trial: int | None,
    as_json: bool,
    full: bool,
    window: str | None,
    no_color: bool,
) -> None:
    """Show the steps of recorded FILES with their ids, notices and fidelity."""
    from steelyard import app

    lost: list[Quarantined] = []
    found = app.select_traces(files, lost, task=task, trial=trial)
    if as_json:
        say_parts(app.trace_json_parts(found, lost))
        return
    span = _span(window)
    first = list(islice(found, FEW + 1))
    steps = full or span is not None or len(first) <= FEW
    say(
        app.trace_board(
            chain(first, found), lost, steps=steps, full=full, window=span, **style(no_color=no_color)
        )
    )


def _span(text: str | None) -> tuple[int, int] | None:
    """`201-300`, or one number. UsageError for anything else."""
    if text is None:
        return None
    first, dash, last = text.partition("-")
    if not all(
        part.isascii() and part.isdigit() and len(part) < 10 for part in (first, last if dash else first)
    ):
        raise UsageError(f"--steps {text!r} names no steps; write it as 201-300")
    return int(first), int(last if dash else first)
