"""Reads recordings of agents into canonical traces. Input is untrusted."""

from steelyard.importers.detect import known_formats, read_traces
from steelyard.importers.reading import find_files, read_records

__all__ = ["find_files", "known_formats", "read_records", "read_traces"]
