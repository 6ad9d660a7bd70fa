"""A policy that a benchmark's reward does not look at, over its public runs: one tool call in a message."""

from __future__ import annotations

from pathlib import Path

from steelyard.importers import read_traces
from steelyard.model.checks import Limit, Rule, RuleCheck
from steelyard.model.trace import Trace
from unit.checks.trials import grade

ONE_CALL = RuleCheck(rule=Rule(id="one-call", tool=("*",), limit=Limit(scope="turn", max=1)))


def test_half_of_the_rewarded_runs_break_the_policy(shared_dir: Path) -> None:
    file = shared_dir / "data" / "tau2" / "telecom__gpt-4o__default__20sims.json"
    traces = [trace for trace in read_traces(file) if isinstance(trace, Trace)]
    rewarded = [
        trace for trace in traces if any(s.name == "reward" and s.value == 1 for s in trace.external_scores)
    ]
    broken = {trace.task_id: grade(ONE_CALL, trace) for trace in rewarded}
    assert len(broken) == 14
    assert sum(finding.value == 0 for finding in broken.values()) == 7
    example = broken["[mms_issue]break_app_sms_permission[PERSONA:None]"]
    assert "message 14" in example.reason
