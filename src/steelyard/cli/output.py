"""Writing to standard output: a reader that leaves is no failure, a full disk is one sentence."""

from __future__ import annotations

import errno
import os
import sys

from steelyard.errors import OutputError


def say(text: str) -> None:
    """Print text as it is, with a newline at its end if it has none."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    say_bytes(text.removesuffix("\n").encode(encoding, "backslashreplace"))


def say_bytes(data: bytes) -> None:
    """Print one line or block of bytes.

    When the reader of our output has left (`| head`), the rest goes nowhere and the exit code stays what it was.
    OutputError when standard output cannot be written.
    """
    if sys.stdout is None:  # closed by the caller (`>&-`)
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = "no space is left" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise OutputError(f"cannot write to standard output: {reason}; send it somewhere else") from error
