"""Laws of verdict rows: any bytes are read, none becomes a score outside 0..1, and any rows can be scored."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scored import criterion, suite, task
from steelyard.app.facade import score_rows
from steelyard.app.reports import json_report, scoreboard
from steelyard.grading.rows import MOST_TRIAL, Row, read_row, write_row
from steelyard.model.trace import Quarantined
from steelyard.model.verdict import Graded, TrialRow

STANDARD = suite(
    task(
        "a", criterion("C1"), criterion("C2", needs=["C1"]), criterion("A1", "authority", gate=True), trials=2
    ),
    task("b", criterion("C1"), criterion("G1", "grounding")),
)

HUGE = "a whole number of 5,000 digits"
numbers = st.one_of(
    st.integers(), st.floats(), st.sampled_from([0, 1, -1, 2, 0.5, -0.0, 10**390, -(10**400), HUGE, True, float("nan")])
)  # fmt: skip
words = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["a", "b", "C1", "C2", "A1", "G1", "graded", "judge", "\ud800", "\x1b[31m"]),
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)
KEYS: dict[str, st.SearchStrategy[Any]] = {
    "task": st.sampled_from(["a", "b"]),
    "criterion": st.sampled_from(["C1", "C2", "A1", "G1"]),
    "rubric_id": st.sampled_from(["C1", "G1"]),
    "trial": st.integers(0, 3),
    "status": st.sampled_from(["graded", "unknown", "error", "skipped"]),
    "score": st.one_of(st.sampled_from([0, 1]), st.floats(0, 1)),
    "reason": words,
    "evidence_refs": st.lists(words, max_size=2),
    "extracted": st.dictionaries(words, anything, max_size=2),
    "graders": st.lists(st.fixed_dictionaries({"kind": words}), max_size=2),
    "attempts": st.lists(
        st.dictionaries(st.sampled_from(["reply", "tokens_in", "cost_usd"]), anything), max_size=2
    ),
    "cost_usd": numbers,
    "ended_by": st.sampled_from(["agent_stop", "max_turns", "infrastructure_fault", None]),
    "measurements": st.dictionaries(words, numbers, max_size=2),
    "quarantined": st.dictionaries(st.sampled_from(["where", "reason"]), anything),
    "error": words,
}


def text_of(pairs: list[tuple[str, Any]]) -> bytes:
    """An object whose keys may repeat, with the numbers that `json.dumps` writes though JSON has none such."""
    return ("{" + ", ".join(f"{dumped(key)}: {dumped(value)}" for key, value in pairs) + "}").encode()


def dumped(value: Any) -> str:
    if value == HUGE:
        return "9" * 5_000
    if isinstance(value, list):
        return "[" + ", ".join(map(dumped, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dumped(key)}: {dumped(child)}" for key, child in value.items()) + "}"
    return json.dumps(value)


pairs = st.sampled_from(sorted(KEYS)).flatmap(
    lambda key: st.tuples(st.just(key), st.one_of(KEYS[key], KEYS[key], KEYS[key], anything))
)
likely = st.fixed_dictionaries(
    {key: KEYS[key] for key in ("task", "criterion", "status")},
    optional={key: KEYS[key] for key in ("trial", "score", "reason", "graders", "evidence_refs")},
).map(lambda row: list(row.items()))
objects = st.one_of(
    likely,
    st.lists(pairs, max_size=8),
    st.tuples(likely, st.lists(pairs, max_size=3)).map(lambda both: both[0] + both[1]),
)
lines = st.one_of(
    objects.map(text_of),
    anything.map(lambda value: dumped(value).encode()),
    st.binary(max_size=60),
    st.tuples(objects.map(text_of), st.integers(0, 40)).map(lambda cut: cut[0][: -cut[1]]),
    objects.map(lambda row: b"\xef\xbb\xbf" + text_of(row)),
)


def check(row: Row | Quarantined) -> None:
    if isinstance(row, Quarantined):
        assert row.reason or row.where
        return
    assert isinstance(row.task, str)
    assert type(row.trial) is int and 0 <= row.trial <= MOST_TRIAL
    if isinstance(row, Graded):
        assert type(row.score) is float and 0.0 <= row.score <= 1.0
        assert row.score in (0.0, 1.0) or not any(ref.kind == "judge" for ref in row.graders)
    if not isinstance(row, TrialRow):
        assert isinstance(row.criterion, str) and isinstance(row.reason, str)


@given(lines)
def test_any_line_is_read_and_none_becomes_a_score_outside_its_range(line: bytes) -> None:
    check(read_row("f:1", line))


@given(lines)
def test_what_was_read_is_written_and_read_again_as_the_same(line: bytes) -> None:
    row = read_row("f:1", line)
    written = write_row(row)
    assert b"\n" not in written
    assert read_row("f:1", written) == row


@given(objects)
def test_both_ways_of_reading_agree(row: list[tuple[str, Any]]) -> None:
    """A byte order mark sends a line the slow way; it must say the same."""
    line = text_of(row)
    assert read_row("f:1", line) == read_row("f:1", b"\xef\xbb\xbf" + line)


@given(st.lists(lines, max_size=12), st.randoms(use_true_random=False))
def test_any_rows_can_be_scored_and_shown_and_their_order_does_not_matter(
    given_lines: list[bytes], random: Any
) -> None:
    rows = [read_row(f"f:{number}", line) for number, line in enumerate(given_lines)]
    run = score_rows(STANDARD, rows)
    table = run.scores
    for name, dimension in table.dimensions.items():
        average = dimension.task_average
        assert 0.0 <= (average.low or 0.0) <= (average.high or 0.0) <= 1.0, name
    assert sum(table.states.values()) >= 6
    if run.lost:
        assert table.exit_code != 0
    assert json.loads(json_report(run))["completion"]["low"] == table.completion.low
    assert "\x1b" not in scoreboard(run)
    random.shuffle(rows)
    again = score_rows(STANDARD, rows).scores
    assert (again.dimensions, again.completion, again.exit_code) == (
        table.dimensions,
        table.completion,
        table.exit_code,
    )
