"""Process criteria for requirements that a policy text states itself, and no others.

Benchmarks whose reward looks at the end state alone state such requirements in the agent's policy: one tool
call at a time, and no reply together with a call. They are found by wording, sentence by sentence, so that
a policy which does not ask for them is not held to them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard.model.checks import EventRef, Limit, Rule, RuleCheck
from steelyard.model.standard import Criterion, Dimension

ONE_CALL = "P1"
NO_TEXT = "P2"
PROCESS = Dimension(
    name="process",
    definition="The agent keeps to the manner of working that the policy in the file states.",
    scope="messages of the agent: how many calls one holds, and whether text stands beside a call",
)

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n\s*(?:[-*•]\s+|\d+[.)]\s+|\n)")
_CALL = (
    r"(?:(?:tool|function|api)s?(?:[ -](?:call|use|invocation)s?)?"
    r"|calls? (?:to )?(?:a |the )?(?:tool|function)s?)"
)
_AT_ONCE = (
    r"(?:at (?:a|one|the same) time|at once|simultaneously|concurrently|in parallel"
    r"|(?:per|in (?:a|one|each|the same|a single)) (?:message|turn|response|reply|step))"
)
_NOT = re.compile(r"\b(?:not|never|no|cannot|without|avoid|refrain|nor)\b|n['\u2019]t\b")
_ONE = re.compile(
    rf"(?<!more than )(?<!least )\b(?:one|1|a single)\s(?:[a-z]+\s)?{_CALL}\b.{{0,60}}?\b{_AT_ONCE}\b"
    rf"|\b{_CALL}\s(?:[a-z]+\s){{0,4}}?one (?:at a time|by one|after (?:the other|another))"
)
_SEVERAL = re.compile(
    r"\b(?:multiple|several|parallel|simultaneous|concurrent|(?:two|more than one)(?: or more)?)"
    rf"\s(?:[a-z]+\s)?{_CALL}\b"
)
_PARALLEL = re.compile(rf"\b{_CALL}\b.{{0,40}}?\b(?:in parallel|simultaneously|concurrently)\b")
_MAY = re.compile(
    r"\b(?:may|can|free to|allowed|fine|not required|(?:no|not a) problem|do not (?:need|have) to|need not)\b"
)
_FORBIDS_MAY = re.compile(r"\b(?:(?:may|can) not|cannot|not allowed|only|at most)\b")
_SPEAK = re.compile(r"\b(?:respond|response|reply|replies|answer|talk|speak|write|text|message)(?:s|ing)?\b")
_ACT = re.compile(rf"\b{_CALL}\b")
_TOGETHER = re.compile(
    rf"\b(?:{_AT_ONCE}|together with|along with|alongside|as well|also|in the same|combine|mix)\b"
)


def _sentences(policy: str) -> list[str]:
    return [" ".join(part.lower().split()) for part in _SENTENCE.split(policy) if part.strip()]


def _permits(sentence: str) -> bool:
    """Whether a sentence gives leave rather than an order ("you may make one tool call at a time or
    several").
    """
    return bool(_MAY.search(sentence)) and not _FORBIDS_MAY.search(sentence)


def _limits_to_one_call(sentence: str) -> bool:
    if _permits(sentence):
        return False
    if _ONE.search(sentence):
        return True
    stated = _SEVERAL.search(sentence) or _PARALLEL.search(sentence)
    return bool(stated) and bool(_NOT.search(sentence)) and not _speaks_with_call(sentence)


def _speaks_with_call(sentence: str) -> bool:
    return bool(
        _ACT.search(sentence)
        and _SPEAK.search(sentence)
        and _TOGETHER.search(sentence)
        and _NOT.search(sentence)
    )


def states_one_call(policy: str) -> bool:
    """Whether the text limits the agent to one tool call at a time."""
    return any(_limits_to_one_call(sentence) for sentence in _sentences(policy))


def states_no_text_with_call(policy: str) -> bool:
    """Whether the text forbids replying to the user together with a tool call."""
    return any(_speaks_with_call(sentence) and not _permits(sentence) for sentence in _sentences(policy))


def process_criteria(policy: str, gates: Sequence[str] = ()) -> tuple[Criterion, ...]:
    """The process criteria that the policy states (P1, P2); those named in `gates` are gates, the others
    reported.

    An empty tuple when the policy states neither.
    """
    found = []
    if states_one_call(policy):
        found.append(_one_call(ONE_CALL in gates))
    if states_no_text_with_call(policy):
        found.append(_no_text(NO_TEXT in gates))
    return tuple(found)


def _one_call(gate: bool) -> Criterion:
    rule = Rule(
        id="one_call_per_message",
        tool=("*",),
        glob=True,
        limit=Limit(scope="turn", max=1),
        layer="process",
        reason="The policy allows one tool call at a time.",
    )
    return Criterion(
        id=ONE_CALL,
        dimension=PROCESS.name,
        layer="process",
        rule="A message of the agent MUST NOT hold more than one tool call.",
        check=RuleCheck(rule=rule),
        gate=gate,
        failure_tag="SEVERAL_CALLS_IN_ONE_MESSAGE",
    )


def _no_text(gate: bool) -> Criterion:
    rule = Rule(
        id="no_text_with_call",
        tool=("*",),
        glob=True,
        never_with=EventRef(event="message"),
        layer="process",
        reason="The policy forbids a reply together with a tool call.",
    )
    return Criterion(
        id=NO_TEXT,
        dimension=PROCESS.name,
        layer="process",
        rule="A message of the agent that holds a tool call MUST NOT hold text for the user.",
        check=RuleCheck(rule=rule),
        gate=gate,
        failure_tag="TEXT_TOGETHER_WITH_CALL",
    )
