"""Laws of the store: what goes in comes out, for any text and number."""

from __future__ import annotations

import json
import math
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from steelyard.errors import StoreError
from steelyard.model.names import MOST_BYTES, id_of, safe_name
from steelyard.model.verdict import (
    Attempt,
    Errored,
    Graded,
    GraderRef,
    Score,
    Skipped,
    TrialRow,
    Undecided,
    Unknown,
    Verdict,
)
from steelyard.ports.store import payload_of
from steelyard.store import export_run, import_run, open_store
from steelyard.store.suites import decode_suite, encode_suite, mark, unmark
from stores import a_suite, now

WHOLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
IDS = WHOLE | st.sampled_from(["A", "a", "x/y", "😀", "..", "CON", "z" * 300, "\0", "'", "$decimal"])
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | WHOLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WHOLE, inner, max_size=3),
    max_leaves=8,
)
ATTEMPTS = st.builds(
    Attempt, reply=st.none() | WHOLE, error=st.none() | WHOLE, tokens_in=st.none() | st.integers(0, 2**62),
    cost_usd=st.none() | FINITE,
)  # fmt: skip
REFS = st.builds(
    GraderRef, kind=WHOLE, setup=st.none() | WHOLE, version=st.none() | WHOLE, hash=st.none() | WHOLE
)
COMMON: dict[str, Any] = {
    "criterion": IDS, "reason": WHOLE, "evidence_refs": st.lists(WHOLE, max_size=3).map(tuple),
    "failure_tag": st.none() | WHOLE, "extracted": st.dictionaries(WHOLE, JSON, max_size=3),
    "graders": st.lists(REFS, max_size=2).map(tuple), "attempts": st.lists(ATTEMPTS, max_size=2).map(tuple),
    "cost_usd": st.none() | FINITE,
}  # fmt: skip


