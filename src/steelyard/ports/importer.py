"""What an importer of one trace format offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from steelyard.model.trace import Quarantined, Trace


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One decoded JSON document of an input file, and where it stands.

    `where` is `file:line` (JSON Lines) or `file` / `file#/pointer`; `pointer` is the JSON pointer of `value` within
    its file (`""` for a whole document), `line` the 1-based line for JSON Lines.
    """

    value: Any
    where: str
    file: str
    pointer: str = ""
    line: int | None = None
    file_sha256: str | None = None
    notices: tuple[tuple[str, str], ...] = ()
    """(code, detail) of oddities met while decoding: NaN, lone surrogates, duplicate keys."""


class Importer(Protocol):
    """One format. Input is untrusted: one bad record is yielded as `Quarantined`, never raised, never dropped."""

    @property
    def name(self) -> str: ...

    def matches(self, value: Any) -> bool:
        """Whether a decoded JSON document looks like this format; cheap, never raises."""
        ...

    def read(self, record: Record) -> Iterator[Trace | Quarantined]:
        """The traces in one document, in their order."""
        ...
