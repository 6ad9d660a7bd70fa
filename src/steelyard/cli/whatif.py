"""`steelyard whatif`: what the scores would be with other verdicts, weights or gates."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.environment import Flag
from steelyard.cli.options import Output, output_options, refuse_overwriting, style, write_reports
from steelyard.cli.output import say, say_bytes
from steelyard.errors import UsageError


@click.command()
@click.argument("suite")
@click.argument("rows")
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
@click.option("--gate", "gates", multiple=True, metavar="TASK/CRITERION", cls=Flag, help="Make a criterion a gate.")
@click.option("--trust-python", is_flag=True, cls=Flag, help="Allow SUITE to be a Python file; it is run.")
@output_options
def whatif(
    suite: str, rows: str, sets: tuple[str, ...], weights: tuple[str, ...], gates: tuple[str, ...], trust_python: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Score ROWS under SUITE with changes. Nothing is written to the record."""
    from steelyard import app

    output = Output(**options)
    refuse_overwriting((suite, rows), output)
    if not (sets or weights or gates):
        raise UsageError("nothing to change; give --set, --weight or --gate")
    before = app.score_rows(app.load_suite(suite, trust_python=trust_python), rows, full=output.full)
    changes = app.changes(before, sets=sets, weights=weights, gates=gates)
    after = before.what_if(changes)
    write_reports(after, output)
    if output.as_json:
        say_bytes(app.json_report(after))
    elif not output.quiet:
        say(app.whatif_board(before, after, **style(output)))
