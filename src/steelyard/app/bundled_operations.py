"""Where the bundled example stands: a suite, its recordings and the verdicts that people gave on them."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import InputError


def operations_folder() -> Path:
    """The folder with `suite.yaml`, `traces.jsonl`, `verdicts.jsonl`, `lucky.jsonl` and
    `lucky_verdicts.jsonl`.

    Raises `InputError` when the installed package lacks it (a broken or zipped installation).
    """
    from importlib.resources import files

    folder = Path(str(files("steelyard"))) / "bundled" / "operations"
    if not (folder / "suite.yaml").is_file():
        raise InputError(f"The bundled example is not at {folder}. Install steelyard again from its wheel.")
    return folder
