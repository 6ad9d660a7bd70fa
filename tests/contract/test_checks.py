"""One suite over all kinds of check: what every grader promises, whatever it grades."""

from __future__ import annotations

import subprocess
import sys
import typing
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from steelyard.checks import Policy, grader_for
from steelyard.errors import GraderError
from steelyard.model import checks as model
from steelyard.model.checks import (
    BudgetCheck,
    CallsCheck,
    ContainsCheck,
    EqualsCheck,
    EventRef,
    ExcludesCheck,
    ExpectedCall,
    ExprCheck,
    JsonCheck,
    LaterCheck,
    Limit,
    NumberCheck,
    PythonCheck,
    RecordedCheck,
    RecordsCheck,
    RegexCheck,
    Rule,
    RuleCheck,
)
from steelyard.model.evidence import resolve
from steelyard.model.standard import Fact
from steelyard.model.trace import ExternalScore, Trace
from steelyard.model.verdict import Score, Undecided
from unit.checks.trials import call, given, said, trace_of
from unit.checks.worlds import STATE_CASES

FACTS = {"limit": Fact(text="at most 16", data={"max": 16})}
SIXTEEN = trace_of(call("set", {"size": 16}), said("16"))
SIXTY_FOUR = trace_of(call("set", {"size": 64}), said("64"))
RECORD = '[{"id": 1}, {"id": 2}]'
HERE = Policy(folder=str(Path(__file__).parent))


def recorded(value: float) -> Trace:
    return trace_of(said("x"), external_scores=(ExternalScore(name="reward", value=value),))


# Kind, a check, a trial that does all it asks, and one that does the opposite.
CASES: list[tuple[str, Any, Trace, Trace]] = [
    ("equals", EqualsCheck(value="16"), SIXTEEN, SIXTY_FOUR),
    ("equals", EqualsCheck(value=16), SIXTEEN, SIXTY_FOUR),
    ("equals", EqualsCheck(of="call:set/args/size", value=16), SIXTEEN, SIXTY_FOUR),
    ("contains", ContainsCheck(all=("16",), any=("1", "x")), SIXTEEN, SIXTY_FOUR),
    ("excludes", ExcludesCheck(any=("64",)), SIXTEEN, SIXTY_FOUR),
    ("excludes", ExcludesCheck(of="call:set", any=("64",)), SIXTEEN, SIXTY_FOUR),
    ("regex", RegexCheck(pattern="^1[0-9]$"), SIXTEEN, SIXTY_FOUR),
    ("number", NumberCheck(max=Decimal(16)), SIXTEEN, SIXTY_FOUR),
    ("number", NumberCheck(of="call:set/args/size", value=Decimal(16)), SIXTEEN, SIXTY_FOUR),
    ("json", JsonCheck(schema={"type": "integer", "maximum": 16}), SIXTEEN, SIXTY_FOUR),
    ("json", JsonCheck(of="call:set", pointer="/size", value=16), SIXTEEN, SIXTY_FOUR),
    (
        "records",
        RecordsCheck(expected=({"id": 1}, {"id": 2}), key=("id",)),
        trace_of(said(RECORD)),
        trace_of(said("[]")),
    ),
    ("records", RecordsCheck(expected=({"id": 1},), ordered=True), trace_of(said(RECORD)), SIXTEEN),
    *(
        (
            "calls",
            CallsCheck(expected=(ExpectedCall(name="set", args={"size": 16}),), mode=mode),
            SIXTEEN,
            SIXTY_FOUR,
        )
        for mode in typing.get_args(typing.get_type_hints(CallsCheck)["mode"])
    ),
    ("budget", BudgetCheck(tool_calls=Decimal(1)), SIXTEEN, trace_of(call("f"), call("f"))),
    (
        "expr",
        ExprCheck(expr="0 < size <= facts.limit.max", let={"size": "call:set/args/size"}),
        SIXTEEN,
        SIXTY_FOUR,
    ),
    ("expr", ExprCheck(expr="answer == '16'"), SIXTEEN, SIXTY_FOUR),
    ("recorded", RecordedCheck(score="reward"), recorded(1.0), recorded(0.0)),
    ("python", PythonCheck(file="sixteen.py"), SIXTEEN, SIXTY_FOUR),
    ("rule", RuleCheck(rule=Rule(id="r", tool=("drop",))), SIXTEEN, trace_of(call("drop"))),
    *STATE_CASES,
    (
        "rule",
        RuleCheck(rule=Rule(id="r", tool=("*",), limit=Limit(scope="turn", max=1))),
        SIXTEEN,
        trace_of([call("a")] * 2),
    ),
    (
        "rule",
        RuleCheck(rule=Rule(id="r", tool=("b",), after=EventRef(tool="a"))),
        trace_of(call("a"), call("b")),
        trace_of(call("b")),
    ),
]
IDS = [f"{kind}-{index}" for index, (kind, *_) in enumerate(CASES)]
every_case = pytest.mark.parametrize(("kind", "spec", "best", "worst"), CASES, ids=IDS)

