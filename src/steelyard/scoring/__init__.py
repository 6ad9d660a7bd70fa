"""Verdicts to scores: averages with their votes, completion, what-if. Pure: no input or output, no clock, no chance."""

from __future__ import annotations

from steelyard.scoring.score import score
from steelyard.scoring.whatif import Change, apply_changes, parse_change

__all__ = ["Change", "apply_changes", "parse_change", "score"]
