"""The identity of a standard: what it says, not how or where it was written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from steelyard.model.standard import Suite

_AT_ONCE = 1_000


def suite_hash(suite: Suite) -> str:
    """SHA-256 (hex) over the canonical JSON of the content: sorted keys, no spaces, UTF-8, decimals as text.

    The folder, the notices and the hash itself are not part of it. Loaders keep decimals in their shortest form, so
    that 1 and 1.0 are the same content.
    """
    return hash_and_find(suite, b"")[0]


def hash_and_find(suite: Suite, mark: bytes) -> tuple[str, bool]:
    """The hash, and whether `mark` stands in the content of any task or of what is around them."""
    digest, found = hashlib.sha256(), False
    for part in _canonical(suite):
        digest.update(part)
        found = found or mark in part
    return digest.hexdigest(), found


def _canonical(suite: Suite) -> Iterator[bytes]:
    """The canonical JSON that the hash is over, in parts, so that a large suite never stands there twice."""
    rest = msgspec.json.encode(
        msgspec.structs.replace(suite, hash="", folder="", notices=(), tasks=()), order="sorted"
    )
    # Behind the tasks come the version and the weights, which hold no list.
    head, mark, tail = rest.rpartition(b'"tasks":[]')
    yield head + mark[:-1]
    for start in range(0, len(suite.tasks), _AT_ONCE):
        part = msgspec.json.encode(suite.tasks[start : start + _AT_ONCE], order="sorted")
        yield (b"," if start else b"") + part[1:-1]
    yield mark[-1:] + tail