SURROGATES = "\ud800 x \udfff"
HUGE = 10**5_000


def deep(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"size": value}
    return value


HOSTILE_TEXTS = [
    "", " \n\t", SURROGATES, "\0", "a\0b", "9" * 5_000, "1e999999999", "-0", "NaN", "[" * 50_000, '{"a":' * 20_000,
    "```json\n```", "```", '{"a":1,"a":2}', "x" * 300_000, "\u202e16", "true", "null", "\"\\ud800\"",
]  # fmt: skip
HOSTILE_VALUES = [
    None, True, False, "", SURROGATES, "\0", HUGE, -HUGE, float("nan"), float("inf"),
    Decimal("sNaN"), Decimal("1e999999999"), [], {}, [None], {"": ""}, {SURROGATES: SURROGATES}, {"k" * 100_000: 1},
    deep(100), deep(100_000), ["x"] * 1_000, b"bytes", {1: 2},
]  # fmt: skip


def graded(spec: Any, trace: Trace, extracted: Any = None) -> Score | Undecided | None:
    """The finding, checked for what every finding must be; None where the check said that it can give none."""
    one = given(trace, facts=FACTS, extracted=extracted)
    try:
        finding = grader_for(spec, HERE).grade(spec, one)
    except GraderError as problem:
        assert problem.code
        assert str(problem).encode("utf-8")
        return None
    assert isinstance(finding, (Score, Undecided))
    assert finding.reason
    assert finding.reason.encode("utf-8")
    assert len(finding.reason) <= 12_000
    assert "\0" not in finding.reason
    for reference in finding.evidence:
        assert resolve(reference, trace, one.task) is not None
    if isinstance(finding, Score):
        assert isinstance(finding.value, Fraction)
        assert 0 <= finding.value <= 1
    return finding


def score(finding: Score | Undecided | None) -> Fraction | None:
    return finding.value if isinstance(finding, Score) else None


def test_every_kind_has_a_case() -> None:
    kinds = {kind.__struct_config__.tag for kind in typing.get_args(model.Check)}
    assert {kind for kind, *_ in CASES} == kinds


@every_case
def test_a_grader_says_what_it_is(kind: str, spec: Any, best: Trace, worst: Trace) -> None:
    grader = grader_for(spec, HERE)
    assert grader.kind == kind
    assert grader.version
    assert grader_for(spec, HERE).version == grader.version


@every_case
def test_the_best_passes_and_the_worst_fails(kind: str, spec: Any, best: Trace, worst: Trace) -> None:
    assert score(graded(spec, best)) == 1
    assert score(graded(spec, worst)) == 0


ABSENCE = {"rule", "budget", "provenance"}
"""Kinds that a trial which did nothing at all can meet, if its record is complete; `only_from` calls too."""


@every_case
def test_nothing_happened_is_no_pass(kind: str, spec: Any, best: Trace, worst: Trace) -> None:
    finding = graded(spec, trace_of())
    if kind in ABSENCE or getattr(spec, "mode", "") == "only_from":
        assert score(finding) == 1
        assert isinstance(finding, Score)
        assert "0" in finding.reason
    else:
        assert score(finding) in (None, 0)


