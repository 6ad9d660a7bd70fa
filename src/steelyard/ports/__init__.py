"""Protocols between the use cases and their adapters."""

from __future__ import annotations

from steelyard.ports.grader import Grader, GraderInput
from steelyard.ports.importer import Importer, Record

__all__ = ["Grader", "GraderInput", "Importer", "Record"]
