"""Disagreements between what is computed here and what the benchmark recorded are found, and only those."""

from __future__ import annotations

from steelyard.app.bundled_tau2 import build_tau2, cross_check, distrust_mismatched, watched
from steelyard.model.standard import Suite
from steelyard.model.table import ScoreTable
from steelyard.model.trace import ExternalScore, Notice, Quarantined, Source, Trace
from steelyard.model.verdict import Graded, TrialRow
from steelyard.scoring import score

FILE = {
    "tasks": [
        {
            "id": "t1",
            "evaluation_criteria": {
                "reward_basis": ["DB", "COMMUNICATE"],
                "actions": [{"name": "a", "arguments": {}}],
                "communicate_info": ["42"],
            },
        }
    ]
}


def suite() -> Suite:
    return build_tau2(FILE)


def table(ended_by: str = "user_stop", **scores: float) -> ScoreTable:
    verdicts = {"DB": 1.0, "COMMUNICATE": 1.0, "ACTION": 1.0, **scores}
    rows = [Graded(task="t1", criterion=name, score=value) for name, value in verdicts.items()]
    return score(suite(), [TrialRow(task="t1", ended_by=ended_by, trace="sim-1"), *rows])


def trace(*notices: str, **recorded: float | None) -> Trace:
    return Trace(
        id="sim-1",
        source=Source(format="tau2", importer="tau2"),
        steps=(),
        task_id="t1",
        external_scores=tuple(ExternalScore(name=name, value=value) for name, value in recorded.items()),
        notices=tuple(Notice(code=code, detail="") for code in notices),
    )


def codes(found: ScoreTable, given: Trace) -> list[tuple[str, str]]:
    return [(notice.code, notice.where) for notice in cross_check(found, [given])]


def test_agreement_is_silent() -> None:
    assert codes(table(), trace(reward=1.0, ACTION=1.0, COMMUNICATE=1.0)) == []
    assert codes(table(COMMUNICATE=0), trace(reward=0.0, ACTION=1.0, COMMUNICATE=0.0)) == []
    assert codes(table(), trace(reward=1 - 1e-9)) == []


def test_components_outside_the_basis_do_not_touch_the_reward() -> None:
    assert codes(table(ACTION=0), trace(reward=1.0, ACTION=0.0)) == []


def test_each_disagreement_names_simulation_task_and_component() -> None:
    notices = cross_check(table(COMMUNICATE=0), [trace(reward=1.0, ACTION=0.0, COMMUNICATE=1.0)])
    assert {(notice.code, notice.where) for notice in notices} == {
        ("reward_differs", "t1#1"),
        ("component_differs", "t1#1/ACTION"),
        ("component_differs", "t1#1/COMMUNICATE"),
    }
    assert all("sim-1" in notice.detail and "t1" in notice.detail for notice in notices)


def test_a_premature_end_earns_nothing() -> None:
    assert codes(table(ended_by="max_turns"), trace(reward=0.0)) == []
    assert codes(table(ended_by="max_turns"), trace(reward=1.0)) == [("reward_differs", "t1#1")]


def test_what_was_not_recorded_is_not_compared() -> None:
    assert codes(table(COMMUNICATE=0), trace(reward=None, ACTION=None, COMMUNICATE=None)) == []


def test_scores_of_other_criteria_lose_their_value_and_are_said() -> None:
    given = trace("criteria_mismatch", reward=1.0, DB=1.0)
    emptied = distrust_mismatched(given)
    assert [(score.name, score.value) for score in emptied.external_scores] == [
        ("reward", None),
        ("DB", None),
    ]
    assert all("not those of the named task" in score.detail for score in emptied.external_scores)
    assert codes(table(), given) == [("criteria_mismatch", "t1#1")]
    plain = trace("other_notice", reward=1.0)
    assert distrust_mismatched(plain) is plain


def test_simulations_that_share_an_id_are_said_and_not_compared() -> None:
    twins = [TrialRow(task="t1", trial=number, ended_by="user_stop", trace="sim-1") for number in (1, 2)]
    found = score(suite(), twins)
    given = trace(reward=1.0)
    assert [notice.code for notice in cross_check(found, [given, given])] == ["ambiguous_simulation"]


def test_watching_passes_everything_on_and_keeps_what_the_audit_needs() -> None:
    kept: list[Trace] = []
    lost = Quarantined(where="f:1", reason="broken")
    given = [trace("criteria_mismatch", reward=1.0), lost]
    passed = list(watched(given, kept))
    assert passed == [distrust_mismatched(trace("criteria_mismatch", reward=1.0)), lost]
    assert [entry.external_scores for entry in kept] == [trace(reward=1.0).external_scores]
