"""`steelyard store check|vacuum`: the file that runs are kept in."""

from __future__ import annotations

import click

from steelyard.cli.environment import Flag
from steelyard.cli.options import STORE
from steelyard.cli.output import say, say_bytes

DAMAGED = 2


@click.group()
def store() -> None:
    """Look after the file that runs are kept in."""


@store.command()
@click.option(
    "--repair", is_flag=True, cls=Flag, help="Set a damaged store aside and save every whole trial of it."
)
@click.option("--json", "as_json", is_flag=True, cls=Flag, help="Print what was found as JSON.")
@STORE
@click.pass_context
def check(context: click.Context, /, repair: bool, as_json: bool, store: str | None) -> None:
    """Look through the whole store: pages, references, payloads, runs, log.

    Exits 0 when it is clean, 2 when it is damaged or a repair could not save everything that it found.
    """
    import msgspec

    from steelyard import app

    found = app.check_store(store, repair=repair)
    if as_json:
        say_bytes(msgspec.json.encode(found))
    else:
        say(app.plain_text(app.check_board(found)))
    lost = found.saved is not None and (
        found.saved.lost_trials or found.saved.broken_off or not found.saved.whole
    )
    context.exit(0 if found.state == "clean" and not lost else DAMAGED)


@store.command()
@click.option(
    "--drop-findings", is_flag=True, cls=Flag, help="Also drop findings for later runs that no run names."
)
@click.option("--json", "as_json", is_flag=True, cls=Flag, help="Print what was done as JSON.")
@STORE
def vacuum(drop_findings: bool, as_json: bool, store: str | None) -> None:
    """Give back the space that the store does not need. No run changes."""
    import msgspec

    from steelyard import app

    done = app.vacuum_store(store, drop_findings=drop_findings)
    if as_json:
        say_bytes(msgspec.json.encode(done))
    else:
        say(app.plain_text(app.vacuum_board(done)))
