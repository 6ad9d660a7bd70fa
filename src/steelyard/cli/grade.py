"""`steelyard grade`: import traces, grade them, score them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.environment import Flag
from steelyard.cli.options import ROWS, Output, output_options, refuse_overwriting, show
from steelyard.cli.progress import progress
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.app import Run


@click.command()
@click.argument("suite")
@click.argument("traces", nargs=-1, required=True)
@click.option(
    "--recorded",
    multiple=True,
    metavar="FILE",
    cls=Flag,
    help="Verdict rows of people or judges (JSON Lines).",
)
@click.option(
    "--filter",
    "only",
    multiple=True,
    metavar="TASK|TAG=VALUE",
    cls=Flag,
    help="Only these tasks (* allowed).",
)
@click.option("--limit", type=click.IntRange(min=1), cls=Flag, help="Only the first N tasks.")
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="CRITERION",
    cls=Flag,
    help="tau2 only: make a process criterion a gate.",
)
@click.option("--trust-python", is_flag=True, cls=Flag, help="Allow SUITE to be a Python file; it is run.")
@ROWS
@output_options
@click.pass_context
def grade(context: click.Context, /, suite: str, traces: tuple[str, ...], **options: Any) -> None:
    """Grade TRACES under SUITE and print the scoreboard.

    TRACES are files, folders or globs; their format is detected. SUITE is a suite file, or `tau2` to take the
    standard out of a tau2 or tau-bench result file itself.
    """
    names = ("recorded", "only", "limit", "gates", "trust_python")
    chosen = {name: options.pop(name) for name in names}
    output = Output(**options)
    refuse_overwriting((suite, *traces, *chosen["recorded"]), output)
    with progress(quiet=output.quiet) as update:
        run = _run(suite, traces, chosen, output, update)
    show(run, output)
    context.exit(run.scores.exit_code)


def _run(suite: str, traces: tuple[str, ...], chosen: dict[str, Any], output: Output, update: Any) -> Run:
    from steelyard import app

    if suite == "tau2" and not Path(suite).exists():
        return app.grade_tau2(
            traces,
            gates=chosen["gates"],
            only=chosen["only"],
            limit=chosen["limit"],
            progress=update,
            full=output.full,
        )
    if chosen["gates"]:
        raise UsageError(
            "--gate works with `grade tau2`; in a suite file write `gate: true`, or ask `steelyard whatif`"
        )
    return app.grade(
        app.load_suite(suite, trust_python=chosen["trust_python"]), app.read_traces(traces),
        recorded=chosen["recorded"], only=chosen["only"], limit=chosen["limit"], progress=update, full=output.full,
    )  # fmt: skip
