"""`steelyard completion`: what a shell needs to complete the command."""

from __future__ import annotations

import click

from steelyard.cli.output import say


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print the completion script of SHELL.

    For bash: steelyard completion bash > ~/.steelyard-complete.bash, and source that file in ~/.bashrc.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # the choice lists the shells that click knows
    say(kind(context.find_root().command, {}, "steelyard", "_STEELYARD_COMPLETE").source())
