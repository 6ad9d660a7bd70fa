"""Verdict rows as they really arrive: nothing malformed is a pass, nothing is dropped, nothing stops the reader."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from steelyard.grading.rows import MOST_TRIAL, Row, read_row, read_rows, write_row
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Attempt, Errored, Graded, GraderRef, Skipped, TrialRow, Unknown


def read(text: str | bytes) -> Row | Quarantined:
    return read_row("rows.jsonl:3", text if isinstance(text, bytes) else text.encode())


def graded(score: str = "1", more: str = "") -> str:
    """A row as text, since much of what is tested is no JSON that `json.dumps` would write."""
    return f'{{"task": "a", "criterion": "C1", "status": "graded", "score": {score}{more}}}'


def quarantined(text: str | bytes) -> str:
    found = read(text)
    assert isinstance(found, Quarantined), found
    assert found.where == "rows.jsonl:3"
    return found.reason


def errored(text: str | bytes) -> Errored:
    found = read(text)
    assert isinstance(found, Errored), found
    assert (found.task, found.criterion) == ("a", "C1")
    return found


def passing(text: str | bytes) -> Graded:
    found = read(text)
    assert isinstance(found, Graded), found
    return found


def test_the_smallest_row_is_enough() -> None:
    found = passing(graded())
    assert (found.task, found.trial, found.criterion, found.score) == ("a", 1, "C1", 1.0)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "not a JSON object"),
        ("{", "not a JSON object"),
        ('{"task": "a", "criterion": "C1", "status": "graded", "sco', "not a JSON object"),
        ("[]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('"a"', "must be a JSON object"),
        ("1e999", "must be a JSON object"),
        (b'{"task": "\xff"}', "not a JSON object"),
        (b"\x1f\x8b\x08\x00\x00", "not a JSON object"),
        ('{"task": "a"} {"task": "b"}', "not a JSON object"),
        ("[" * 100_000, "nested too deep"),
        ('{"task": ' + "[" * 600 + "]" * 600 + "}", "nested too deep"),
        ('{"task": "a", "criterion": "C1", "x": ' + "[" * 201 + "]" * 201 + "}", "nested too deep"),
        ("{}", "must name its task"),
        ('{"task": null, "criterion": "C1", "status": "graded", "score": 1}', "must name its task"),
        ('{"criterion": "C1", "status": "graded", "score": 1}', "must name its task"),
        ('{"task": 7, "criterion": "C1", "status": "graded", "score": 1}', 'write "task": "7"'),
        ('{"task": 1.5, "criterion": "C1", "status": "graded", "score": 1}', 'write "task": "1.5"'),
        ('{"task": "a", "criterion": 3, "status": "graded", "score": 1}', 'write "criterion": "3"'),
        ('{"task": "a", "rubric_id": 3, "status": "graded", "score": 1}', 'write "rubric_id": "3"'),
        ('{"task": true, "criterion": "C1", "status": "graded", "score": 1}', "task must be text, not True"),
        ('{"task": ["a"], "criterion": "C1", "status": "graded", "score": 1}', "task must be text"),
        ('{"task": "a", "criterion": {}, "status": "graded", "score": 1}', "criterion must be text"),
        ('{"task": "a", "status": "graded", "score": 1}', "must name its criterion"),
        ('{"task": "a", "score": 1}', "must name its criterion"),
        ('{"task": "a", "task": "b", "criterion": "C1", "status": "graded", "score": 1}', "task is written twice"),
        (graded(more=', "trial": 1, "trial": 2'), "trial is written twice"),
        (graded(more=', "\\u0074rial": 1, "trial": 2'), "trial is written twice"),
        ('{"task": "a", "ended_by": "agent_stop", "ended_by": "max_turns"}', "'ended_by' is written twice"),
        ("1" * 5_000, "must be a JSON object"),
    ],
)  # fmt: skip
def test_a_row_that_does_not_say_which_verdict_it_is_is_quarantined(line: str | bytes, why: str) -> None:
    assert why in quarantined(line)


@pytest.mark.parametrize(
    "trial", ["true", "false", "null", '"1"', "-1", "1.0", "1.5", "1e3", "NaN", "[]", "9" * 30, "9" * 5_000]
)
def test_a_trial_is_a_whole_number_of_0_or_more(trial: str) -> None:
    assert "trial must be a whole number" in quarantined(graded(more=f', "trial": {trial}'))
    assert "trial must be a whole number" in quarantined(f'{{"task": "a", "trial": {trial}}}')


@pytest.mark.parametrize("trial", [0, 1, 10**12, MOST_TRIAL])
def test_a_trial_may_be_0_or_large(trial: int) -> None:
    assert passing(graded(more=f', "trial": {trial}')).trial == trial


@pytest.mark.parametrize(
    ("score", "code"),
    [
        ("NaN", "non_finite"),
        ("Infinity", "non_finite"),
        ("-Infinity", "non_finite"),
        ("1e999", "non_finite"),
        ("null", "no_score"),
        ("true", "bad_score"),
        ("false", "bad_score"),
        ('"1"', "bad_score"),
        ("[1]", "bad_score"),
        ("{}", "bad_score"),
        ("9" * 5_000, "bad_score"),
        ("1.0000001", "out_of_range"),
        ("-0.1", "out_of_range"),
        ("5", "out_of_range"),
        ("1" + "0" * 350, "out_of_range"),
        ("-1" + "0" * 398, "out_of_range"),
        ("1e308", "out_of_range"),
    ],
)
def test_a_score_that_is_none_is_an_error_and_is_never_clamped(score: str, code: str) -> None:
    """Q13."""
    found = errored(graded(score))
    assert found.error == code
    assert "score" in found.reason


@pytest.mark.parametrize(
    ("score", "value"), [("0", 0.0), ("1", 1.0), ("-0.0", 0.0), ("0.8", 0.8), ("1.0", 1.0), ("1e-400", 0.0)]
)
def test_scores_in_range_are_taken_as_they_are(score: str, value: float) -> None:
    found = passing(graded(score)).score
    assert (found, str(found)) == (value, str(value))


@pytest.mark.parametrize("status", ["null", '"passed"', '"Graded"', '""', "1", "true", '["graded"]', "{}"])
def test_an_unknown_status_is_an_error(status: str) -> None:
    line = f'{{"task": "a", "criterion": "C1", "status": {status}, "score": 1}}'
    assert errored(line).error == "bad_status"
    assert errored('{"task": "a", "criterion": "C1", "score": 1}').error == "bad_status"


@pytest.mark.parametrize("status", ["unknown", "error", "skipped"])
def test_a_score_beside_another_status_is_an_error(status: str) -> None:
    line = f'{{"task": "a", "criterion": "C1", "status": "{status}", "score": 1}}'
    assert errored(line).error == "score_without_grade"


def test_a_missing_score_is_an_error() -> None:
    assert errored('{"task": "a", "criterion": "C1", "status": "graded"}').error == "no_score"


@pytest.mark.parametrize(
    "graders",
    [
        '[{"kind": "judge"}]',
        '[{"kind": "check:records"}, {"kind": "judge", "setup": "default"}]',
        '[{"kind": "judge", "version": 4}]',
        '[{"kind": "judge", "setup": ["x"]}]',
        '{"kind": "judge"}',
        '["judge"]',
        '"judge"',
    ],
)
def test_a_judge_gives_0_or_1_however_it_is_written(graders: str) -> None:
    assert errored(graded("0.5", f', "graders": {graders}')).error == "judge_fraction"
    assert passing(graded("1", f', "graders": {graders}')).graders[-1].kind == "judge"


def test_code_and_people_may_count_fractions() -> None:
    assert passing(graded("0.8", ', "graders": [{"kind": "check:records"}]')).score == 0.8
    assert passing(graded("0.8")).score == 0.8


@pytest.mark.parametrize(
    "keys",
    [
        ', "score": 0',
        ', "status": "error"',
        ', "sc\\u006fre": 0',
        ', "graders": [{"kind": "judge"}], "graders": []',
        ', "evidence_refs": ["e9"], "evidence_refs": []',
        ', "extracted": {"size": 4, "size": 64}',
        ', "extracted": {"pool": {"size": 4, "si\\u007ae": 64}}',
    ],
)
def test_a_key_written_twice_leaves_the_row_undecided(keys: str) -> None:
    found = errored(graded("1", keys))
    assert found.error == "duplicate_key"
    assert "written twice" in found.reason


def test_the_names_of_keys_may_stand_in_texts() -> None:
    reason = json.dumps('it says "score": 0, "score": 1 and "task"')
    assert passing(graded(more=f', "reason": {reason}')).reason.endswith('"task"')
    assert passing('{"task": "score", "criterion": "score", "status": "graded", "score": 1}').task == "score"


def test_many_repeated_keys_do_not_take_long() -> None:
    line = '{"task": "a", ' + ", ".join(f'"k{number}": 0, "k{number}": 1' for number in range(50_000)) + "}"
    started = time.monotonic()
    assert "written twice" in quarantined(line)
    assert time.monotonic() - started < 5


def test_rubric_id_stands_for_criterion() -> None:
    for criterion in ("", '"criterion": null, '):
        found = read(f'{{"task": "a", {criterion}"rubric_id": "C1", "status": "graded", "score": 1}}')
        assert isinstance(found, Graded)
        assert found.criterion == "C1"
    both = read('{"task": "a", "criterion": "C1", "rubric_id": 3, "status": "graded", "score": 1}')
    assert isinstance(both, Graded)
    assert both.criterion == "C1"


def test_fields_of_others_are_tolerated() -> None:
    deep = "[" * 150 + "]" * 150
    assert (
        passing(graded(more=f', "annotator": "jo", "nested": {deep}, "n": {"7" * 5_000}, "x": NaN')).score
        == 1.0
    )


def test_a_byte_order_mark_is_passed_over() -> None:
    assert passing(b"\xef\xbb\xbf" + graded().encode()).score == 1.0


def test_halves_of_characters_become_writable_text() -> None:
    found = passing(graded(more=', "reason": "half \\ud800", "extracted": {"\\udfff": ["\\ud83d"]}'))
    assert found.reason == "half \ufffd"
    assert found.extracted == {"\ufffd": ["\ufffd"]}
    assert read(write_row(found)) == found
    assert passing(graded(more=', "reason": "\\ud83d\\ude00"')).reason == "\N{GRINNING FACE}"


def test_control_characters_are_kept() -> None:
    found = passing(graded(more=', "reason": "\\u0000\\u001b[31m\\u202e"'))
    assert found.reason == "\x00\x1b[31m\u202e"
    assert read(write_row(found)) == found
    assert "not a JSON object" in quarantined(graded(more=', "reason": "\x1b"'))


def test_numbers_that_json_does_not_have_are_text_among_extracted_values() -> None:
    found = passing(graded(more=', "extracted": {"a": NaN, "b": [-Infinity, 1e999], "c": ' + "8" * 401 + "}"))
    assert found.extracted == {"a": "NaN", "b": ["-Infinity", "Infinity"], "c": "8" * 401}
    assert read(write_row(found)) == found
    exact = passing(graded(more=', "extracted": {"n": ' + "8" * 400 + "}"))
    assert exact.extracted == {"n": int("8" * 400)}
    assert read(write_row(exact)) == exact


@pytest.mark.parametrize("extracted", ["[64]", '"64"', "64", "true"])
def test_extracted_values_without_names_are_an_error(extracted: str) -> None:
    assert errored(graded(more=f', "extracted": {extracted}')).error == "bad_extraction"


def test_evidence_written_oddly_is_still_evidence_to_be_looked_up() -> None:
    assert passing(graded(more=', "evidence_refs": "e3"')).evidence_refs == ("e3",)
    assert passing(graded(more=', "evidence_refs": [3, "e3"]')).evidence_refs == ("3", "e3")
    assert passing(graded(more=', "evidence_refs": null')).evidence_refs == ()


def test_texts_and_costs_written_oddly_do_not_cost_the_verdict() -> None:
    odd = ', "reason": 5, "failure_tag": ["X"], "cost_usd": "much", "attempts": [{"reply": 5}, {"reply": "yes"}]'
    found = passing(graded("0", odd))
    assert (found.reason, found.failure_tag, found.cost_usd) == ("5", "['X']", None)
    assert found.attempts[0].error is not None
    assert found.attempts[1] == Attempt(reply="yes")
    for cost in ("1" + "0" * 350, "NaN"):
        attempts = passing(graded(more=f', "attempts": [{{"cost_usd": {cost}}}]')).attempts
        assert attempts[0].cost_usd is None and attempts[0].error is not None
    for cost in ("1" + "0" * 350, "NaN", "1e999", "true"):
        assert passing(graded(more=f', "cost_usd": {cost}')).cost_usd is None
    assert passing(graded(more=', "cost_usd": 2')).cost_usd == 2.0


def test_a_long_reason_is_kept_whole() -> None:
    for mark in (b"", b"\xef\xbb\xbf"):
        line = graded(more=f', "reason": "{"x" * 300_000}"')
        assert len(passing(mark + line.encode()).reason) == 300_000


def test_what_is_no_criterion_is_a_trial_row() -> None:
    line = '{"task": "a", "trial": 2, "ended_by": "max_turns", "measurements": {"seconds": 41.2, "calls": 5}'
    line += ', "trace": "t"}'
    measured = {"seconds": 41.2, "calls": 5.0}
    assert read(line) == TrialRow(task="a", trial=2, ended_by="max_turns", measurements=measured, trace="t")
    assert read('{"task": "a"}') == TrialRow(task="a")


def test_measurements_that_are_no_numbers_are_left_out() -> None:
    values = (
        f'"a": NaN, "b": 1e999, "c": true, "d": "5", "e": null, "f": {"1" + "0" * 350}, "g": -1, "h": 0.5'
    )
    assert read(f'{{"task": "a", "measurements": {{{values}}}}}') == TrialRow(
        task="a", measurements={"g": -1.0, "h": 0.5}
    )
    assert read('{"task": "a", "measurements": [1]}') == TrialRow(task="a")


def test_how_a_trial_ended_is_never_forgotten() -> None:
    """A word that no acceptance rule names keeps a trial from being complete; nothing said would not."""
    for written, kept in (("false", "False"), ("[]", "[]"), ("3", "3"), ('"?"', "?"), ("null", None)):
        found = read(f'{{"task": "a", "ended_by": {written}}}')
        assert isinstance(found, TrialRow)
        assert found.ended_by == kept


def test_empty_lines_are_passed_over() -> None:
    lines = [("f:1", b""), ("f:2", b" \t\r\n"), ("f:3", graded().encode()), ("f:4", b"x")]
    found = list(read_rows(lines))
    assert [type(row) for row in found] == [Graded, Quarantined]


COMMON: dict[str, Any] = {
    "task": "a b/c~#é",
    "criterion": "C1\n\x00",
    "trial": 0,
    "reason": 'why "so"\r\n\u2028',
    "evidence_refs": ("e1", "s0007@1-2"),
    "extracted": {"n": [1, 2.5, None, True, {"x": "y"}]},
    "graders": (GraderRef(kind="judge", setup="default", version="1", hash="ab"), GraderRef(kind="human")),
    "attempts": (
        Attempt(reply="no", stop_reason="stop", error="e", tokens_in=1, tokens_out=2, cost_usd=0.5),
    ),
    "cost_usd": 0.25,
}
ROWS: list[Row] = [
    Graded(**COMMON, score=0.0, failure_tag="TAG"),
    Graded(**{**COMMON, "graders": ()}, score=1 / 3),
    Graded(task="a", criterion="b", score=1.0),
    Unknown(**COMMON),
    Errored(**COMMON, error="timeout"),
    Errored(task="a", criterion="b"),
    Skipped(**COMMON),
    TrialRow(task="a", trial=9, ended_by="agent_stop", measurements={"seconds": 0.1}, trace="id"),
    TrialRow(task="a"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: type(row).__name__)
def test_a_written_row_reads_as_the_same_row(row: Row) -> None:
    line = write_row(row)
    assert b"\n" not in line
    assert read(line) == row
    assert read(b"\xef\xbb\xbf" + line) == row


def test_a_quarantined_line_is_written_and_read_as_one() -> None:
    lost = Quarantined(where="old.jsonl:9", reason="cut off")
    assert read(write_row(lost)) == lost
    odd = read('{"quarantined": {"where": ["x"], "reason": null}}')
    assert odd == Quarantined(where="['x']", reason="")
    assert read('{"quarantined": {}}') == Quarantined(where="rows.jsonl:3", reason="")


def test_a_file_name_that_is_no_text_is_written_all_the_same() -> None:
    lost = Quarantined(where=b"\xff.jsonl:1".decode("utf-8", "surrogateescape"), reason="cut off")
    assert read(write_row(lost)) == Quarantined(where="\ufffd.jsonl:1", reason="cut off")
    row = Graded(task="a", criterion="\udcff", score=1.0)
    assert read(write_row(row)) == Graded(task="a", criterion="\ufffd", score=1.0)


@pytest.mark.slow
def test_a_hundred_thousand_rows_are_read_in_seconds() -> None:
    more = ', "reason": "because", "evidence_refs": ["e1"], "graders": [{"kind": "human"}]'
    lines = [("f:1", graded(more=f'{more}, "trial": {number}').encode()) for number in range(100_000)]
    started = time.monotonic()
    assert sum(isinstance(row, Graded) for row in read_rows(lines)) == 100_000
    assert time.monotonic() - started < 20
