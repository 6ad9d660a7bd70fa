"""What a check may point at: selectors (`of:`), JSON pointers, files of the suite. Only their form is looked at."""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath

from steelyard.standards.problems import quoted, suggestion

_CALL = re.compile(r"[^/#\[\]]+(?:\[-?[0-9]{1,6}\])?(?P<rest>/.*)?", re.DOTALL)
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*", re.DOTALL)
_FORMS = (
    "answer, answer#/pointer, said, call:NAME/args/pointer, result:NAME/pointer, state#/pointer, file:PATH "
    "(state_before#, file_before: for the start) or extracted.NAME"
)
_WORDS = ("answer", "said", "state", "call", "result", "file", "extracted", "state_before", "file_before")
_STATES = ("state", "state_before")
_FILES = ("file", "file_before")


def selector_fault(of: str) -> str | None:
    """Why a text is no selector, as the end of a sentence, or None."""
    if of in ("answer", "said", *_STATES):
        return None
    head, mark, pointer = of.partition("#")
    if mark and head in ("answer", *_STATES):
        return pointer_fault(pointer)
    if of.startswith("extracted."):
        name = of.removeprefix("extracted.")
        return None if name.strip() else f"names nothing to read; write {_FORMS}"
    scheme, colon, rest = of.partition(":")
    if not colon or scheme not in ("call", "result", *_FILES) or not rest:
        word = re.split(r"[^a-z_]", of.lower(), maxsplit=1)[0]
        near = suggestion(word, _WORDS) if word not in _WORDS else ""
        hint = near if "did you mean" in near else ""
        return f"{quoted(of)} names nothing that can be read; write {_FORMS}{hint}"
    if scheme in _FILES:
        return state_path_fault(rest)
    return _call_fault(of, scheme, rest)


def state_path_fault(path: str) -> str | None:
    """Why a text is no path of a file in a state, or None: relative, and inside the state's folder on any system."""
    posix, windows = PurePosixPath(path), PureWindowsPath(path)
    if not posix.parts or not path.strip() or any(ord(c) < 32 for c in path):
        return f"{quoted(path)} is no path of a file in the state's folder"
    if posix.is_absolute() or windows.is_absolute() or windows.drive or windows.root:
        return f"{quoted(path)} is an absolute path; write it relative to the state's folder"
    if ".." in posix.parts or ".." in windows.parts:
        return f"{quoted(path)} leaves the state's folder; write a path inside it"
    return None


def _call_fault(of: str, scheme: str, rest: str) -> str | None:
    matched = _CALL.fullmatch(rest)
    if matched is None:
        return f"{quoted(of)} names no tool; write {scheme}:NAME (a `/` in the name is written ~1)"
    tail = matched["rest"] or ""
    if scheme == "call" and tail and tail != "/args" and not tail.startswith("/args/"):
        return f"{quoted(of)} reads no argument; write {of.partition('/')[0]}/args{tail}"
    return pointer_fault(tail)


def pointer_fault(pointer: str) -> str | None:
    """Why a text is no JSON pointer (RFC 6901), or None."""
    if _POINTER.fullmatch(pointer):
        return None
    if not pointer.startswith("/"):
        return f"{quoted(pointer)} is no JSON pointer; it starts with `/`, as in /{pointer[:40]}"
    return f"{quoted(pointer)} is no JSON pointer; in a name `~` is written ~0 and `/` is written ~1"
