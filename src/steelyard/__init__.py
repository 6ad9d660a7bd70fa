"""Steelyard weighs what an agent did against a standard that was fixed before the run.

import steelyard as sy

suite = sy.load_suite("suite.yaml")
run = sy.grade(suite, sy.read_traces("traces.jsonl"))
run.scores.completion.value
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.errors import SteelyardError
from steelyard.model.version import VERSION

if TYPE_CHECKING:
    from steelyard.app import Run, grade, load_suite, read_traces, score_rows

__version__ = VERSION
__all__ = ["Run", "SteelyardError", "__version__", "grade", "load_suite", "read_traces", "score_rows"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from steelyard import app

    return getattr(app, name)
