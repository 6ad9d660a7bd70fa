"""Nothing that is not markup already becomes markup."""

from __future__ import annotations

import html
import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.report.html.tags import Markup, embedded, joined, row_head, tag, text
from steelyard.report.plain import plain

ANY = st.text(max_size=60)
MARKUP = ["</script>", "<!--", "<img src=x onerror=alert(1)>", '" onx="', "'", "&lt;", "]]>"]
HIDING = ["\u2028", "\u202e", "\x00", "\ud800"]
NASTY = st.sampled_from([*MARKUP, *HIDING])
TEXTS = st.lists(st.one_of(ANY, NASTY), max_size=6).map("".join)


class Seen(HTMLParser):
    """Tags and attributes that a reader of the markup finds, and its text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said = ""

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(name)
        self.attributes += attributes

    def handle_data(self, data: str) -> None:
        self.said += data


def seen(markup: str) -> Seen:
    reader = Seen()
    reader.feed(markup)
    reader.close()
    return reader


@given(TEXTS, TEXTS)
def test_whatever_text_an_element_gets_it_stays_one_element_with_one_attribute(
    inner: str, value: str
) -> None:
    found = seen(tag("p", inner, title=value))
    assert found.tags == ["p"]
    assert [name for name, _ in found.attributes] == ["title"]


@given(TEXTS)
def test_text_can_be_read_back_from_what_is_shown(raw: str) -> None:
    shown = html.unescape(text(raw, keep=raw))
    assert shown == raw.encode("utf-8", "backslashreplace").decode()


def test_marks_that_hide_or_reorder_are_written_out() -> None:
    assert text("a\u202eb\x1b[1m\n") == "a\\u202eb\\x1b[1m\\n"
    assert text("a\n\tb", keep="\n\t") == "a\n\tb"


@settings(max_examples=60)
@given(
    TEXTS
    | st.lists(TEXTS, max_size=3)
    | st.dictionaries(TEXTS, st.integers(max_value=2**60) | TEXTS, max_size=3)
)
def test_embedded_data_cannot_end_its_script_and_is_the_same_json(value: object) -> None:
    encoded = embedded({"value": value})
    assert not set(encoded) & set("<>&\u2028\u2029")
    assert json.loads(encoded) == plain({"value": value})


def test_attributes_that_are_false_or_null_are_left_out() -> None:
    made = tag("details", tag("summary", "more"), open=True, hidden=False, class_=None, data_row=3)
    assert made == '<details open data-row="3"><summary>more</summary></details>'


def test_elements_of_pictures_end_before_the_next_begins() -> None:
    assert (
        tag("svg", tag("line", x1="0"), tag("line", x1="1"))
        == '<svg><line x1="0"></line><line x1="1"></line></svg>'
    )


def test_only_markup_is_left_as_it_is() -> None:
    assert tag("p", Markup("<b>x</b>"), "<b>") == "<p><b>x</b>&lt;b&gt;</p>"
    assert joined(["<", None, Markup("<br>")], "&") == "&lt;&amp;<br>"


@pytest.mark.parametrize("name", ["a", "a\u0301" * 3, "x" * 300])
def test_the_head_of_a_row_holds_its_name(name: str) -> None:
    assert seen(row_head(name)).tags == ["th", "span"]
