"""Code graders: `grader_for(spec)` gives the grader of a check; each kind is one module under `kinds`."""

from steelyard.checks.policy import Policy
from steelyard.checks.registry import grader_for

__all__ = ["Policy", "grader_for"]
