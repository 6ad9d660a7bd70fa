"""The identity of a standard: what it says, not how or where it was written."""

from __future__ import annotations

import hashlib

import msgspec

from steelyard.model.standard import Suite


def suite_hash(suite: Suite) -> str:
    """SHA-256 (hex) over the canonical JSON of the content: sorted keys, no spaces, UTF-8, decimals as text.

    The folder, the notices and the hash itself are not part of it. Loaders keep decimals in their shortest form, so
    that 1 and 1.0 are the same content.
    """
    content = msgspec.structs.replace(suite, hash="", folder="", notices=())
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()
