"""The version of this package, in one place; verdicts of another version are not used again."""

from __future__ import annotations

VERSION = "0.1.0"
