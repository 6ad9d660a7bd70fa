"""Untrusted text on a fixed grid."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from steelyard.report.text import Pen, columns, visible

ANY = st.text(st.characters(categories=None), max_size=60) | st.text(
    st.sampled_from("ab \n\x1b[31m\u202e\u200d\ufe0f\u0301\u20e3🚀👩👧汉가é\u00a0\ud800\u2028☰䷀"),
    max_size=60,
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("\ud800", "\\ud800"),
        ("a\u00a0b\u2028c", "a\\xa0b\\u2028c"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("ad\u200dmin", "ad\\u200dmin"),
        ("e\u0301", "e\u0301"),
        ("\u0301x", "\\u0301x"),
        ("é汉字", "é汉字"),
    ],
)
def test_hidden_characters_are_written_out(raw, shown):
    assert visible(raw) == shown


@given(ANY)
def test_visible_text_is_printable_and_encodable(raw):
    shown = visible(raw)
    assert shown.encode("utf-8").decode("utf-8") == shown
    hidden = {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"}
    assert not any(unicodedata.category(char) in hidden for char in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


@given(ANY)
def test_columns_is_never_less_than_a_terminal_uses(raw):
    shown = visible(raw)
    assert columns(shown) >= cell_len(shown)


@given(ANY, st.integers(1, 30), st.sampled_from(["end", "middle"]), st.booleans())
def test_fit_keeps_the_width(raw, width, where, unicode):
    shown = Pen(unicode).fit(raw, width, where)
    assert columns(shown) <= width
    assert columns(Pen(unicode).pad(raw, width, where)) == width
    assert unicode or shown.isascii()


def test_a_cut_is_marked_where_it_is():
    assert Pen().fit("abcdefghij", 7) == "abcdef…"
    assert Pen().fit("abcdefghij", 7, "middle") == "abc…hij"
    assert Pen(unicode=False).fit("abcdefghij", 7) == "abcd..."
    assert Pen().fit("x" * 10_000_000 + "end", 9, "middle") == "xxxx…xend"
    assert Pen().fit("汉字汉字", 5) == "汉字…"


def test_ascii_writes_signs_as_ascii_and_the_rest_as_escapes():
    assert Pen(unicode=False).text("4 \N{MULTIPLICATION SIGN} 64 … é 🚀") == "4 x 64 ... \\xe9 \\U0001f680"


@given(ANY, st.integers(2, 30), st.integers(0, 3))
def test_wrap_keeps_the_width_and_the_text(raw, width, most):
    pen = Pen()
    lines = pen.wrap(raw, width, most)
    assert lines
    assert all(columns(line) <= width for line in lines)
    if most:
        assert len(lines) <= most
    else:
        assert "".join("".join(lines).split()) == "".join(pen.text(raw).split())
