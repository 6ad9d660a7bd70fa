"""Suites for tools that hold them otherwise than as a file to grade by: as a mapping, or as lines to point at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.model.standard import Suite


def build_suite(fields: Mapping[str, Any], *, folder: str | Path = ".") -> Suite:
    """The validated suite of the mapping that a file would hold (`schema` may be left out).

    `folder` is where the files that it names are looked up. StandardError with every problem.
    """
    from steelyard.standards.build import suite_of
    from steelyard.standards.shapes import SCHEMA

    return suite_of({"schema": SCHEMA, **fields}, folder=str(folder))


def criterion_lines(path: str | Path) -> Mapping[tuple[str, str], int]:
    """Lines of a suite file by (task id, criterion id); empty where they are not known."""
    from steelyard import standards

    return standards.criterion_lines(path)
