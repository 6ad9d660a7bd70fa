"""Suite files to suites: the one place of this room that is handed a path."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import InputError, StandardError
from steelyard.model.standard import Suite
from steelyard.standards.modules import load_module
from steelyard.standards.nodes import MAX_BYTES
from steelyard.standards.parse import parse_suite
from steelyard.standards.texts import TextError, read_limited

FORMATS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


def load_suite(path: str | Path, *, trust_python: bool = False) -> Suite:
    """Read and validate a suite file: YAML, JSON or TOML by its extension.

    A Python module (`.py`, which sets `suite`) is code: it is run only with `trust_python=True`. Raises
    `StandardError` with every problem found, and `InputError` when the file cannot be read.
    """
    place = Path(path)
    suffix = place.suffix.lower()
    if suffix == ".py":
        if not trust_python:
            raise StandardError(
                [
                    f"{path}: is a Python module, so loading it runs its code; if you trust it, call "
                    "load_suite(path, trust_python=True), or write the suite as YAML"
                ]
            )
        return load_module(place)
    if suffix not in FORMATS:
        raise InputError(
            f"{path}: is not a suite file by its name; suites end in .yaml, .yml, .json, .toml or .py"
        )
    try:
        data = read_limited(place, MAX_BYTES)
    except TextError as error:
        raise InputError(f"{path}: {error}") from error
    return parse_suite(data, name=str(path), format=FORMATS[suffix], folder=str(place.parent))
