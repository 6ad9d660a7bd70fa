"""Ids of steps that survive another import of the same record."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from steelyard.model.trace import Part

_encode = msgspec.json.Encoder().encode


def content_uid(origin: str, kind: str, content: Any) -> str:
    """16 hex digits that stay the same when the same record is imported again.

    `origin` is the source's own id of the step, or its JSON pointer within the record.
    """
    body = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else _encode(content)
    prefix = f"{origin}\0{kind}\0".encode("utf-8", "surrogatepass")
    return hashlib.sha256(prefix + body).hexdigest()[:16]


def content_of(parts: tuple[Part, ...]) -> Any:
    """What parts stand for in a uid: their text where they are one text."""
    if len(parts) == 1 and parts[0].kind == "text":
        return parts[0].text
    return parts
