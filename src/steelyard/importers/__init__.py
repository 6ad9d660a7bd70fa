"""Reads recordings of agents into canonical traces. Input is untrusted."""

from steelyard.importers.detect import known_formats, read_traces
from steelyard.importers.reading import read_records

__all__ = ["known_formats", "read_records", "read_traces"]
