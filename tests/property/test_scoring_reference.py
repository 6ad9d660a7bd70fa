"""Random suites against the independent reference, which was written from the published rules alone."""

from __future__ import annotations

import json
import random

import pytest
from tests.reference.compare import differences
from tests.reference.generate import random_case, row_line
from tests.reference.scorer import score as reference

from steelyard.app.run import Run
from steelyard.grading.rows import read_row
from steelyard.model.trace import Quarantined
from steelyard.report import score_json
from steelyard.standards import parse_suite

CASES_PER_SEED = 60
OTHER_SHAPE = (".pass_hat_k.", ".pass_at_k.", ".completion.always", ".fault", "trials.None")
"""Keys that only the reference writes: k beyond the trials, its own words for faults, its unnumbered empty trials."""


def _difference(found: str) -> bool:
    return not ("MISSING" in found and any(key in found for key in OTHER_SHAPE))


@pytest.mark.parametrize("seed", range(10))
def test_scores_agree_with_the_reference(seed: int) -> None:
    for number in range(CASES_PER_SEED):
        plain, rows = random_case(random.Random(seed * 100_000 + number))
        expected = reference(plain, rows)
        text = json.dumps(plain, default=float).encode()
        standard = parse_suite(text, name="random.json", format="json", folder=".")
        read = [read_row(f"rows:{line}", row_line(row).encode()) for line, row in enumerate(rows)]
        run = Run(suite=standard, rows=[row for row in read if not isinstance(row, Quarantined)], full=True)
        found = list(
            filter(_difference, differences(expected, json.loads(score_json(run.scores, full=True))))
        )
        assert not found, f"seed {seed * 100_000 + number}: {found[:5]}"
        if run.scores.exit_code != 4:  # nothing evaluated has its own code here; the reference leaves it out
            assert run.scores.exit_code == expected["exit_code"], f"seed {seed * 100_000 + number}"
