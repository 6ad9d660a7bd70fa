"""Markdown for a step summary."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from steelyard.report.markdown import code, markdown, quoted
from unit.report.tables import golden
from unit.report.test_terminal import spoiled
from unit.report.test_text import ANY

DASH, TIMES = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"


def rendered(text: str) -> str:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"html": True}).enable("table")
    return parser.render(text)


def test_the_golden_example():
    lines = markdown(golden()).splitlines()
    assert lines[0] == "## FAIL: operations 1.0"
    assert f"| **<code>completion</code>** | 33.3 % | 1 of 3 tasks | primary | 6{DASH}79 % |" in lines
    assert (
        "| <code>correctness</code> | 72.2 % | each task votes | 3 of 3 tasks | n 3: too few for an interval |"
        in lines
    )
    assert "|  | 66.7 % | each check votes, 6 of 9 (pooled) |  |  |" in lines
    assert (
        "- ✗ <code>csv</code> <code>A1</code> <code>SOURCE&#95;OVERWRITTEN</code> **(gate)**: "
        "s0011 write accounts&#46;csv" in lines
    )


def test_gates_come_first_each_with_its_rule_and_what_is_long_is_folded():
    text = markdown(golden(), {("csv", "A1"): "The source MUST stay."})
    order = [
        "## FAIL",
        "| |",
        "### Why not complete",
        "- ✗ <code>csv</code> <code>A1</code>",
        "- ✗ <code>checkout</code>",
    ]
    places = [
        text.index(part)
        for part in [*order, "### Notices", "<details>", "- verdicts: 14 graded", "</details>"]
    ]
    assert places == sorted(places)
    assert "<br>rule: The source MUST stay." in text
    assert "### No verdict" not in text


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>", "</code><b>x", "[x](javascript:alert(1))", "![x](http://x.y)", "a | b",
        "`code`", "**bold** _it_ ~~s~~", "http://evil.example", "www.evil.example", "@someone", "mail@evil.example",
        "line\n# heading", "&lt;b&gt;", "\\| \\`", ":smile:", "<!-- -->", "$x$",
    ],
)  # fmt: skip
def test_markup_in_a_name_shows_as_itself(text):
    from html import unescape

    html = rendered(f"| a |\n|---|\n| {code(text)} |\n\n- {quoted(text)}\n")
    assert html.count("<td>") == 1
    assert html.count("<li>") == 1
    tags = set(re.findall(r"</?([a-z0-9]+)", html))
    assert tags <= {"table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li"}
    item = re.search(r"<li>(.*)</li>", html)
    assert item is not None
    assert unescape(item[1].replace("<!-- -->", "")) == text.replace("\n", "\\n")


@settings(max_examples=60)
@given(ANY)
def test_no_text_changes_the_structure(text):
    shape = re.findall(
        r"</?(?:table|tr|td|th|h\d|ul|li|p|strong)>", rendered(markdown(spoiled("p" * len(text))))
    )
    found = re.findall(
        r"</?(?:table|tr|td|th|h\d|ul|li|p|strong|a|img|em|script|b)>", rendered(markdown(spoiled(text)))
    )
    if text:
        assert found == shape
    assert markdown(spoiled(text)).encode("utf-8")


def test_long_text_is_cut():
    assert len(quoted("x" * 10_000)) == 601
