"""`steelyard init`: a suite to start from."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.environment import Flag
from steelyard.cli.output import say


@click.command()
@click.argument("folder", default=".")
@click.option(
    "--from", "source", multiple=True, metavar="TRACES", help="Draft tasks out of these recordings."
)
@click.option("--owner", default="you@example.com", cls=Flag, help="Who settles disputes about the standard.")
def init(folder: str, source: tuple[str, ...], owner: str) -> None:
    """Write a small suite into FOLDER (default: here), or draft one out of recordings."""
    from steelyard import app

    if source:
        files, tasks, total = app.draft(folder, app.read_traces(source), owner=owner)
        say(f"wrote {files[0]}: {tasks} tasks drafted from {total} recordings")
        say("replace each FILL IN, then:")
        say(f"  steelyard check {files[0]}")
        say(f"  steelyard grade {files[0]} {' '.join(source)}")
        return
    files = app.start(folder, owner=owner)
    say(f"wrote {', '.join(str(Path(file)) for file in files)}")
    say("next:")
    say(f"  steelyard grade {files[0]} {files[1]}")
