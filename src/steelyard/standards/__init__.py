"""Reads, validates and lints standards: suite files in YAML, JSON, TOML, or built in Python."""

from steelyard.standards.hashing import suite_hash
from steelyard.standards.load import load_suite
from steelyard.standards.parse import parse_suite
from steelyard.standards.positions import criterion_lines
from steelyard.standards.shapes import suite_schema

__all__ = ["criterion_lines", "load_suite", "parse_suite", "suite_hash", "suite_schema"]