@every_case
@pytest.mark.parametrize("text", HOSTILE_TEXTS, ids=range(len(HOSTILE_TEXTS)))
def test_hostile_replies(kind: str, spec: Any, best: Trace, worst: Trace, text: str) -> None:
    trace = trace_of(said(text, role="user"), said(text))
    assert graded(spec, trace) == graded(spec, trace)
    if not text.strip() and kind not in ABSENCE and getattr(spec, "mode", "") != "only_from":
        assert score(graded(spec, trace)) in (None, 0)


@every_case
@pytest.mark.parametrize("value", HOSTILE_VALUES, ids=range(len(HOSTILE_VALUES)))
def test_hostile_arguments(kind: str, spec: Any, best: Trace, worst: Trace, value: Any) -> None:
    for args in (value, {"size": value}):
        trace = trace_of(call("set", args, result=value), call(SURROGATES, args), said("done"))
        first = graded(spec, trace, extracted={"size": value})
        assert first == graded(spec, trace, extracted={"size": value})
        if kind not in ABSENCE and kind != "excludes":
            assert score(first) in (None, 0)


@every_case
def test_hostile_values_under_other_checks(kind: str, spec: Any, best: Trace, worst: Trace) -> None:
    for value in HOSTILE_VALUES:
        other = trace_of(call("drop", {"x": value}), call("b" * 100_000, error=SURROGATES), said("x"))
        finding = graded(spec, other)
        assert finding is None or finding == graded(spec, other)


READERS = [
    EqualsCheck(of="call:set/args/size", value=16),
    EqualsCheck(of="call:set", value={"size": 16}),
    ContainsCheck(of="call:set/args/size", any=("16",)),
    RegexCheck(of="call:set/args", pattern="^16$"),
    NumberCheck(of="call:set/args/size", value=Decimal(16), unit="ms"),
    NumberCheck(of="extracted.size", max=Decimal(16), min=Decimal(16)),
    JsonCheck(of="result:set", schema={"const": 16}),
    JsonCheck(of="extracted.size", pointer="/size", value=16),
    RecordsCheck(of="result:set", expected=(16,)),
    ExprCheck(expr="extracted.size == 16"),
    ExprCheck(expr="size * 1 == 16", let={"size": "result:set"}),
    ExprCheck(expr="calls[0].args.size == 16"),
    *(
        CallsCheck(expected=(ExpectedCall(name="set", args={"size": 16}, compare={"size": compare}),))
        for compare in ("datetime", "nocase", "number", {"abs_tol": 1}, {"rel_tol": 1})
    ),
]


@pytest.mark.parametrize("spec", READERS, ids=range(len(READERS)))
@pytest.mark.parametrize("value", HOSTILE_VALUES, ids=range(len(HOSTILE_VALUES)))
def test_no_hostile_value_passes_for_sixteen(spec: Any, value: Any) -> None:
    for args in (value, {"size": value}):
        trace = trace_of(call("set", args, result=value), said("done"))
        assert score(graded(spec, trace, extracted={"size": value})) in (None, 0)


@every_case
def test_the_order_of_parallel_calls_changes_nothing(kind: str, spec: Any, best: Trace, worst: Trace) -> None:
    ordered_by_nature = kind == "calls" and spec.mode in ("exact", "in_order")
    parts = [said("text"), call("a"), call("b"), call("drop", {"x": 1})]
    forward, backward = trace_of(parts), trace_of(list(reversed(parts)))
    assert ordered_by_nature or score(graded(spec, forward)) == score(graded(spec, backward))


@pytest.mark.parametrize("kind", ["later", *model.LATER_KINDS])
def test_kinds_that_come_later_never_give_a_score(kind: str) -> None:
    with pytest.raises(GraderError) as raised:
        grader_for(LaterCheck(kind=kind)).grade(LaterCheck(kind=kind), given(SIXTEEN))
    assert raised.value.code == "not_yet"
    assert kind in str(raised.value)


def test_what_is_no_check_is_refused() -> None:
    with pytest.raises(GraderError) as raised:
        grader_for(None)  # type: ignore[arg-type]
    assert raised.value.code == "unknown_kind"


def test_heavy_libraries_load_with_their_kind_only() -> None:
    program = (
        "import sys; from steelyard.checks import grader_for; from steelyard.model.checks import EqualsCheck\n"
        "grader_for(EqualsCheck(value='x'))\n"
        "print(sorted({'re2', 'simpleeval', 'jsonschema_rs', 'numpy', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
