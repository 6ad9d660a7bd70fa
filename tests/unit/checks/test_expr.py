"""expr: exact arithmetic over a trial, and nothing else than that."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from steelyard.errors import GraderError
from steelyard.model.checks import ExprCheck
from steelyard.model.standard import Fact
from steelyard.model.verdict import Undecided
from unit.checks.trials import INCOMPLETE, NO_CALLS, call, grade, said, trace_of, verdict

CAPACITY = Fact(text="100 connections", data={"max": 100, "reserved": 20, "maintenance": 16, "instances": 4})
FACTS = {
    "capacity": CAPACITY,
    "price": Fact(
        data={"vat": 0.1, "net": Decimal("0.2"), "values": [1, 2.5], "items": "x", "nan": float("nan")}
    ),
    "limit": Fact(data=5),
    "policy": Fact(text="ask first"),
}
FITS = "{} * facts.capacity.instances <= facts.capacity.max - facts.capacity.reserved - facts.capacity.maintenance"


def value(expr: str, trace: Any = None, **more: Any) -> Any:
    return verdict(ExprCheck(expr=expr), trace or trace_of(said("Paris")), facts=FACTS, **more)


def code(expr: str, **more: Any) -> str:
    with pytest.raises(GraderError) as raised:
        value(expr, **more)
    assert len(str(raised.value)) < 500
    return raised.value.code


def test_the_remedy_that_does_not_fit() -> None:
    spec = ExprCheck(expr=FITS.format("extracted.pool_size"))
    finding = grade(spec, trace_of(), facts=FACTS, extracted={"pool_size": 64})
    assert finding.value == 0
    assert finding.reason == "pool_size = 64: 64 * 4 = 256 <= 64 = 100 - 20 - 16 does not hold"
    assert finding.evidence == ("fact:capacity",)
    assert grade(spec, trace_of(), facts=FACTS, extracted={"pool_size": 16}).value == 1


def test_a_proposal_comes_from_a_field_and_is_cited() -> None:
    spec = ExprCheck(
        expr=FITS.format("proposal"),
        let={"proposal": "call:recommend/args/pool_size"},
        cite=("result:read_capacity", "call:none"),
    )
    trace = trace_of(call("read_capacity", result={"max": 100}), call("recommend", {"pool_size": 16}))
    finding = grade(spec, trace, facts=FACTS)
    assert finding.value == 1
    assert finding.evidence == ("s0003/args/pool_size", "e1", "fact:capacity")
    assert finding.reason.startswith("proposal = 16: 16 * 4 = 64 <= 64 = ")


@pytest.mark.parametrize("args", [{}, {"pool_size": None}])
def test_no_proposal_is_a_fail_with_its_own_tag(args: Any) -> None:
    spec = ExprCheck(expr=FITS.format("proposal"), let={"proposal": "call:recommend/args/pool_size"})
    finding = grade(spec, trace_of(call("recommend", args), said("do not set this to 64")), facts=FACTS)
    assert (finding.value, finding.failure_tag) == (0, "NO_PROPOSAL")


@pytest.mark.parametrize("extracted", [{}, {"pool_size": None}, {"other": 1}])
def test_nothing_extracted_is_no_proposal(extracted: Any) -> None:
    finding = grade(
        ExprCheck(expr=FITS.format("extracted.pool_size")), trace_of(), facts=FACTS, extracted=extracted
    )
    assert (finding.value, finding.failure_tag) == (0, "NO_PROPOSAL")


def test_what_the_record_cannot_show_is_undecided() -> None:
    spec = ExprCheck(expr="x == 1", let={"x": "call:f/args/x"})
    assert isinstance(grade(spec, trace_of(fidelity=NO_CALLS)), Undecided)
    assert isinstance(grade(ExprCheck(expr="len(calls) == 0"), trace_of(fidelity=NO_CALLS)), Undecided)
    assert isinstance(grade(ExprCheck(expr="len(calls) == 0"), trace_of(fidelity=INCOMPLETE)), Undecided)


@pytest.mark.parametrize(
    ("expr", "score"),
    [
        ("0.1 + 0.2 == 0.3", 1),
        ("facts.price.vat + facts.price.net == 0.3", 1),
        ("0.1000000000000000000001 == 0.1", 0),
        ("1 / 3 * 3 == 1", 1),
        ("1 / 3", Fraction(1, 3)),
        ("4 / 5", Fraction(4, 5)),
        ("0.8", Fraction(4, 5)),
        ("1", 1),
        ("7 // 2 == 3 and 7 % 2 == 1 and 2 ** 10 == 1024 and -2 ** 2 == -4", 1),
        ("2 ** -1 == 0.5", 1),
        ("round(2.675, 2) == 2.68", 1),
        ("round(0.5) == 0 and round(1.5) == 2", 1),
        ("sum(facts.price.values) == 3.5", 1),
        ("max(facts.price.values) == 2.5 and min(3, 1, 2) == 1 and abs(-3) == 3", 1),
        ("facts.price.items == 'x'", 1),
        ("facts.price.values[1] == 2.5 and facts.price['values'][-1] == 2.5", 1),
        ("facts.limit == 5", 1),
        ("facts.policy.text == 'ask first'", 1),
        ("facts.capacity.text == '100 connections'", 1),
        ("1 == 1.0", 1),
        ("1 == True", 0),
        ("1 == '1'", 0),
        ("0 == False", 0),
        ("[1, 2] == [1.0, 2.0]", 1),
        ("answer == 'Paris'", 1),
        ("answer.lower().startswith('par')", 1),
        ("'ari' in answer and 'x' not in answer", 1),
        ("2.5 in facts.price.values and True not in [1]", 1),
        ("len(answer) == 5", 1),
        ("1 < 2 < 3", 1),
        ("1 < 3 < 2", 0),
        ("(1 if answer == 'Paris' else 0) == 1", 1),
        ("not (1 == 2 or 2 == 3)", 1),
        ("all([1 == 1, 2 == 2]) and any([1 == 2, 2 == 2])", 1),
        ("len(calls) == 0", 1),
        ("true and not false", 1),
    ],
)
def test_values(expr: str, score: Any) -> None:
    assert value(expr) == score


def test_calls_are_data() -> None:
    trace = trace_of(call("f", {"x": 1}), call("g"))
    assert value("len(calls) == 2 and calls[0].name == 'f' and calls[0].args.x == 1", trace) == 1


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("2", "nonsense"),
        ("-1", "nonsense"),
        ("'yes'", "nonsense"),
        ("None", "nonsense"),
        ("[1]", "nonsense"),
        ("facts.capacity", "nonsense"),
        ("facts.price.nan < 1", "non_finite"),
        ("facts.price.nan == facts.price.nan", "non_finite"),
        ("1e999 > 1", None),
        ("1e99999999 > 1", "too_large"),
        ("1 / 0 == 1", "zero_division"),
        ("0 ** -1 == 1", "zero_division"),
        ("9 ** 9 ** 9 > 1", "too_large"),
        ("10 ** 999 * 10 ** 999 * 10 ** 999 > 1", None),
        ("2 ** 0.5 > 1", "wrong_type"),
        ("'a' * 1000000 == 'a'", "wrong_type"),
        ("True + 1 == 2", "wrong_type"),
        ("'1' + 1 == 2", "wrong_type"),
        ("1 < 'a'", "wrong_type"),
        ("None < 1", "wrong_type"),
        ("1 and 1 == 1", "wrong_type"),
        ("answer == 'London' or 'x'", "wrong_type"),
        ("not 0", "wrong_type"),
        ("max([]) == 1", "wrong_type"),
        ("1 in 5", "wrong_type"),
        ("nothing == 1", "bad_reference"),
        ("facts.none.x == 1", "bad_reference"),
        ("facts.capacity.none == 1", "bad_reference"),
        ("facts.price.values[9] == 1", "bad_reference"),
        ("", "bad_expression"),
        ("1 +", "bad_expression"),
        ("x = 1", "bad_expression"),
        ("1; 2", "bad_expression"),
        ("import os", "bad_expression"),
        ("__import__('os')", "bad_expression"),
        ("answer.__class__ == 1", "bad_reference"),
        ("answer.format('x') == 'x'", "bad_expression"),
        ("facts.price.values.pop() == 1", "bad_expression"),
        ("(lambda: 1)() == 1", "bad_expression"),
        ("[x for x in [1]] == [1]", "bad_expression"),
        ("f'{answer}' == 'Paris'", "bad_expression"),
        ("1 << 1000000 > 1", "bad_expression"),
        ("~1 == 2", "bad_expression"),
        ("1 is 1", "bad_expression"),
        ("1j == 1", "bad_expression"),
        ("b'x' == 'x'", "bad_expression"),
        ("len() == 0", "bad_expression"),
        ("len(answer, 1) == 0", "bad_expression"),
        ("sum([1], start=1) == 2", "bad_expression"),
        ("answer[0:2] == 'Pa'", "bad_expression"),
        ("(y := 1) == 1", "bad_expression"),
        ("1" * 2001, "bad_expression"),
        ("\ud800", "bad_expression"),
        ("\0", "bad_expression"),
        ("(" * 900 + "1" + ")" * 900, "bad_expression"),
    ],
)
def test_nonsense_is_an_error_and_never_a_score(expr: str, expected: str | None) -> None:
    if expected is None:
        assert value(expr) == 1
    else:
        assert code(expr) == expected


@pytest.mark.parametrize(
    "expr", ["-" * 1900 + "1 == 1", "not " * 490 + "true", "+".join(["1"] * 990) + " == 990"]
)
def test_deep_expressions_end_in_time(expr: str) -> None:
    began = time.process_time()
    try:
        assert value(expr) in (0, 1)
    except GraderError as problem:
        assert problem.code in ("too_deep", "bad_expression")
    assert time.process_time() - began < 2


def test_values_of_the_agent_that_cannot_be_computed_with() -> None:
    assert code(FITS.format("extracted.n"), extracted={"n": "64"}) == "wrong_type"
    assert code(FITS.format("extracted.n"), extracted={"n": True}) == "wrong_type"
    assert code(FITS.format("extracted.n"), extracted={"n": float("inf")}) == "non_finite"
    assert code(FITS.format("extracted.n"), extracted={"n": 10**20_000}) == "too_large"


@pytest.mark.parametrize("name", ["answer", "facts", "1x", "a b", ""])
def test_let_binds_names_only(name: str) -> None:
    with pytest.raises(GraderError) as raised:
        grade(ExprCheck(expr="1 == 1", let={name: "answer"}), trace_of(said("x")))
    assert raised.value.code == "bad_check"


def test_no_reply_fails_what_reads_the_reply() -> None:
    assert value("answer != 'London'", trace_of()) == 0


def test_reasons_show_values() -> None:
    trace = trace_of(said("Paris"))
    assert (
        grade(ExprCheck(expr="answer == 'Rome' or 1 == 2"), trace).reason
        == '"Paris" == "Rome" or 1 == 2 is false'
    )
    assert grade(ExprCheck(expr="len(answer) > 3"), trace).reason == 'len("Paris") = 5 > 3 holds'
    assert grade(ExprCheck(expr="1 / 4"), trace).reason == "1 / 4 is 0.25"
