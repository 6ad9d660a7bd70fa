"""The content of an end state as one hash, so that a verdict on it is reused only while nothing in it changed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from steelyard.errors import GraderError
from steelyard.model.trace import EndState


class StateHasher:
    """Hashes states; a folder or database that several checks read is hashed once for each trial's state."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[EndState, str]] = {}

    def __call__(self, state: EndState) -> str:
        """Hash of names and contents of files, of the database file, and of the JSON. GraderError when unreadable."""
        held = self._known.get(id(state))
        if held is not None and held[0] is state:
            return held[1]
        digest = hashlib.sha256()
        try:
            if state.files is not None:
                _add_folder(digest, Path(state.files))
            if state.sqlite is not None:
                _add_file(digest, Path(state.sqlite))
                _add_file(digest, Path(state.sqlite + "-wal"), optional=True)
        except OSError as error:
            message = f"the end state cannot be read: {error.strerror or error} ({error.filename})"
            raise GraderError(message, code="bad_state") from error
        digest.update(msgspec.json.encode(state.json, order="deterministic"))
        digest.update(
            repr((state.files is None, state.sqlite is None, sorted(state.faults.items()))).encode()
        )
        found = digest.hexdigest()
        self._known = {id(state): (state, found), **dict(list(self._known.items())[-3:])}
        return found


def _add_folder(digest: hashlib._Hash, root: Path) -> None:
    """Every file below, by relative name; a link is hashed as what it says, never followed."""
    for folder, names, files in os.walk(root, onerror=_raise):
        names.sort()
        for name in sorted(files):
            path = Path(folder, name)
            digest.update(os.fsencode(path.relative_to(root)) + b"\0")
            if path.is_symlink():
                digest.update(b"link " + os.fsencode(os.readlink(path)))
            elif path.is_file():
                _add_file(digest, path)
            else:
                digest.update(b"special")


def _raise(error: OSError) -> None:
    raise error


def _add_file(digest: hashlib._Hash, path: Path, *, optional: bool = False) -> None:
    if optional and not path.exists():
        return
    with open(path, "rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
