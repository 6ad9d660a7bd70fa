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
        made = app.draft(folder, app.read_traces(source), owner=owner)
        tasks = f"{made.tasks} task{'s' if made.tasks != 1 else ''}"
        recordings = f"{made.recordings} recording{'s' if made.recordings != 1 else ''}"
        say(f"wrote {made.file}: {tasks} drafted from {recordings}")
        if made.left_out:
            say(
                f"left out: {made.left_out} that cannot be read or hold no user message; `steelyard trace` shows them"
            )
        say("replace each FILL IN, then:")
        say(f"  steelyard check {made.file}")
        say(f"  steelyard grade {made.file} {' '.join(source)}")
        return
    files = app.start(folder, owner=owner)
    say(f"wrote {', '.join(str(Path(file)) for file in files)}")
    say("next:")
    say(f"  steelyard grade {files[0]} {files[1]}")
