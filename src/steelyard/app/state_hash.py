"""The content of an end state as one hash, so that a verdict on it is reused only while nothing in it changed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from steelyard.grading.address import spelt
from steelyard.model.trace import EndState

_BESIDE_A_DATABASE = ("", "-wal", "-journal")


class StateHasher:
    """Hashes states; a folder or database that several checks read is hashed once for each trial's state."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[EndState, str]] = {}

    def __call__(self, state: EndState) -> str:
        """Hash of names and contents of files, of the database file, and of the JSON.

        What cannot be read is part of the content too: the check that needs it says so. Raises as `spelt` for JSON of
        absurd depth.
        """
        held = self._known.get(id(state))
        if held is not None and held[0] is state:
            return held[1]
        digest = hashlib.sha256()
        if state.files is not None:
            _add_folder(digest, Path(state.files))
        if state.sqlite is not None:
            for ending in _BESIDE_A_DATABASE:
                _add_file(digest, Path(os.path.realpath(state.sqlite) + ending))
        parts = (state.files is None, state.sqlite is None, state.json, sorted(state.faults.items()))
        _add(digest, spelt(parts))
        found = digest.hexdigest()
        self._known = {**dict(list(self._known.items())[-3:]), id(state): (state, found)}
        return found


def _add(digest: hashlib._Hash, *fields: bytes) -> None:
    """Fields with their lengths, so that no two lists of fields look the same in a row."""
    for field in fields:
        digest.update(len(field).to_bytes(8, "big") + field)


def _add_folder(digest: hashlib._Hash, root: Path) -> None:
    """Every folder and file below, by relative name; a link is hashed as what it says, never followed."""

    def unreadable(error: OSError) -> None:
        _add(digest, b"unreadable", str(error.errno).encode())

    for folder, names, files in os.walk(root, onerror=unreadable):
        names.sort()
        for name in sorted({*names, *files}):
            path = Path(folder, name)
            _add(digest, os.fsencode(path.relative_to(root)))
            if path.is_symlink():
                _add(digest, b"link", os.fsencode(os.readlink(path)))
            elif path.is_dir():
                _add(digest, b"folder")
            else:
                _add_file(digest, path)


def _add_file(digest: hashlib._Hash, path: Path) -> None:
    try:
        if not path.is_file():  # a pipe would wait for ever
            _add(digest, b"no file")
            return
        with open(path, "rb") as file:
            _add(digest, hashlib.file_digest(file, "sha256").digest())
    except OSError as error:
        _add(digest, b"unreadable", str(error.errno).encode())
