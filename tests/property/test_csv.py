"""Q60. Laws of the CSV export: any text comes back as it was, and none of it can be run."""

from __future__ import annotations

import csv
import io
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from scored import criterion, suite, task
from steelyard import app
from steelyard.model.verdict import Errored, Graded, GraderRef, TrialRow, Unknown
from steelyard.report.csv import apart, harmless, joined, original

NASTY = st.sampled_from(
    [*"=+-@'\"\t\r\n;, |", "\u200b", "\ufeff", "\uff1d", "\u00a0", "\x00", "[", "\u2028", "7"]
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | NASTY, max_size=30)
REFS = st.lists(TEXT, max_size=3).map(tuple)


@given(TEXT)
def test_any_text_is_told_from_what_was_added(text: str) -> None:
    assert original(harmless(text)) == text


@given(TEXT)
def test_no_piece_of_a_cell_begins_a_formula(text: str) -> None:
    cell = harmless(text)
    pieces = cell.replace("\t", ";").replace("\r", ";").replace("\n", ";").split(";")
    for piece in pieces:
        seen = "".join(
            char for char in piece if unicodedata.category(char) not in ("Cc", "Cf", "Zs", "Zl", "Zp")
        )
        begins = unicodedata.normalize("NFKC", seen.lstrip('"')[:1])
        assert begins[:1] not in ("=", "+", "-", "@", "\u2212")


@given(REFS)
def test_texts_in_one_cell_come_apart_again(texts: tuple[str, ...]) -> None:
    assert tuple(apart(joined(texts))) == texts


@st.composite
def verdicts(draw: st.DrawFn) -> list[Any]:
    names = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    rows: list[Any] = [
        TrialRow(task="t", trial=1, ended_by=draw(st.sampled_from(["agent_stop", "max_turns"])))
    ]
    for name in names:
        common = {
            "task": "t", "trial": 1, "criterion": name, "reason": draw(TEXT), "evidence_refs": draw(REFS),
            "graders": draw(st.lists(TEXT.map(lambda kind: GraderRef(kind=kind)), max_size=2).map(tuple)),
        }  # fmt: skip
        kind = draw(st.integers(0, 2))
        if kind == 0:
            score = draw(st.floats(0, 1).map(lambda number: number + 0.0))
            tag = draw(st.none() | TEXT.filter(bool)) if score < 1 else None  # an empty cell is no tag
            judged = any(ref.kind == "judge" for ref in common["graders"])
            rows.append(Graded(**common, score=float(round(score)) if judged else score, failure_tag=tag))
        elif kind == 1:
            rows.append(Unknown(**common))
        else:
            rows.append(Errored(**common, error=draw(TEXT.filter(bool))))
    return rows


@settings(max_examples=60)
@given(verdicts())
def test_verdicts_are_read_as_they_were_written(rows: list[Any]) -> None:
    standard = _suite(tuple(row.criterion for row in rows[1:]))
    run = app.score_rows(standard, rows, full=True)
    data = b"".join(app.csv_report(run))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        file.write_bytes(data)
        assert list(app.read_csv(file)) == rows
    parsed = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert len(parsed) == len(rows), (
        "a header, and a record a verdict, for the reader of the standard library too"
    )
    assert {len(record) for record in parsed} == {18}
    column = parsed[0].index("reason")
    assert [original(record[column]) for record in parsed[1:]] == [row.reason for row in rows[1:]]


def _suite(names: tuple[str, ...]) -> Any:
    """A suite whose criteria have any ids at all; the loader would refuse some."""
    import msgspec

    made = suite(task("t", criterion("C1")))
    (own,) = made.tasks
    criteria = tuple(msgspec.structs.replace(own.criteria[0], id=name) for name in names)
    return msgspec.structs.replace(made, tasks=(msgspec.structs.replace(own, criteria=criteria),))
