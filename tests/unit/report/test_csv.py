"""Cells that a spreadsheet would run, and cells that only look so."""

from __future__ import annotations

import pytest

from steelyard.report.csv import apart, harmless, joined, original

PLANTED = [
    "=1+1",
    "+1",
    "-1 apple",
    "-0.5",
    "@x",
    "\t=1",
    "\r=1",
    "\n=1",
    "\tx",
    "\u200b=1",
    "\ufeff=1",
    "\u00a0=1",
    " =1",
    "\u200e\u2060 \u00ad=1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20x",
    "\ufe66\u200b1",
    "\u22121",
    '"=1',
    "\x00=1",
    "\U000e0020=1",
    "=cmd|' /C calc'!A0",
]
"""Texts that some spreadsheet runs, or may run after it took invisible characters away."""

INSIDE = ["x;=1", "x\t=1", "x\n=1", "x\r\n-1", 'x;"=1', "x; =1", "x;\u200b@y"]
"""Texts that a spreadsheet with other separators cuts into cells of which one is run."""

PLAIN = [
    "",
    "x",
    "a=b",
    "1-2",
    "me@example.com",
    "it's",
    "x, =1",
    "x ; y",
    "7",
    "é",
    "a\nb",
    "e-5",
    "\u2014x",
    "(=1)",
]


@pytest.mark.parametrize("text", PLANTED)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    assert harmless(text).startswith("'")
    assert original(harmless(text)) == text


@pytest.mark.parametrize("text", INSIDE)
def test_what_would_be_cut_into_cells_gets_one_inside(text: str) -> None:
    cells = harmless(text).replace("\t", ";").replace("\r", ";").replace("\n", ";").split(";")
    assert not any(cell.strip('" \u200b').startswith(("=", "+", "-", "@")) for cell in cells)
    assert original(harmless(text)) == text


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize("text", ["'", "''", "'=1", "x;'y", "';'", "\t'=", "'\n'"])
def test_apostrophes_of_the_text_itself_are_told_from_those_that_were_added(text: str) -> None:
    assert original(harmless(text)) == text


@pytest.mark.parametrize(
    ("texts", "cell"),
    [
        ((), ""),
        (("s0001",), "s0001"),
        (("s0001", "e2"), "s0001 e2"),
        (("a b",), '["a b"]'),
        (("",), '[""]'),
        (("[x",), '["[x"]'),
        (("x\u00a0y",), '["x\u00a0y"]'),
    ],
)
def test_several_texts_share_a_cell(texts: tuple[str, ...], cell: str) -> None:
    assert joined(texts) == cell
    assert tuple(apart(cell)) == texts
