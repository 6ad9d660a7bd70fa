"""number, json, records, recorded and the selectors."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from steelyard.checks import selectors
from steelyard.checks.selectors import Absent, Found, select
from steelyard.errors import GraderError
from steelyard.model.checks import JsonCheck, LaterCheck, NumberCheck, RecordedCheck, RecordsCheck
from steelyard.model.evidence import resolve
from steelyard.model.trace import ExternalScore
from steelyard.model.verdict import Undecided
from unit.checks.trials import INCOMPLETE, NO_CALLS, call, given, grade, said, trace_of, verdict

D = Decimal


@pytest.mark.parametrize(
    ("reply", "settings", "holds"),
    [
        ("64", {"value": D(64)}, True),
        (" 6.40e1\n", {"value": D(64)}, True),
        ("It is 64", {"value": D(64)}, False),
        ("do not set this to 64", {"value": D(64)}, False),
        ("064", {"value": D(64)}, False),
        ("+64", {"value": D(64)}, False),
        ("64 ms", {"value": D(64)}, False),
        ("64 ms", {"value": D(64), "unit": "ms"}, True),
        ("64ms", {"value": D(64), "unit": "ms"}, True),
        ("64", {"value": D(64), "unit": "ms"}, True),
        ("64 s", {"value": D(64), "unit": "ms"}, False),
        ("NaN", {"min": D(0)}, False),
        ("Infinity", {"min": D(0)}, False),
        ("true", {"value": D(1)}, False),
        ("\u0664", {"value": D(4)}, False),
        ("0.3", {"value": D("0.3")}, True),
        ("0.30000000000000004", {"value": D("0.3")}, False),
        ("0.35", {"value": D("0.3"), "abs_tol": D("0.05")}, True),
        ("0.3500001", {"value": D("0.3"), "abs_tol": D("0.05")}, False),
        ("110", {"value": D(100), "rel_tol": D("0.1")}, True),
        ("-110", {"value": D(-100), "rel_tol": D("0.1")}, True),
        ("5", {"min": D(5), "max": D(5)}, True),
        ("5.1", {"min": D(5), "max": D(5)}, False),
        ("0", {"min": D(1)}, False),
        ("1e999999999", {"min": D(0)}, False),
    ],
)
def test_number_of_a_reply(reply: str, settings: dict[str, Any], holds: bool) -> None:
    assert verdict(NumberCheck(**settings), trace_of(said(reply))) == holds


@pytest.mark.parametrize(
    ("value", "settings", "holds"),
    [
        (64, {}, True),
        (64.0, {}, True),
        (D("64"), {}, True),
        ("64", {}, False),
        ("64", {"unit": "ms"}, False),
        ("64 ms", {"unit": "ms"}, True),
        (64, {"unit": "ms"}, True),
        (True, {}, False),
        ([64], {}, False),
        (float("nan"), {}, False),
        (float("inf"), {}, False),
        (None, {}, False),
    ],
)
def test_number_of_a_field(value: Any, settings: dict[str, Any], holds: bool) -> None:
    spec = NumberCheck(of="call:set/args/size", min=D(64), **settings)
    assert verdict(spec, trace_of(call("set", {"size": value}))) == holds


@pytest.mark.parametrize("of", ["call:set/args/size", "extracted.size"])
def test_a_missing_or_null_proposal_has_its_own_tag(of: str) -> None:
    for trace, extracted in (
        (trace_of(call("set", {})), {}),
        (trace_of(call("set", {"size": None})), {"size": None}),
    ):
        finding = grade(NumberCheck(of=of, max=D(16)), trace, extracted=extracted)
        assert (finding.value, finding.failure_tag) == (0, "NO_PROPOSAL")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, "empty_check"),
        ({"value": D("NaN")}, "non_finite"),
        ({"max": D("Infinity")}, "non_finite"),
        ({"value": D(1), "abs_tol": D(-1)}, "bad_check"),
        ({"value": D(1), "rel_tol": D("sNaN")}, "bad_check"),
    ],
)
def test_number_checks_that_mean_nothing(settings: dict[str, Any], code: str) -> None:
    with pytest.raises(GraderError) as raised:
        grade(NumberCheck(**settings), trace_of(said("1")))
    assert raised.value.code == code


PERSON = {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer", "minimum": 0}}}


@pytest.mark.parametrize(
    ("reply", "holds"),
    [
        ('{"age": 5}', True),
        ('```\n{"age": 5}\n```', True),
        ('{"age": 5.0}', True),
        ('{"age": -1}', False),
        ('{"age": "5"}', False),
        ("{}", False),
        ('Here: {"age": 5}', False),
        ('{"age": 5', False),
        ("[" * 100_000, False),
        ('{"age": 1' + "0" * 5_000 + "}", True),
        ('"\\ud800"', False),
    ],
)
def test_json_schema(reply: str, holds: bool) -> None:
    assert verdict(JsonCheck(schema=PERSON), trace_of(said(reply))) == holds


def test_json_pointer_and_value() -> None:
    trace = trace_of(said('{"a/b": [{"x": 1.0}]}'))
    assert verdict(JsonCheck(pointer="/a~1b/0/x", value=1), trace) == 1
    assert verdict(JsonCheck(pointer="/a~1b/0/x", value=True), trace) == 0
    assert verdict(JsonCheck(pointer="/a~1b/1/x", value=1), trace) == 0
    assert verdict(JsonCheck(value={"a/b": [{"x": 1}]}), trace) == 1
    assert verdict(JsonCheck(value=None, pointer="/a~1b/0/y"), trace) == 0
    assert verdict(JsonCheck(schema={"type": "object"}, pointer="/a~1b/0/x", value=2), trace) == 0


def _nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"items": value}
    return value


def _doubling(levels: int, combine: str) -> Any:
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels):
        definitions[f"d{level}"] = {combine: [{"$ref": f"#/$defs/d{level - 1}"}] * 2}
    return {"$defs": definitions, "$ref": f"#/$defs/d{levels - 1}"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nope"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"$schema": "https://example.com/unknown"},
        {"$ref": "#/$defs/none"},
        {"pattern": "(?=x)"},
        {"pattern": "((a{1000}){1000}){1000}"},
        [1],
        "text",
        _nested(50_000),
        _doubling(60, "anyOf"),
        _doubling(400, "anyOf"),
        _doubling(5_000, "oneOf"),
    ],
    ids=[f"schema{n}" for n in range(13)],
)
def test_schemas_that_cannot_be_used_are_errors(schema: Any) -> None:
    with pytest.raises(GraderError):
        grade(JsonCheck(schema=schema), trace_of(said("1")))


def test_recursive_schemas_work_and_are_bounded() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["v"]}
    assert verdict(JsonCheck(schema=tree), trace_of(said('{"v": 1, "next": {"v": 2}}'))) == 1
    assert verdict(JsonCheck(schema=tree), trace_of(said('{"v": 1, "next": {}}'))) == 0
    assert verdict(JsonCheck(schema={"$ref": "#"}), trace_of(said("1"))) == 1
    both = {"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"items": {"$ref": "#"}, "minItems": 1}]}
    with pytest.raises(GraderError) as raised:
        grade(JsonCheck(schema=both), trace_of(said("[" * 100 + "]" * 100)))
    assert raised.value.code == "too_large"


def test_json_needs_something_to_check() -> None:
    with pytest.raises(GraderError) as raised:
        grade(JsonCheck(), trace_of(said("1")))
    assert raised.value.code == "empty_check"


ROWS = tuple({"id": i, "n": i * i} for i in range(5))


def records(actual: str, **settings: Any) -> Any:
    return grade(RecordsCheck(expected=ROWS, **settings), trace_of(said(actual)))


def test_records_count_exactly() -> None:
    four = '[{"id":0,"n":0},{"n":1,"id":1},{"id":2,"n":4.0},{"id":3,"n":10},{"id":4,"n":16}]'
    finding = records(four, key=("id",))
    assert finding.value == Fraction(4, 5)
    assert "id 3 (n is 10, expected 9)" in finding.reason
    assert records(four).value == Fraction(4, 5)
    assert records("[]").value == 0
    assert records('{"id": 0, "n": 0}').value == 0
    assert records("none").value == 0


def test_extra_records_are_named_and_do_not_count() -> None:
    twice = "[" + ",".join(f'{{"id":{i},"n":{i * i}}},{{"id":{i},"n":{i * i}}}' for i in range(5)) + "]"
    finding = records(twice)
    assert finding.value == 1
    assert "5 not expected" in finding.reason


def test_one_record_serves_one_expectation() -> None:
    spec = RecordsCheck(expected=({"a": 1}, {"a": 1}))
    assert verdict(spec, trace_of(said('[{"a": 1}]'))) == Fraction(1, 2)
    assert verdict(spec, trace_of(said('[{"a": 1}, {"a": 1.0}]'))) == 1


@pytest.mark.parametrize(
    ("actual", "k"),
    [("[1,2,3]", 3), ("[3,1,2]", 2), ("[3,2,1]", 1), ("[1,9,2,9,3]", 3), ("[2,3,1,3]", 2), ("[]", 0)],
)
def test_ordered_records_count_the_longest_common_order(actual: str, k: int) -> None:
    assert verdict(RecordsCheck(expected=(1, 2, 3), ordered=True), trace_of(said(actual))) == Fraction(k, 3)


def test_records_that_mean_nothing() -> None:
    for spec, code in (
        (RecordsCheck(expected=()), "empty_check"),
        (RecordsCheck(expected=({"a": 1},), key=("id",)), "bad_check"),
    ):
        with pytest.raises(GraderError) as raised:
            grade(spec, trace_of(said("[]")))
        assert raised.value.code == code


@pytest.mark.parametrize(("value", "score"), [(1.0, 1), (0.0, 0), (0.8, Fraction(4, 5)), (1, 1)])
def test_recorded_scores_are_exact(value: Any, score: Any) -> None:
    trace = trace_of(external_scores=(ExternalScore(name="reward", value=value),))
    assert verdict(RecordedCheck(score="reward"), trace) == score


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([], "missing_record"),
        ([None], "missing_record"),
        ([1.0, None], "missing_record"),
        ([1.0, 0.0], "conflict"),
        ([1.5], "out_of_range"),
        ([-0.1], "out_of_range"),
        ([float("nan")], "non_finite"),
        ([float("inf")], "non_finite"),
    ],
)
def test_recorded_scores_that_are_none(values: list[Any], code: str) -> None:
    trace = trace_of(external_scores=tuple(ExternalScore(name="reward", value=value) for value in values))
    with pytest.raises(GraderError) as raised:
        grade(RecordedCheck(score="reward"), trace)
    assert raised.value.code == code


def test_a_recorded_verdict_without_its_row_is_an_error() -> None:
    with pytest.raises(GraderError) as raised:
        grade(RecordedCheck(), trace_of())
    assert raised.value.code == "missing_row"


def test_later_kinds_are_errors_that_say_so() -> None:
    with pytest.raises(GraderError, match="'sql'") as raised:
        grade(LaterCheck(kind="sql"), trace_of())
    assert raised.value.code == "not_yet"


TRIAL = trace_of(
    said("a", role="user"),
    [said("looking"), call("find", {"q": 1}, result={"rows": [7, 8]})],
    call("find", {"q": 2}, result={"rows": []}),
    call("a/b~c", {"x": {"y": [5]}}),
    call("broken", error="bad"),
    call("draft", {"v": 1}, visible="draft_rejected"),
    call("find", {"q": 3}, role="user"),
    said('{"total": 9, "list": [1]}'),
)


@pytest.mark.parametrize(
    ("of", "value"),
    [
        ("answer", '{"total": 9, "list": [1]}'),
        ("answer#/total", 9),
        ("answer#/list/0", 1),
        ("answer#", {"total": 9, "list": [1]}),
        ("said", 'looking\n{"total": 9, "list": [1]}'),
        ("call:find", {"q": 2}),
        ("call:find/args", {"q": 2}),
        ("call:find/args/q", 2),
        ("call:find[0]/args/q", 1),
        ("call:find[-2]/args/q", 1),
        ("call:a~1b~0c/args/x/y/0", 5),
        ("result:find/rows", []),
        ("result:find[0]/rows/1", 8),
        ("result:find", {"rows": []}),
        ("extracted.size", 64),
    ],
)
def test_selectors(of: str, value: Any) -> None:
    found = select(of, given(TRIAL, extracted={"size": 64}))
    assert isinstance(found, Found)
    assert found.value == value
    for reference in found.evidence:
        assert resolve(reference, TRIAL) is not None
    assert found.evidence or of.startswith("extracted")


@pytest.mark.parametrize(
    "of",
    [
        "answer#/none",
        "answer#/list/7",
        "call:none",
        "call:find[5]",
        "call:find/args/none",
        "call:broken/args/x",
        "call:broken",
        "call:draft/args/v",
        "result:none",
        "result:draft",
        "result:find/none",
        "extracted.none",
    ],
)
def test_selectors_of_nothing(of: str) -> None:
    found = select(of, given(TRIAL))
    assert isinstance(found, Absent)
    assert not found.undecided
    assert found.reason


@pytest.mark.parametrize(
    ("of", "trace"),
    [
        ("answer", trace_of(fidelity=INCOMPLETE)),
        ("said", trace_of(fidelity=INCOMPLETE)),
        ("call:f", trace_of(fidelity=INCOMPLETE)),
        ("call:f", trace_of(fidelity=NO_CALLS)),
        ("result:f", trace_of(fidelity=NO_CALLS)),
        ("result:f", trace_of(call("f"), fidelity=INCOMPLETE)),
    ],
)
def test_what_the_record_cannot_show_is_undecided(of: str, trace: Any) -> None:
    found = select(of, given(trace))
    assert isinstance(found, Absent)
    assert found.undecided


@pytest.mark.parametrize(
    "of", ["", "reply", "answer/x", "answer#x", "call:", "call:f/x", "extracted.", "result:", "facts.a"]
)
def test_selectors_that_cannot_be_read_are_errors(of: str) -> None:
    with pytest.raises(GraderError) as raised:
        selectors.parse_selector(of)
    assert raised.value.code == "bad_selector"


def test_undecided_selections_make_undecided_checks() -> None:
    assert isinstance(
        grade(NumberCheck(of="call:f/args/n", min=D(0)), trace_of(fidelity=NO_CALLS)), Undecided
    )
