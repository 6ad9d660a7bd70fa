"""Rows in little memory: what was appended comes back, and its columns are those of the rows themselves."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from steelyard.grading import log
from steelyard.grading.log import RowLog
from steelyard.model.columns import ListedRows, Row
from steelyard.model.verdict import Attempt, Errored, Graded, GraderRef, Skipped, TrialRow, Unknown

JUDGE = (GraderRef(kind="judge", setup="default"),)
ROWS: tuple[Row, ...] = (
    TrialRow(task="a", trial=1, ended_by="agent_stop", measurements={"seconds": 1.5, "turns": 2}, trace="x"),
    Graded(task="a", criterion="C1", score=1.0, reason="é", evidence_refs=("s1",), graders=JUDGE),
    Unknown(task="a", criterion="C2", extracted={"n": [1, 2.5, None, {"k": "v"}]}),
    Errored(
        task="b", trial=2**53 - 1, criterion="C1", error="timeout", attempts=(Attempt(), Attempt(reply="r"))
    ),
    Skipped(task="b", trial=0, criterion="C2", failure_tag="LATER"),
    TrialRow(task="b", trial=0),
)
ODD: tuple[Row, ...] = (
    Unknown(task="a", criterion="C1", reason="half a character \ud800"),
    Graded(task="a", criterion="C2", score=0.5, extracted={"exact": Fraction(1, 3)}),
    Graded(task="a", criterion="C3", score=1, extracted={"large": 10**40, "set": (1, 2)}),
    TrialRow(task="a", measurements={"seconds": 10**400}),
)


@pytest.mark.parametrize("size", [1, 300, 1 << 18])
def test_rows_come_back_from_blocks_of_any_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "BLOCK", size)
    monkeypatch.setattr(log, "UNPACKED", 500)
    held = RowLog(ROWS * 9)
    held.extend(ROWS)
    assert held == ROWS * 10 == tuple(held)
    assert (len(held), held[-1], held[3:5]) == (60, ROWS[-1], ROWS[3:5])
    places = [59, 0, 31, 30, 3]
    assert held.rows_at(places) == [(ROWS * 10)[place] for place in places]
    assert held != ROWS and RowLog() == ()
    with pytest.raises(IndexError):
        held[60]


def test_what_bytes_cannot_give_back_is_held_as_it_is() -> None:
    for row in ODD[:3]:
        assert RowLog([row])[0] is row
    assert RowLog(ODD[:3]) == ODD[:3]


def test_columns_say_the_same_of_bytes_and_of_records() -> None:
    bytes_, records = RowLog(ROWS).columns(), ListedRows(ROWS).columns()
    for name in bytes_.__struct_fields__:
        one, two = getattr(bytes_, name), getattr(records, name)
        assert (
            np.array_equal(one, two, equal_nan=name in ("score", "value"))
            if isinstance(one, np.ndarray)
            else one == two
        )
    assert [bytes_.kinds[code] for code in bytes_.kind.tolist()] == [("judge",), (), (), ()]
    assert [bytes_.tags[code] for code in bytes_.tag.tolist()] == [None, None, "timeout", "LATER"]
    assert bytes_.retried.tolist() == [3]
    assert bytes_.score[0] == 1.0 and all(map(math.isnan, bytes_.score[1:].tolist()))
    assert dict(zip(bytes_.measures, bytes_.value.tolist(), strict=True)) == {"seconds": 1.5, "turns": 2.0}


def test_a_score_that_is_none_is_no_number_in_the_columns() -> None:
    wrong: list[Any] = [-0.1, 1.1, math.nan, math.inf, 10**400]
    column = RowLog(Graded(task="a", criterion="C1", score=score) for score in wrong).columns().score
    assert all(map(math.isnan, column.tolist()))


def test_find_reads_one_trial_among_many() -> None:
    rows = [
        row
        for trial in range(1, 1001)
        for row in (TrialRow(task="a", trial=trial), Graded(task="a", trial=trial, criterion="C1", score=1.0))
    ]
    held = RowLog([*rows, Graded(task="b", criterion="C2", score=0.0)])
    assert held.find("a", 500) == rows[998:1000]
    assert held.find("a", 500, "C1") == [rows[999]]
    assert len(held.find("a", criterion="C1")) == 1000
    assert held.find("b") == [Graded(task="b", criterion="C2", score=0.0)]
    assert held.find("c") == held.find("a", 1001) == held.find("a", 1, "C9") == []
