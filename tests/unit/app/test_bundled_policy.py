"""Which policy wordings lead to process criteria, and which do not."""

from __future__ import annotations

import pytest

from steelyard.app.bundled_policy import process_criteria, states_no_text_with_call, states_one_call
from steelyard.model.checks import RuleCheck


@pytest.mark.parametrize(
    "policy",
    [
        "You should only make one tool call at a time, and never hurry.",
        "You should at most make one tool call at a time",
        "You may make at most one tool call at a time.",
        "You can only call one tool at a time.",
        "You must not make more than one tool call at a time.",
        "## Manner\n- Make only one function call per message.\n- Be kind.",
        "Never call several tools in parallel.",
        "Do not make multiple tool calls in one turn",
        "Don\u2019t issue parallel tool calls.",
        "Call tools one at a time.",
        "Tool calls must be made one at a time.",
        "USE A SINGLE TOOL\nPER TURN.",
    ],
)
def test_a_limit_to_one_call_is_found(policy: str) -> None:
    assert states_one_call(policy)


@pytest.mark.parametrize(
    "policy",
    [
        "",
        "A user can only have one bill in the AWAITING PAYMENT status at a time.",
        "You may make more than one tool call at a time.",
        "You can make multiple tool calls in one message.",
        "Parallel tool calls are fine.",
        "Multiple tool calls are allowed, but not required.",
        "You do not need to make one tool call at a time.",
        "Use one tool. Serve customers at a time that suits them.",
        "Do not respond to the user and make a tool call at the same time.",
    ],
)
def test_no_limit_to_one_call_is_made_up(policy: str) -> None:
    assert not states_one_call(policy)


@pytest.mark.parametrize(
    "policy",
    [
        "if you make a tool call, you should not respond to the user simultaneously.",
        "If you respond to the user, you should not make a tool call at the same time.",
        "Never reply to the user in the same message as a tool call.",
        "Do not combine a tool call with a text message.",
        "You cannot make a tool call and respond to the user at once.",
        "When calling a tool, do not also write to the user.",
    ],
)
def test_a_ban_on_text_beside_a_call_is_found(policy: str) -> None:
    assert states_no_text_with_call(policy)


@pytest.mark.parametrize(
    "policy",
    [
        "",
        "Do not respond before the tool call returns.",
        "You may respond to the user while making a tool call at the same time.",
        "You should only make one tool call at a time.",
        "Never reveal other customers' data.",
    ],
)
def test_no_ban_on_text_is_made_up(policy: str) -> None:
    assert not states_no_text_with_call(policy)


def test_the_criteria_follow_the_policy_and_gates_are_chosen() -> None:
    both = "Make one tool call at a time. Never reply to the user together with a tool call."
    reported = process_criteria(both)
    assert [(criterion.id, criterion.gate) for criterion in reported] == [("P1", False), ("P2", False)]
    assert [criterion.gate for criterion in process_criteria(both, ["P2"])] == [False, True]
    assert {criterion.dimension for criterion in reported} == {"process"}
    assert [criterion.failure_tag for criterion in reported] == [
        "SEVERAL_CALLS_IN_ONE_MESSAGE",
        "TEXT_TOGETHER_WITH_CALL",
    ]
    rules = [criterion.check.rule for criterion in reported if isinstance(criterion.check, RuleCheck)]
    assert rules[0].limit is not None
    assert (rules[0].limit.scope, rules[0].limit.max) == ("turn", 1)
    assert rules[1].never_with is not None
    assert rules[1].never_with.event == "message"
    assert process_criteria("Be kind.") == ()
