"""Writing to standard output and error: a reader that leaves is no failure, a full disk is one sentence.

In GitHub Actions (or with `--github`) nothing that is said here can be taken for a command to the runner.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable

import click

from steelyard.errors import OutputError

FORCED = "steelyard.github"
"""Where a command's context keeps that it was given `--github`."""


def say(text: str) -> None:
    """Print text as it is, with a newline at its end if it has none."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    shown = _guarded(text).removesuffix("\n")
    say_parts((shown.encode(encoding, "backslashreplace"), b"\n"))


def warn(text: str) -> None:
    """Say something beside the results, on standard error. Control and direction marks in it are written out."""
    from steelyard.app import plain_text

    click.echo(_guarded(plain_text(text)), err=True)


def command_runner(lines: Iterable[str]) -> None:
    """Commands to the runner of GitHub Actions, on standard error, so that standard output holds results only."""
    for line in lines:
        click.echo(line, err=True)


def in_github() -> bool:
    """Whether a runner of GitHub Actions reads what is printed."""
    context = click.get_current_context(silent=True)
    return os.environ.get("GITHUB_ACTIONS") == "true" or bool(context and context.meta.get(FORCED))


def _guarded(text: str) -> str:
    if not in_github():
        return text
    from steelyard.app import harmless

    return harmless(text)


def say_bytes(data: bytes) -> None:
    """Print JSON, the same value with and without a runner.

    When the reader of our output has left (`| head`), the rest goes nowhere and the exit code stays what it was.
    OutputError when standard output cannot be written.
    """
    if in_github():
        from steelyard.app import harmless_json

        data = harmless_json(data)
    say_parts((data, b"\n"))


def say_parts(parts: Iterable[bytes]) -> None:
    """Print bytes as they come, with nothing added or guarded: not for a runner that takes lines for commands."""
    if sys.stdout is None:  # closed by the caller (`>&-`)
        return
    try:
        sys.stdout.flush()
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = "no space is left" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise OutputError(f"cannot write to standard output: {reason}; send it somewhere else") from error
