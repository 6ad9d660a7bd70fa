"""Use cases on ports: traces and recorded verdicts to rows."""

from __future__ import annotations

from steelyard.grading.engine import Engine
from steelyard.grading.recorded import RecordedRows
from steelyard.grading.rows import Row, read_row, read_rows, write_row

__all__ = ["Engine", "RecordedRows", "Row", "read_row", "read_rows", "write_row"]
