"""`calls`: expected tool calls against the attempted ones, by mode. The result is a pass or a fail."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import msgspec

from steelyard.checks.arguments import check_expected
from steelyard.checks.call_pairs import Comparison
from steelyard.checks.findings import empty_check, failed, passed
from steelyard.checks.matching import best_matching, check_size, is_subsequence
from steelyard.checks.show import names, show
from steelyard.model.checks import CallsCheck, ExpectedCall
from steelyard.model.evidence import agent_calls
from steelyard.model.trace import Step
from steelyard.model.verdict import Finding, Undecided
from steelyard.ports.grader import GraderInput

VERSION = "2"

_PRESENCE = frozenset({"in_order", "at_least", "each"})
"""Modes that ask for calls; the others also forbid some."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a mode found. `lasting`: no step that the record lost could change it."""

    holds: bool
    lasting: bool
    reason: str = ""
    cited: tuple[Step, ...] = ()


def reads(spec: CallsCheck) -> frozenset[str]:
    """Every attempted call."""
    return frozenset({"calls"})


def grade(spec: CallsCheck, given: GraderInput) -> Finding:
    """1 or 0; undecided where the format cannot hold calls, or an incomplete record leaves it open.

    All attempted calls count, denied ones and those of drafts included, in the order of the record; the calls of
    one message have none. A fail names step, tool and argument.
    """
    if not spec.expected and spec.mode in _PRESENCE:
        raise empty_check(f"mode {spec.mode} needs `expected` calls")
    for expected in spec.expected:
        check_expected(expected)
    fidelity = given.trace.fidelity
    if not fidelity.has_tool_calls:
        return Undecided(reason="this trace's format cannot hold tool calls")
    actual = agent_calls(given.trace, by=spec.by, agent=spec.agent)
    check_size(len(spec.expected), len(actual))
    compared = Comparison(spec.expected, actual)
    outcome = _MODES[spec.mode](compared)
    evidence = [step.id for step in outcome.cited[:50]]
    reason = f"{spec.mode}: {outcome.reason}"
    if not fidelity.complete and not outcome.lasting:
        return Undecided(reason=f"{reason}; the record is incomplete", evidence=tuple(evidence))
    return passed(reason, evidence) if outcome.holds else failed(reason, evidence)


def _turns(compared: Comparison) -> list[list[int]]:
    """The actual calls by message, in order; the calls of one message have no order among themselves."""
    places = range(len(compared.actual))
    return [list(turn) for _, turn in groupby(places, lambda place: compared.actual[place].turn)]


def _set_out(compared: Comparison, *, whole: bool) -> Comparison:
    """The same comparison with the calls of each message in the order that fits the expected ones best.

    `whole`: every call of a message stands against the expected call of its place; else a message takes as many of
    the next expected calls as it can, which leaves the most to the messages after it.
    """
    if len({step.turn for step in compared.actual}) == len(compared.actual):
        return compared
    order: list[int] = []
    done = 0
    for turn in _turns(compared):
        matched: dict[int, int] = {}
        longest = min(len(turn), len(compared.expected) - done)
        for size in (longest,) if whole else range(longest, 0, -1):
            found = best_matching([[a for a in turn if compared.fits(done + e, a)] for e in range(size)])
            if whole or len(found) == size:
                matched = found
                break
        free = iter([a for a in turn if a not in matched.values()])
        order.extend(matched[e] if e in matched else next(free) for e in range(len(turn)))
        done += len(turn) if whole else len(matched)
    return Comparison(compared.expected, [compared.actual[a] for a in order])


def _exact(given: Comparison) -> Outcome:
    compared = _set_out(given, whole=True)
    expected, actual = compared.expected, compared.actual
    first = next((i for i in range(min(len(expected), len(actual))) if not compared.fits(i, i)), None)
    if first is None and len(expected) == len(actual):
        return _all_fit(compared, [(i, i) for i in range(len(expected))], lasting=False)
    # Lost steps can only add calls: what was recorded must then be a part of what was expected.
    lasting = is_subsequence(len(actual), len(expected), lambda a, e: compared.fits(e, a)) is None
    if first is not None:
        return _fail(compared, f"call {first + 1}: {_mismatch(compared, first, first)}", lasting, first)
    if len(expected) > len(actual):
        return _fail(compared, f"{_missing(compared, len(actual))}; {_sizes(compared)}", lasting, None)
    return _fail(compared, f"{_extra(compared, len(expected))}; {_sizes(compared)}", lasting, len(expected))


def _in_order(given: Comparison) -> Outcome:
    compared = _set_out(given, whole=False)
    chosen = is_subsequence(len(compared.expected), len(compared.actual), compared.fits)
    if chosen is not None:
        return _all_fit(compared, list(enumerate(chosen)), lasting=True)
    start = 0
    for e in range(len(compared.expected)):
        right = next((a for a in range(start, len(compared.actual)) if compared.fits(e, a)), None)
        if right is None:
            earlier = next((a for a in range(start) if compared.fits(e, a)), None)
            if earlier is not None:
                step = compared.actual[earlier].id
                said = f"{_describe(compared.expected[e])} stands at {step}, not after the calls expected before it"
                return _fail(compared, said, False, earlier)
            return _fail(compared, _missing(compared, e), False, None)
        start = right + 1
    raise AssertionError("a sequence without a gap is a subsequence")