@st.composite
def trials(draw: st.DrawFn) -> list[tuple[TrialRow, list[Verdict]]]:
    """Different trials, each with verdicts of different criteria."""
    addresses = draw(st.lists(st.tuples(IDS, st.integers(0, 2**53 - 1)), max_size=4, unique=True))
    made = []
    for task, number in addresses:
        common = {"task": st.just(task), "trial": st.just(number), **COMMON}
        verdict: Any = (
            st.builds(Graded, score=st.floats(0, 1), **common)
            | st.builds(Unknown, **common)
            | st.builds(Errored, error=WHOLE, **common)
            | st.builds(Skipped, **common)
        )
        row = st.builds(
            TrialRow, task=st.just(task), trial=st.just(number), ended_by=st.none() | WHOLE,
            measurements=st.dictionaries(WHOLE, FINITE, max_size=3), trace=st.none() | WHOLE,
        )  # fmt: skip
        made.append((draw(row), draw(st.lists(verdict, max_size=4, unique_by=lambda each: each.criterion))))
    return made


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(trials())
def test_rows_in_are_rows_out_also_through_a_bundle(made: list[tuple[TrialRow, list[Verdict]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with (
            open_store(Path(folder) / "a.db", now=now) as store,
            open_store(Path(folder) / "b.db", now=now) as other,
        ):
            grading = store.begin(a_suite(), planned=None, options={})
            for trial, verdicts in made:
                store.put_trial(grading, trial, verdicts)
            store.finish(grading)
            rows = store.load(grading.name).rows
            export_run(store, grading.name, Path(folder) / "a.zip")
            again = other.load(import_run(other, Path(folder) / "a.zip")).rows
            committed = store.committed(grading)
    assert rows == tuple(row for trial, verdicts in made for row in (trial, *verdicts))
    assert again == rows
    assert committed == {(trial.task, trial.trial) for trial, _ in made}


@settings(max_examples=20)
@given(
    score=st.fractions(0, 1), reason=WHOLE, evidence=st.lists(WHOLE, max_size=2).map(tuple), tag=st.none() | WHOLE,
    key=st.binary(max_size=64),
)  # fmt: skip
def test_a_finding_comes_back_exactly(
    score: Fraction, reason: str, evidence: tuple[str, ...], tag: str | None, key: bytes
) -> None:
    findings = (
        Score(value=score, reason=reason, evidence=evidence, failure_tag=tag),
        Undecided(reason=reason, evidence=evidence),
    )
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder) / "a.db", now=now) as store:
            grading = store.begin(a_suite(), planned=None, options={})
            verdicts = [Graded(task="a", criterion="1", score=float(score)), Unknown(task="a", criterion="2")]
            keys = [b"1" + key, b"2" + key]
            store.put_trial(
                grading, TrialRow(task="a"), verdicts, keys, [payload_of(each) for each in findings]
            )
            store.flush()
            found = [store.find(each) for each in keys]
            assert store.load("latest").rows[1:] == tuple(verdicts)
    assert [payload and payload.finding for payload in found] == list(findings)


@settings(max_examples=20)
@given(st.text(st.characters(categories=["Cs", "L"]), min_size=1, max_size=5))
def test_half_characters_are_replaced_in_texts_and_refused_in_ids(text: str) -> None:
    """UTF-8 has no form for them. A text may change visibly; two ids must never become one."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") == text
    with tempfile.TemporaryDirectory() as folder:
        with open_store(Path(folder) / "a.db", now=now) as store:
            grading = store.begin(a_suite(), planned=None, options={})
            verdict = Unknown(
                task="a", criterion="C1", reason=text, failure_tag=text, extracted={"x": [text]}
            )
            store.put_trial(grading, TrialRow(task="a", ended_by=text, trace=text), [verdict])
            if not whole:
                with pytest.raises(StoreError, match="half a character"):
                    store.put_trial(grading, TrialRow(task=text), [])
            store.flush()
            trial, kept = store.load("latest").rows
    assert isinstance(trial, TrialRow) and isinstance(kept, Unknown)
    shown = "".join("\ufffd" if 0xD800 <= ord(sign) < 0xE000 else sign for sign in text)
    assert [trial.trace, trial.ended_by, kept.reason, kept.failure_tag, kept.extracted["x"]] == [
        shown
    ] * 4 + [[shown]]


@given(st.dictionaries(WHOLE, st.floats(), max_size=3))
def test_measurements_that_are_not_finite_come_back(measurements: dict[str, float]) -> None:
    from steelyard.store.encoding import encode_measurements, measurements_of

    text = encode_measurements(measurements).decode()
    json.loads(text, parse_constant=pytest.fail)  # strict JSON
    found = measurements_of(text)
    assert found.keys() == measurements.keys()
    assert all(found[n] == v or (math.isnan(found[n]) and math.isnan(v)) for n, v in measurements.items())


ANY: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | WHOLE | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            WHOLE | st.sampled_from(["$decimal", "$tuple", "$float", "$map"]), inner, max_size=2
        )
    ),
    max_leaves=10,
)


@given(ANY)
def test_any_value_of_a_standard_comes_back(value: Any) -> None:
    text = msgspec.json.encode(mark(value))
    assert repr(unmark(msgspec.json.decode(text))) == repr(value)
    suite = a_suite(composite=value, at_least=Decimal("0.5"))
    assert repr(decode_suite(encode_suite(suite))) == repr(suite)


@given(IDS | st.text(max_size=200), IDS | st.text(max_size=200))
def test_safe_names_are_safe_and_never_the_same(one: str, other: str) -> None:
    names = safe_name(one), safe_name(other)
    for name, id in zip(names, (one, other), strict=True):
        assert 0 < len(name.encode("ascii")) <= MOST_BYTES
        assert name == name.lower() and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-.+")
        assert not name.startswith(".") and not name.endswith(".")
        assert id_of(name) == id or "++" in name
    assert (names[0] == names[1]) == (one == other)


@given(st.text(st.sampled_from("ab+.4120fF"), max_size=8))
def test_a_name_that_is_never_made_has_no_id(name: str) -> None:
    id = id_of(name)
    assert id is None or safe_name(id) == name
