"""Long texts are shown in a window: start, end, what is quoted; the sizes and the hash are of the whole."""

from __future__ import annotations

import hashlib
import json
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.report.html.window import MOST_SEARCHED, WINDOW, found, marked, of_text, of_value, shown


def words(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", markup))


@given(st.text(max_size=50), st.integers(min_value=0, max_value=300))
def test_sizes_and_hash_are_of_the_whole_text(piece: str, times: int) -> None:
    raw = piece * times
    long = of_text(raw)
    data = raw.encode("utf-8", "surrogatepass")
    assert (long.characters, long.size) == (len(raw), len(data))
    assert long.whole is (len(raw) <= WINDOW)
    if long.whole:
        assert long.head == raw
    else:
        assert long.sha256 == hashlib.sha256(data).hexdigest()
        assert raw.startswith(long.head)
        assert raw.endswith(long.tail)
        assert len(long.head) == len(long.tail) == WINDOW // 2


def test_a_large_value_has_the_size_of_its_json_and_is_never_written_out_whole() -> None:
    value = {"rows": [{"n": n, "text": "ä" * 50} for n in range(2_000)], "end": "last"}
    written = json.dumps(value, ensure_ascii=False)
    long = of_value(value)
    assert (long.characters, long.size) == (len(written), len(written.encode()))
    assert long.sha256 == hashlib.sha256(written.encode()).hexdigest()
    assert written.endswith(long.tail)


def test_a_short_value_is_its_json() -> None:
    assert of_value({"a": [1, None]}).head == '{"a": [1, null]}'


@pytest.mark.parametrize(
    ("quotes", "content", "spans"),
    [
        (["b c"], "a b\n c d", [(2, 6)]),
        (["a"], "xay", [(1, 2)]),
        (["abc", "bcd"], "xabcdy", [(1, 5)]),
        (["missing"], "text", []),
        ([" "], "a b", []),
        ([".*"], "a.*b", [(1, 3)]),
    ],
)
def test_quotes_are_found_as_they_stand(
    quotes: list[str], content: str, spans: list[tuple[int, int]]
) -> None:
    assert found(quotes, content) == spans


@given(st.text(alphabet="ab <&\n", max_size=40), st.text(alphabet="ab <&", min_size=1, max_size=4))
def test_marking_changes_no_text(content: str, quote: str) -> None:
    shown_words = marked(content, found([quote], content))
    assert words(shown_words.replace("<mark>", "").replace("</mark>", "")) == content


def test_a_quote_in_the_middle_of_a_long_text_is_shown_and_marked() -> None:
    raw = "start " + "x" * 10_000 + " the deciding words " + "y" * 10_000 + " end"
    page = shown(of_text(raw), raw, ["the deciding words"], "file.json line 3")
    assert "<mark>the deciding words</mark>" in page
    assert page.startswith('<details open class="long">')
    assert "start" in words(page)
    assert words(page).count("x" * 5_000) == 0
    assert "in file.json line 3" in words(page)
    assert hashlib.sha256(raw.encode()).hexdigest() in page


@pytest.mark.parametrize("place", [0, 1_990, 3_000, 5_990, 7_990])
def test_a_quote_is_marked_wherever_it_stands(place: int) -> None:
    quote = "DECIDES IT"
    raw = ("." * place + quote + "." * 8_000)[:8_000] if place < 7_990 else "." * 7_990 + quote
    assert words(shown(of_text(raw), raw, [quote], "f")).count(quote) >= 1
    assert f"<mark>{quote}</mark>" in shown(of_text(raw), raw, [quote], "f")


def test_a_short_text_is_not_folded() -> None:
    assert shown(of_text("hello"), "hello", [], "f") == "<pre>hello</pre>"


def test_a_text_of_a_few_pages_is_folded_whole() -> None:
    raw = "word " * 500
    page = shown(of_text(raw), raw, [], "f")
    assert raw in words(page)
    assert "2,500 characters, 2.5 kB" in words(page)


def test_a_quote_in_a_very_long_text_is_found_as_it_stands() -> None:
    raw = "x" * (MOST_SEARCHED + 1) + " the deciding words " + "y" * 5_000
    assert "<mark>the deciding words</mark>" in shown(of_text(raw), raw, ["the deciding words"], "f")
    assert "<mark>" not in shown(of_text(raw), raw, ["the  deciding words"], "f")
