"""`steelyard score`: the algebra alone, over recorded rows."""

from __future__ import annotations

from typing import Any

import click

from steelyard.cli.environment import Flag
from steelyard.cli.github import GITHUB, Github
from steelyard.cli.options import ROWS, Output, output_options, refuse_overwriting, show_run


@click.command()
@click.argument("suite")
@click.argument("rows")
@click.option("--trust-python", is_flag=True, cls=Flag, help="Allow SUITE to be a Python file; it is run.")
@ROWS
@output_options
@GITHUB
@click.pass_context
def score(context: click.Context, /, suite: str, rows: str, trust_python: bool, **options: Any) -> None:
    """Score verdict ROWS (JSON Lines, as `grade --out` writes them) under SUITE."""
    from steelyard import app

    github = Github.wanted(context, options.pop("github"))
    output = Output(**options)
    refuse_overwriting((suite, rows), output)
    run = app.score_rows(app.load_suite(suite, trust_python=trust_python), rows, full=output.full)
    show_run(run, output)
    github.tell(run, suite, output)
    context.exit(run.scores.exit_code)
