"""Where a report goes: a file that is replaced at once, and a folder beside it of which only our own files are."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from steelyard.errors import OutputError

GENERATOR = "steelyard report"
"""How a page says that it is ours, near its start."""

LONGEST_HEAD = 4_000

LIST = "steelyard-files.json"
"""The file that says which files of the folder are ours."""


def folder_of(target: Path) -> Path:
    """`report.files` beside `report.html`; other endings stay in the name, so that no two reports share a folder."""
    return target.with_name(
        f"{target.stem}.files" if target.suffix == ".html" else f"{target.name}-report.files"
    )


class Output:
    """A report in the making. `alone` where it goes to a pipe or device, which has nothing beside it."""

    def __init__(self, file: IO[bytes], target: Path, alone: bool) -> None:
        self._file = file
        self.alone = alone
        self.name = target.name
        self.folder = folder_of(target)
        self.folder_name = self.folder.name
        self._made: Path | None = None
        self._names: list[str] = []
        self._replaced: Path | None = None

    def write(self, text: str) -> None:
        """Add to the page."""
        self._file.write(text.encode())

    def beside(self, name: str, texts: Iterable[str]) -> None:
        """Write a file of the folder."""
        if self._made is None:
            self._made = Path(tempfile.mkdtemp(dir=self.folder.parent, prefix=".steelyard-"))
        with (self._made / name).open("wb") as file:
            file.writelines(text.encode() for text in texts)
        self._names.append(name)

    def settle(self) -> None:
        """Put the folder in its place: what we wrote there before goes, what others put there stays."""
        if self.alone:
            return
        old = _ours(self.folder)
        if self._made is None:
            _remove(self.folder, old)
            return
        (self._made / LIST).write_text(json.dumps(self._names), "utf-8")
        os.chmod(self._made, 0o777 & ~_umask())
        if not self.folder.exists():
            os.replace(self._made, self.folder)
            return
        self._keep_of_others({*old, *self._names, LIST})
        self._replaced = Path(tempfile.mkdtemp(dir=self.folder.parent, prefix=".steelyard-"))
        os.replace(self.folder, self._replaced)
        os.replace(self._made, self.folder)

    def _keep_of_others(self, ours: set[str]) -> None:
        """Take what others put into the old folder along; OSError where it cannot be copied."""
        assert self._made is not None
        for path in self.folder.iterdir():
            if path.name not in ours and path.is_dir() and not path.is_symlink():
                shutil.copytree(path, self._made / path.name, symlinks=True)
            elif path.name not in ours:
                shutil.copy2(path, self._made / path.name, follow_symlinks=False)

    def undo(self) -> None:
        """Put the old folder back in its place: the page was not replaced."""
        if self._replaced is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.replace(self._replaced, self.folder)
            self._replaced = None

    def done(self) -> None:
        """The new page stands: the old folder is not needed."""
        if self._replaced is not None:
            shutil.rmtree(self._replaced, ignore_errors=True)

    def drop(self) -> None:
        """Leave nothing half made."""
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)


@contextmanager
def replaced(file: str | Path, *, others: bool = True) -> Iterator[Output]:
    """A report that takes the place of `file` when the block ends well. OutputError when it cannot be written.

    `others` false: a file that is no report of ours is not replaced.
    """
    try:
        target = Path(os.path.realpath(file))
    except ValueError as error:  # a path with a NUL character
        raise OutputError(f"cannot write {file!r}: {error}; choose another place") from error
    try:
        _refuse_foreign(target)
        if not others and target.exists() and not _is_report(target):
            raise OutputError(
                f"{target} is there already and is no report; move it away or name another file"
            )
        alone = target.exists() and not target.is_file()
        if alone:
            with tempfile.TemporaryFile() as page:
                output = Output(page, target, alone)
                yield output
                page.seek(0)
                with open(file, "wb") as device:
                    shutil.copyfileobj(page, device)
        else:
            yield from _in_place(target)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(
            f"cannot write {file}: {reason}; choose another place or free some space"
        ) from error


def _in_place(target: Path) -> Iterator[Output]:
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".steelyard-")
    output: Output | None = None
    try:
        with os.fdopen(handle, "wb") as page:
            output = Output(page, target, alone=False)
            yield output
        os.chmod(temporary, mode)
        output.settle()
        os.replace(temporary, target)
        output.done()
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        if output is not None:
            output.undo()
            output.drop()
        raise


def _refuse_foreign(target: Path) -> None:
    folder = folder_of(target)
    if target.is_dir():
        raise OutputError(f"{target} is a folder; name a file, such as {target / 'report.html'}")
    foreign = folder.is_symlink() or (folder.exists() and not folder.is_dir())
    if foreign or (folder.is_dir() and any(folder.iterdir()) and not (folder / LIST).is_file()):
        raise OutputError(
            f"{folder} is there already and is no folder of a report; give the report another name"
        )


def _is_report(target: Path) -> bool:
    with target.open("rb") as file:
        return f'content="{GENERATOR}"'.encode() in file.read(LONGEST_HEAD)


def _ours(folder: Path) -> list[str]:
    """Names in our own list, as far as they are plain names of files there."""
    try:
        names = json.loads((folder / LIST).read_bytes())
    except (OSError, ValueError):
        return []
    known = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return [*(name for name in known if name == Path(name).name and name.endswith(".html")), LIST]


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
