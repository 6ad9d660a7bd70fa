"""`steelyard whatif`: what the scores would be with other verdicts, weights or gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.environment import Flag
from steelyard.cli.options import (
    STORE,
    Output,
    output_options,
    refuse_overwriting,
    refuse_overwriting_record,
    style,
    write_reports,
)
from steelyard.cli.output import say, say_bytes
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.app import Run


@click.command()
@click.argument("source", nargs=-1, required=True, metavar="RUN | SUITE ROWS")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="TASK/CRITERION=SCORE",
    cls=Flag,
    help="Replace a verdict (TASK#2/... for one trial).",
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="TASK=N",
    cls=Flag,
    help="Give a task (or TASK/CRITERION) another weight.",
)
@click.option(
    "--gate", "gates", multiple=True, metavar="TASK/CRITERION", cls=Flag, help="Make a criterion a gate."
)
@click.option("--trust-python", is_flag=True, cls=Flag, help="Allow SUITE to be a Python file; it is run.")
@STORE
@output_options
def whatif(source: tuple[str, ...], **options: Any) -> None:
    """Score a kept RUN, or ROWS under SUITE, with changes. Nothing is written to the record."""
    from steelyard import app

    asked = {name: options.pop(name) for name in ("sets", "weights", "gates")}
    store, trust_python = options.pop("store"), options.pop("trust_python")
    output = Output(**options)
    refuse_overwriting(source, output)
    if not any(asked.values()):
        raise UsageError("nothing to change; give --set, --weight or --gate")
    before = _before(source, store, trust_python, output)
    after = before.what_if(app.changes(before, **asked))
    write_reports(after, output)
    if output.as_json:
        say_bytes(app.json_report(after))
    elif not output.quiet:
        say(app.whatif_board(before, after, **style(output)))


def _before(source: tuple[str, ...], store: str | None, trust_python: bool, output: Output) -> Run:
    from steelyard import app

    if len(source) == 2:
        suite = app.load_suite(source[0], trust_python=trust_python)
        return app.score_rows(suite, source[1], full=output.full)
    if len(source) > 2:
        raise UsageError("give one kept run, or a suite and its rows")
    with app.open_store(store, must_exist=True) as opened:
        refuse_overwriting_record(opened, source[0], store, output)
        return app.load_run(opened, source[0], full=output.full)
