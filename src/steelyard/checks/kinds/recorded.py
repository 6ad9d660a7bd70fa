"""`recorded` with a score's name: the verdict that the source of the trace recorded itself."""

from __future__ import annotations

import math

from steelyard.checks.numbers import exact
from steelyard.errors import GraderError
from steelyard.model.checks import RecordedCheck
from steelyard.model.verdict import Finding, Score
from steelyard.ports.grader import GraderInput

VERSION = "1"


def reads(spec: RecordedCheck) -> frozenset[str]:
    """The verdicts that the source recorded."""
    return frozenset({"external"})


def grade(spec: RecordedCheck, given: GraderInput) -> Finding:
    """The recorded score, exactly as written.

    Raises `GraderError`: `missing_row` without a score's name (rows are matched before a check is asked),
    `missing_record` when the trace has no such score or none was measured, `conflict` when it has several that
    differ, `non_finite` and `out_of_range` for values that are no score.
    """
    if spec.score is None:
        raise GraderError(
            "No recorded verdict was given for this criterion; pass its row with --recorded.",
            code="missing_row",
        )
    recorded = [score for score in given.trace.external_scores if score.name == spec.score]
    values = [score.value for score in recorded if score.value is not None]
    if not recorded or len(values) < len(recorded):
        what = "holds no score of that name" if not recorded else "names it without a value"
        raise GraderError(f"Recorded score {spec.score!r}: the trace {what}.", code="missing_record")
    if not all(math.isfinite(value) for value in values):
        raise GraderError(f"Recorded score {spec.score!r} is not a finite number.", code="non_finite")
    if len(set(values)) > 1:
        raise GraderError(
            f"Recorded score {spec.score!r} stands several times with different values.", code="conflict"
        )
    value = exact(values[0])
    if value is None or not 0 <= value <= 1:
        raise GraderError(f"Recorded score {spec.score!r} is {values[0]}, outside 0..1.", code="out_of_range")
    detail = f": {recorded[0].detail}" if recorded[0].detail else ""
    return Score(value=value, reason=f"recorded as {spec.score} = {values[0]:g}{detail}")
