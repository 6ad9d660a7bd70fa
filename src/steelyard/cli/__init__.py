"""The command line: a thin skin over the facade."""

from __future__ import annotations

from steelyard.cli.main import cli, main

__all__ = ["cli", "main"]
