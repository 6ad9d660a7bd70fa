"""Names for files and folders that stand for ids: safe, and never the same for two ids."""

from __future__ import annotations

import hashlib
import re

MOST_BYTES = 120
"""Bytes of a safe name; with an extension it stays within what every file system takes."""

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-.")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_ESCAPED = re.compile(rb"\+([0-9a-f]{2})")
_HALF_ESCAPE = re.compile(r"\+[0-9a-f]?\Z")
_EMPTY = "+"
_CUT = "++"


def safe_name(id: str) -> str:
    """A file name for an id: at most 120 bytes of `a-z 0-9 _ - . +`, different for different ids.

    Lower-case letters, digits, `_`, `-` and inner dots stay; every other byte of the UTF-8 text becomes `+xx`, so that
    "A" and "a" differ on any file system and no name is `..`, hidden, or a device of Windows. The name of a long id
    ends in `++` and the SHA-256 of the id; every other one can be read back with `id_of`.
    """
    data = id.encode("utf-8", "surrogatepass")
    parts = [chr(byte) if byte in _PLAIN else f"+{byte:02x}" for byte in data]
    if not parts:
        return _EMPTY
    if data.startswith(b".") or _RESERVED.fullmatch(id):
        parts[0] = f"+{data[0]:02x}"
    if data.endswith(b"."):
        parts[-1] = f"+{data[-1]:02x}"
    name = "".join(parts)
    if len(name) <= MOST_BYTES:
        return name
    digest = hashlib.sha256(data).hexdigest()
    start = name[: MOST_BYTES - len(_CUT) - len(digest)]
    return _HALF_ESCAPE.sub("", start) + _CUT + digest


def id_of(name: str) -> str | None:
    """The id that `safe_name` made this name from; null for a shortened name, or one that it never makes."""
    if name == _EMPTY:
        return ""
    if _CUT in name:
        return None
    try:
        data = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), name.encode("ascii"))
        id = data.decode("utf-8", "surrogatepass")
    except UnicodeError:
        return None
    return id if safe_name(id) == name else None
