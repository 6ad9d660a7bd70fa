"""Where the bundled examples stand: suites, their recordings with end states, and verdicts that people gave on them."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import InputError


def operations_folder() -> Path:
    """The folder with `suite.yaml`, `traces.jsonl`, `verdicts.jsonl`, `lucky.jsonl`, `lucky_verdicts.jsonl`,
    `references.jsonl` and the files of `states/`.

    Raises `InputError` when the installed package lacks it (a broken or zipped installation).
    """
    return _bundled("operations")


def booking_folder() -> Path:
    """The folder with `suite.yaml`, `traces.jsonl`, `reference.jsonl` and the databases of `states/`.

    Raises `InputError` as `operations_folder`.
    """
    return _bundled("booking")


def _bundled(name: str) -> Path:
    from importlib.resources import files

    folder = Path(str(files("steelyard"))) / "bundled" / name
    if not (folder / "suite.yaml").is_file():
        raise InputError(f"The bundled example is not at {folder}. Install steelyard again from its wheel.")
    return folder
