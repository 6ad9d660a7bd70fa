"""Ids of steps that survive another import of the same record."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from steelyard.model.trace import Part

_PIECE = 1 << 20
"""Characters that are encoded at a time: a second copy of a text of hundreds of megabytes is not made."""

_encode = msgspec.json.Encoder().encode


def content_uid(origin: str, kind: str, content: Any) -> str:
    """16 hex digits that stay the same when the same record is imported again.

    `origin` is the source's own id of the step, or its JSON pointer within the record.
    """
    if isinstance(content, str) and len(content) < _PIECE:
        whole = f"{origin}\0{kind}\0{content}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(whole).hexdigest()[:16]
    digest = hashlib.sha256(f"{origin}\0{kind}\0".encode("utf-8", "surrogatepass"))
    if isinstance(content, str):
        for start in range(0, len(content), _PIECE):
            digest.update(content[start : start + _PIECE].encode("utf-8", "surrogatepass"))
    else:
        digest.update(_encode(content))
    return digest.hexdigest()[:16]


def content_of(parts: tuple[Part, ...]) -> Any:
    """What parts stand for in a uid: their text where they are one text."""
    if len(parts) == 1 and parts[0].kind == "text":
        return parts[0].text
    return parts
