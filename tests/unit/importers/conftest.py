from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.importers import read_traces
from steelyard.model.trace import Quarantined, Trace

Reader = Callable[..., list[Trace | Quarantined]]


@pytest.fixture
def read_lines(tmp_path: Path) -> Reader:
    """`read_lines(value, ...)`: what JSON Lines of these values (or raw bytes) are read as."""

    def read(*values: Any) -> list[Trace | Quarantined]:
        file = tmp_path / "recordings.jsonl"
        raw = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
        file.write_bytes(b"\n".join(raw) + b"\n")
        return list(read_traces(file))

    return read


@pytest.fixture
def read_one(read_lines: Reader) -> Callable[[Any], Trace]:
    """`read_one(value)`: the one trace of a recording."""

    def read(value: Any) -> Trace:
        (found,) = read_lines(value)
        assert isinstance(found, Trace), found
        return found

    return read
