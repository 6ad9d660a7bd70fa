"""Environment variables: every flag has one, and a `.env` file in the working folder may set them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class Flag(click.Option):
    """An option whose environment variable is `STEELYARD_` and its long name."""

    def __init__(self, declarations: list[str], **settings: Any) -> None:
        long = next(name for name in declarations if name.startswith("--")).split("/")[0]
        settings.setdefault("envvar", "STEELYARD_" + long.removeprefix("--").replace("-", "_").upper())
        super().__init__(declarations, **settings)


def read_dotenv(folder: Path | None = None) -> None:
    """Take `NAME=value` lines of `.env` for names that are not set yet; not at all where CI is set.

    Only Steelyard's own names and API keys are taken, and none that grants trust: a folder from somewhere else must not
    be able to switch a sandbox off.
    """
    path = (folder or Path()) / ".env"
    if os.environ.get("CI"):
        return
    try:
        if not path.is_file():
            return
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        name, sign, value = line.strip().removeprefix("export ").partition("=")
        if sign and _may_be_set(name.strip()) and "\0" not in value:
            os.environ.setdefault(name.strip(), value.strip().strip("\"'"))


def _may_be_set(name: str) -> bool:
    if name.startswith("STEELYARD_"):
        return name.isidentifier() and not name.startswith("STEELYARD_TRUST_")
    return name.isidentifier() and name.endswith("_API_KEY")
