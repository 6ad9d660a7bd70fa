from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.importers import decoding, long_records
from steelyard.importers.long_records import TooLarge, blocks_of, decode_blocks

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=60)
    | st.text('\\"é\U0001f600\n\0', max_size=60),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('ab"', max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_records, "MOST_TEXT", 12)
    monkeypatch.setattr(long_records, "GATHERED", 3)


def in_blocks(raw: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


def read(raw: bytes, size: int) -> tuple[Any, set[str]] | str:
    try:
        value, oddities = decode_blocks(in_blocks(raw, size))
    except decoding.Refused as refused:
        return str(refused)
    return value, {code for code, _ in oddities}


@given(value=VALUES, ascii_only=st.booleans(), size=st.integers(1, 40))
def test_blocks_are_read_as_the_whole_is(value: Any, ascii_only: bool, size: int) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    expected, oddities = decoding.decode(raw)
    assert read(raw, size) == (expected, {code for code, _ in oddities})


@given(raw=st.text('{}[]",:\\u0de8 a1é', max_size=60), size=st.integers(1, 40))
def test_what_is_no_json_is_refused_in_blocks_too(raw: str, size: int) -> None:
    found = read(raw.encode(), size)
    try:
        expected, oddities = decoding.decode(raw.encode())
    except decoding.Refused:
        assert isinstance(found, str)
    else:
        assert found == (expected, {code for code, _ in oddities})


@pytest.mark.parametrize("size", [1, 7, 16, 31, 400])
@pytest.mark.parametrize(
    ("raw", "value", "codes"),
    [
        (b'{"a": "%s"}' % (b"x" * 100 + b"\\ud83d\\ude00"), {"a": "x" * 100 + "\U0001f600"}, set()),
        (b'{"a": "%s"}' % (b"x" * 100 + b"\\ud83d"), {"a": "x" * 100 + "\ufffd"}, {"lone_surrogate"}),
        (b'["%s"]' % (b"\\ude00" + b"x" * 100), ["\ufffd" + "x" * 100], {"lone_surrogate"}),
        (b'["%s"]' % (b"\\u0000" * 30), ["\0" * 30], {"nul_character"}),
        (b'["%s"]' % (b"\\\\" * 60), ["\\" * 60], set()),
        (b'["%s"]' % (b'\\"' * 60), ['"' * 60], set()),
        (b'{"a": "%s", "a": 1}' % (b"x" * 100), {"a": 1}, {"duplicate_key"}),
        (b'"%s"' % (b"x" * 100), "x" * 100, set()),
    ],
)
def test_a_long_text_is_read_as_it_stands(raw: bytes, value: Any, codes: set[str], size: int) -> None:
    assert read(raw, size) == (value, codes)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"a": "' + b"x" * 100, "a text that begins at byte 6 has no end"),
        (b'["' + b"x" * 100 + b'\x01"]', "a text that begins at byte 1 cannot be read"),
        (b'["' + b"x" * 100 + b'\xff"]', "a text that begins at byte 1 cannot be read"),
        (b'["' + b"x" * 100 + b'" 1]', "not counting 1 long texts before it"),
        (b'{"' + b"k" * 100 + b'": 1}', "it has a key of 100 characters"),
    ],
)
def test_a_broken_long_text_says_where_it_begins(raw: bytes, why: str) -> None:
    found = read(raw, 20)
    assert isinstance(found, str)
    assert why in found


def test_what_stands_in_place_of_a_long_text_cannot_be_forged() -> None:
    texts = [f"long text {'0' * 32} 0", "x" * 100]
    assert read(json.dumps(texts).encode(), 16) == (texts, set())


def test_long_texts_do_not_count_as_json_that_is_too_large() -> None:
    raw = json.dumps({"log": "x" * 1000}).encode()
    assert decode_blocks(in_blocks(raw, 16), most=60)[0] == {"log": "x" * 1000}
    with pytest.raises(TooLarge):
        decode_blocks(in_blocks(json.dumps(list(range(1000))).encode(), 16), most=60)


def test_a_text_comes_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_records, "BLOCK", 3)
    assert b"".join(blocks_of("aé\U0001f600xyz")) == "aé\U0001f600xyz".encode()
