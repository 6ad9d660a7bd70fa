"""Who is grading right now: a file beside the store for each live grading, locked by the process that works on it.

The lock is the operating system's (`flock`), so it ends with its process, however that ends; no clock and no heartbeat
decide. A file that a killed process left behind is unlocked, so it says nothing, and the next one to come removes it.
Where the file system knows no locks, nothing is refused. On network file systems Linux passes `flock` on to the
server; a store should lie on a local disk all the same, since SQLite's write-ahead log does not work across machines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # no POSIX: nobody is refused
    fcntl = None

_HELD_BY_ANOTHER = (BlockingIOError, PermissionError)


class Leases:
    """The gradings that this opened store works on."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._held: dict[int, int] = {}

    def take(self, grading: int) -> bool:
        """Whether the grading is now ours alone; false where another one, also in this process, works on it."""
        if grading in self._held or fcntl is None:
            return True
        handle = _locked(_file(self._store, grading), create=True)
        if handle is None:
            return False
        if handle >= 0:
            with suppress(OSError):
                os.truncate(handle, 0)
                os.write(handle, f"{os.getpid()}\n".encode())
            self._held[grading] = handle
        return True

    def give_back(self, grading: int) -> None:
        """Nobody works on the grading any more."""
        handle = self._held.pop(grading, None)
        if handle is not None:
            _file(self._store, grading).unlink(missing_ok=True)  # before the lock goes: no other has it yet
            os.close(handle)

    def close(self) -> None:
        """Give all of them back."""
        for grading in list(self._held):
            self.give_back(grading)


def worker(store: Path, grading: int) -> str:
    """Who works on the grading, as words for a message."""
    with suppress(OSError, ValueError):
        return f"process {int(_file(store, grading).read_text()[:20])}"
    return "another process"


def live(store: Path) -> tuple[int, ...]:
    """The gradings that some process works on. Files that nobody holds any more are removed."""
    return tuple(sorted(_live(store)))


def _live(store: Path) -> Iterator[int]:
    if fcntl is None:
        return
    for path in store.parent.glob(f"{_escaped(store.name)}-live-*"):
        number = path.name.rpartition("-")[2]
        if not number.isascii() or not number.isdigit():
            continue
        handle = _locked(path, create=False)
        if handle is None:
            yield int(number)
        elif handle >= 0:
            with suppress(OSError):
                path.unlink()
            os.close(handle)


def _file(store: Path, grading: int) -> Path:
    return store.with_name(f"{store.name}-live-{grading}")


def _escaped(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def _locked(path: Path, *, create: bool) -> int | None:
    """A handle with the lock; null where another one has it; -1 where nothing can be locked or nothing is there."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o666)
        except FileNotFoundError:
            return -1
        except OSError:  # a full disk, a folder that is read-only: the store itself says so
            return -1
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except _HELD_BY_ANOTHER:
            os.close(handle)
            return None
        except OSError:  # a file system without locks
            os.close(handle)
            return -1
        if _still(handle, path):
            return handle
        os.close(handle)  # its last owner removed it meanwhile


def _still(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