def _any_order(compared: Comparison) -> Outcome:
    matching = best_matching(compared.fitting())
    if len(matching) == len(compared.expected) == len(compared.actual):
        return _all_fit(compared, sorted(matching.items()), lasting=False)
    lasting = len(matching) < len(compared.actual)
    lacking = [e for e in range(len(compared.expected)) if e not in matching]
    if lacking:
        return _fail(compared, f"{_missing(compared, lacking[0])}; {_sizes(compared)}", lasting, None)
    extra = next(a for a in range(len(compared.actual)) if a not in set(matching.values()))
    return _fail(compared, f"{_extra(compared, extra)}; {_sizes(compared)}", lasting, extra)


def _at_least(compared: Comparison) -> Outcome:
    matching = best_matching(compared.fitting())
    lacking = [e for e in range(len(compared.expected)) if e not in matching]
    if lacking:
        return _fail(compared, _missing(compared, lacking[0]), False, None)
    return _all_fit(compared, sorted(matching.items()), lasting=True)


def _each(compared: Comparison) -> Outcome:
    fitting = compared.fitting()
    lacking = next((e for e, actual in enumerate(fitting) if not actual), None)
    if lacking is not None:
        return _fail(compared, _missing(compared, lacking), False, None)
    return _all_fit(compared, [(e, actual[0]) for e, actual in enumerate(fitting)], lasting=True)


def _only_from(compared: Comparison) -> Outcome:
    pairs: list[tuple[int, int]] = []
    for a in range(len(compared.actual)):
        e = next((e for e in range(len(compared.expected)) if compared.fits(e, a)), None)
        if e is None:
            return _fail(compared, _extra(compared, a), True, a)
        pairs.append((e, a))
    return _all_fit(compared, pairs, lasting=False)


_MODES: dict[str, Callable[[Comparison], Outcome]] = {
    "exact": _exact,
    "in_order": _in_order,
    "any_order": _any_order,
    "at_least": _at_least,
    "only_from": _only_from,
    "each": _each,
}


def _all_fit(compared: Comparison, pairs: list[tuple[int, int]], *, lasting: bool) -> Outcome:
    cited = tuple(dict.fromkeys(a for _, a in pairs))
    notes = [f"{compared.actual[a].id} {note}" for e, a in pairs if (note := compared.fit(e, a).note)]
    said = [f"{len(cited)} of {len(compared.actual)} calls as expected" if compared.actual else "0 calls"]
    if notes:
        said.append(names(notes, 3))
    steps = tuple(compared.actual[a] for a in cited)
    return Outcome(holds=True, lasting=lasting, reason="; ".join(said), cited=steps)


def _fail(compared: Comparison, reason: str, lasting: bool, at: int | None) -> Outcome:
    cited = (compared.actual[at],) if at is not None else ()
    return Outcome(holds=False, lasting=lasting, reason=reason, cited=cited)


def _missing(compared: Comparison, e: int) -> str:
    """What is not there, and how the nearest call of that tool differs."""
    wanted = compared.expected[e]
    said = f"no call fits {_describe(wanted)}"
    if not compared.actual:
        return f"{said}; 0 calls"
    named = [
        a for a, step in enumerate(compared.actual) if step.call is not None and step.call.name == wanted.name
    ]
    if not named:
        return f"{said}; called were {names([_name(step) for step in compared.actual])}"
    different = next((a for a in named if not compared.fits(e, a)), None)
    if different is None:
        return f"{said} that is not taken by another: {names([_name(compared.actual[a]) for a in named])}"
    return f"{said}; {_mismatch(compared, e, different)}"


def _extra(compared: Comparison, a: int) -> str:
    """Why an actual call is not expected: at which argument it differs where its tool is."""
    step = compared.actual[a]
    same_tool = [
        e for e, wanted in enumerate(compared.expected) if step.call and wanted.name == step.call.name
    ]
    unfit = next((e for e in same_tool if not compared.fits(e, a)), None)
    detail = f": {compared.fit(unfit, a).problem}" if unfit is not None else ""
    arguments = f" {show(step.call.args)}" if step.call is not None and not detail else ""
    return f"{_name(step)} is not expected{detail or arguments}"


def _mismatch(compared: Comparison, e: int, a: int) -> str:
    return f"{_name(compared.actual[a])}: {compared.fit(e, a).problem}"


def _sizes(compared: Comparison) -> str:
    return f"{len(compared.expected)} expected, {len(compared.actual)} made"


def _name(step: Step) -> str:
    return f"{step.id} {step.call.name}" if step.call is not None else step.id


def _describe(wanted: ExpectedCall) -> str:
    if wanted.args is msgspec.UNSET or wanted.only == ():
        return f"{wanted.name} (any arguments)"
    return f"{wanted.name} {show(wanted.args)}"
