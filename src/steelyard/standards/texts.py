"""Bytes to text, and files that a suite may name: inside its own folder, of a bounded size."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath


class TextError(ValueError):
    """A file that cannot be used; the message is a sentence."""


def to_unicode(data: bytes, name: str) -> str:
    """UTF-8, with or without a byte order mark. Raises `TextError` with the line of the first bad byte."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TextError(f"{name} is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TextError(
            f"{name}:{line}: is not valid UTF-8 (byte {error.start}); save the file as UTF-8"
        ) from error
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise TextError(f"{name}:{line}: holds a NUL character; remove it")
    return text


def path_fault(file: str) -> str | None:
    """Why a file name may not stand in a suite, or None: it must lead into the suite's own folder on any system."""
    windows, posix = PureWindowsPath(file), PurePosixPath(file)
    if not file.strip() or any(ord(c) < 32 for c in file):
        return "is no file name"
    if posix.is_absolute() or windows.is_absolute() or windows.drive or windows.root:
        return f"{file!r} is an absolute path; write it relative to the suite's folder"
    if ".." in posix.parts or ".." in windows.parts:
        return f"{file!r} leaves the suite's folder; move the file beside the suite"
    return None


def inside_folder(file: str, folder: str) -> Path:
    """The path of a file in the suite's folder; links that lead out of it are refused too."""
    fault = path_fault(file)
    if fault:
        raise TextError(fault)
    try:
        root = Path(folder).resolve()
        path = (root / file).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise TextError(f"{file!r} cannot be looked up: {error}") from error
    if not path.is_relative_to(root):
        raise TextError(f"{file!r} leads out of the suite's folder through a link; put the file itself there")
    return path


def read_limited(path: Path, limit: int) -> bytes:
    """The whole file, or a `TextError`: not there, not a file, not readable, or larger than `limit` bytes."""
    try:
        if path.is_dir():
            raise TextError(f"{path.name} is a folder; name a file")
        if not path.exists():
            raise TextError(f"{path.name} does not exist in {path.parent}")
        if not path.is_file():
            raise TextError(f"{path.name} is not a regular file")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except TextError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TextError(f"{path.name} cannot be read: {reason}") from error
    if len(data) > limit:
        raise TextError(f"{path.name} is larger than {limit // (1024 * 1024)} MB; split it")
    return data
