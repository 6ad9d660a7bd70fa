"""`steelyard schema`: the JSON Schema of a file that people write."""

from __future__ import annotations

import click

from steelyard.cli.output import say


@click.command()
@click.argument("kind", type=click.Choice(["suite"]))
def schema(kind: str) -> None:
    """Print the JSON Schema of KIND (suite)."""
    import json

    from steelyard import app

    say(json.dumps(app.suite_schema(), indent=2))
