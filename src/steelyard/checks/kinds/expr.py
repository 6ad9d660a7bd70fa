"""`expr`: an expression over answer, facts, extracted values, calls and selected values; exact arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from steelyard.checks.evaluator import FROM_THE_AGENT, STATE, Evaluator, Expression, NoValueError, parse
from steelyard.checks.explain import explained
from steelyard.checks.facts import fact_value
from steelyard.checks.findings import FAIL, NO_PROPOSAL, PASS, failed, missing
from steelyard.checks.selectors import Absent, Found, aspects_of, select
from steelyard.checks.show import show
from steelyard.errors import GraderError
from steelyard.model.checks import ExprCheck
from steelyard.model.evidence import agent_calls
from steelyard.model.standard import Task
from steelyard.model.trace import Trace
from steelyard.model.verdict import Finding, Score, Undecided
from steelyard.ports.grader import GraderInput

VERSION = "1"

RESERVED = frozenset({"answer", "facts", "state", "extracted", "calls"})
_STATES = ("state", "file")
_ASPECTS = {
    "answer": "answer",
    "facts": "facts",
    "state": "state_after:json",
    "extracted": "extracted",
    "calls": "calls",
}


def reads(spec: ExprCheck) -> frozenset[str]:
    """What its selectors select, the facts that it names, and the parts of the trial that it reads by name."""
    return _reads(spec.expr, tuple(spec.let.items()), spec.cite)


@lru_cache(maxsize=512)
def _reads(text: str, let: tuple[tuple[str, str], ...], cite: tuple[str, ...]) -> frozenset[str]:
    expression, bound = parse(text), dict(let)
    aspects = set(aspects_of(*bound.values(), *cite))
    aspects.update(_ASPECTS[name] for name in expression.roots - bound.keys() if name in _ASPECTS)
    if _names_each_fact(expression.tree):
        aspects.discard("facts")
        aspects.update(f"fact:{name}" for name in expression.facts)
    return frozenset(aspects)


def _names_each_fact(tree: ast.expr) -> bool:
    """Whether every use of `facts` says which fact: `facts.a` or `facts["a"]`, not `facts[x]`."""
    uses = named = 0
    for node in ast.walk(tree):
        uses += isinstance(node, ast.Name) and node.id == "facts"
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name):
            constant = isinstance(node, ast.Attribute) or isinstance(node.slice, ast.Constant)
            named += node.value.id == "facts" and constant
    return uses == named


def grade(spec: ExprCheck, given: GraderInput) -> Finding:
    """1 or 0 for a bool; a number in 0..1 is the score itself, exactly.

    A selected or extracted value that is missing or null is a fail with NO_PROPOSAL; what the state lacks is a fail
    without it. Raises `GraderError`:
    `bad_expression`, `bad_reference`, `wrong_type`, `zero_division`, `too_large`, `non_finite` where it cannot be
    computed, and `nonsense` where the result is no verdict.
    """
    expression = parse(spec.expr)
    bound: dict[str, Found] = {}
    for name, of in spec.let.items():
        _check_name(name)
        found = select(of, given)
        if isinstance(found, Absent):
            tag = None if found.source in _STATES or found.unreadable else NO_PROPOSAL
            return missing(found) if found.undecided else failed(f"{name}: {found.reason}", tag=tag)
        if found.value is None and found.source not in _STATES:
            return failed(f"{name}: {of} is null", found.evidence, NO_PROPOSAL)
        bound[name] = found
    names = {name: found.value for name, found in bound.items()}
    unread = _add_trial(expression, given, names)
    if unread is not None:
        return unread
    evaluator = Evaluator(names, frozenset({*bound, FROM_THE_AGENT, "calls", STATE}))
    evidence = _evidence(spec, expression, bound, given)
    try:
        value = evaluator.value(expression.tree)
    except NoValueError as problem:
        return failed(str(problem), evidence, NO_PROPOSAL if problem.proposal else None)
    score = _score(value, spec.expr)
    reason = f"{_proposals(expression, names)}{explained(expression, evaluator, value)}"
    return Score(value=score, reason=reason, evidence=evidence)


def _check_name(name: str) -> None:
    if name in RESERVED or not name.isidentifier():
        raise GraderError(f"`let` cannot bind {show(name)}; choose another name.", code="bad_check")


def _add_trial(expression: Expression, given: GraderInput, names: dict[str, Any]) -> Finding | None:
    """Adds the names that the expression reads beside those of `let`; a finding where the trace lacks one."""
    names["facts"] = _Facts(given.task)
    names[FROM_THE_AGENT] = given.extracted
    if STATE in expression.roots - names.keys():
        state = select("state", given)
        if isinstance(state, Absent):
            return missing(state)
        names[STATE] = state.value
    if "calls" in expression.roots:
        fidelity = given.trace.fidelity
        if not (fidelity.has_tool_calls and fidelity.complete):
            what = "cannot hold tool calls" if not fidelity.has_tool_calls else "is incomplete"
            return Undecided(reason=f"the expression reads the calls, and this trace {what}")
        names["calls"] = _calls(given.trace)
    if "answer" in expression.roots:
        reply = select("answer", given)
        if isinstance(reply, Absent):
            return missing(reply)
        names["answer"] = reply.value
    return None


def _calls(trace: Trace) -> list[Mapping[str, Any]]:
    calls = (step.call for step in agent_calls(trace))
    return [
        {"name": call.name, "args": call.args, "executed": call.executed}
        for call in calls
        if call is not None
    ]


def _evidence(
    spec: ExprCheck, expression: Expression, bound: dict[str, Found], given: GraderInput
) -> tuple[str, ...]:
    """The steps of bound and cited values, the reply if it was read, and the facts used; each once, in order."""
    cited = [found for of in spec.cite if isinstance(found := select(of, given), Found)]
    if "answer" in expression.roots and isinstance(reply := select("answer", given), Found):
        cited.append(reply)
    references = [reference for found in (*bound.values(), *cited) for reference in found.evidence]
    facts = [f"fact:{name}" for name in expression.facts if name in given.task.facts]
    return tuple(dict.fromkeys([*references, *facts, *_of_state(expression, given)]))


def _of_state(expression: Expression, given: GraderInput) -> list[str]:
    """The members of the state that were read, as references; the whole of it where none is named."""
    if STATE not in expression.roots:
        return []
    parts = (name.replace("~", "~0").replace("/", "~1") for name in expression.state if name.isprintable())
    read = [select(f"state#/{part}", given) for part in parts]
    named = [reference for found in read if isinstance(found, Found) for reference in found.evidence]
    return named or ["state:"]


def _score(value: Any, text: str) -> Fraction:
    if isinstance(value, bool):
        return PASS if value else FAIL
    if isinstance(value, (int, Fraction)) and 0 <= value <= 1:
        return Fraction(value)
    raise GraderError(
        f"The expression {show(text)} gives {show(value)}; a check must give true, false, or a number in 0..1.",
        code="nonsense",
    )


def _proposals(expression: Expression, names: Mapping[str, Any]) -> str:
    """`proposal = 64: ` - what was read from the trial, before it is computed with."""
    said = [
        f"{name} = {show(names[name])}" for name in names if name in expression.roots and name not in RESERVED
    ]
    extracted = names[FROM_THE_AGENT]
    said += [f"{name} = {show(extracted[name])}" for name in expression.extracted if name in extracted]
    return f"{', '.join(said)}: " if said else ""


class _Facts(Mapping[str, Any]):
    """The facts of a task by name: the fields of their data directly, and `text`; plain data is the fact itself."""

    def __init__(self, task: Task) -> None:
        self._facts = task.facts

    def __getitem__(self, name: str) -> Any:
        return fact_value(self._facts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)
