from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.importers import decoding
from steelyard.importers.decoding import (
    Refused,
    RepeatedKeys,
    decode,
    decode_arguments,
    decode_result,
    oddity,
    plain,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_every_json_value_comes_back_exactly(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return
    found, oddities = decode(raw)
    assert repr(found) == repr(json.loads(text)) or oddities
    assert {code for code, _ in oddities} <= {"nul_character", "lone_surrogate"}


@given(st.text(alphabet='ab"\\:{}[],u022 \n', max_size=30), st.text(alphabet='ab"\\u0022', max_size=4))
def test_a_key_written_twice_is_always_seen(content: str, key: str) -> None:
    pair = f"{json.dumps(key)}: {json.dumps(content)}"
    once, oddities = decode(f"[{{{pair}}}]".encode())
    assert once == [{key: content}]
    assert oddities == ()
    twice, oddities = decode(f"[{{{pair}, {pair}}}]".encode())
    assert isinstance(twice[0], RepeatedKeys)
    assert [code for code, _ in oddities] == ["duplicate_key"]


def test_an_escaped_quotation_mark_does_not_hide_a_key_written_twice() -> None:
    value, oddities = decode(b'{"a": "\\u0022\\u0022", "a": "x"}')
    assert value == {"a": "x"}
    assert oddities[0][0] == "duplicate_key"


@pytest.mark.parametrize(
    ("raw", "code", "value"),
    [
        (b"[NaN]", "non_finite", ["NaN"]),
        (b"[-Infinity, 1]", "non_finite", ["-Infinity", 1]),
        (b"[1e999, -1e999]", "non_finite", ["Infinity", "-Infinity"]),
        (b'["\\ud83d x"]', "lone_surrogate", ["\ufffd x"]),
        (b'{"\\udc00": 1}', "lone_surrogate", {"\ufffd": 1}),
        (b"[" + b"1" * 5000 + b"]", "huge_number", ["1" * 5000]),
        (b'["a\\u0000b"]', "nul_character", ["a\0b"]),
    ],
    ids=["nan", "-infinity", "overflow", "surrogate", "surrogate key", "5000 digits", "nul"],
)
def test_odd_values_are_kept_and_told(raw: bytes, code: str, value: Any) -> None:
    found, oddities = decode(raw)
    assert plain(found) == value
    assert [told for told, _ in oddities] == [code]


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert decode(b'"\\ud83d\\ude00"') == ("\U0001f600", ())


def test_large_integers_stay_exact() -> None:
    assert decode(b"[123456789012345678901234567890]") == ([123456789012345678901234567890], ())


@pytest.mark.parametrize(
    "raw",
    [
        b'"\xff"',
        b"",
        b"{",
        b"[1,]",
        b'{"a": 1} x',
        b'["a\x00b"]',
        b"'a'",
        b"[" * 300 + b"]" * 300,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 50_000,
        b"[" * 100_000,
    ],
)
def test_what_is_no_usable_json_is_refused_in_words(raw: bytes) -> None:
    with pytest.raises(Refused) as refused:
        decode(raw)
    assert 10 < len(str(refused.value)) < 120


@pytest.mark.parametrize("depth", [1, 40, 200])
def test_depth_up_to_the_limit_is_read(depth: int) -> None:
    value, _ = decode(b"[" * depth + b"]" * depth)
    for _ in range(depth - 1):
        (value,) = value
    assert value == []


def test_depth_is_counted_past_brackets_in_texts() -> None:
    assert decode(json.dumps(["[" * 500, {"a": "]}" * 300}, '\\["['] * 3).encode())[1] == ()
    deep_and_bracketed = b'["[", ' * 201 + b"1" + b"]" * 201
    with pytest.raises(Refused, match="levels deep"):
        decode(deep_and_bracketed)


def test_depth_that_texts_hide_crashes_nothing() -> None:
    for depth in (150, 400, 990, 5000):
        hidden = b'["]", ' * depth + b"NaN" + b', "["]' * depth
        try:
            value, _ = decode(hidden)
        except Refused as refused:
            assert "levels deep" in str(refused)
        else:
            assert depth < 1000
            assert value[0] == "]"


def test_wide_documents_are_not_deep() -> None:
    wide = json.dumps([{"a": [{"b": []}]}] * 5000).encode()
    assert len(decode(wide)[0]) == 5000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("[1,2]", [1, 2]),
        ('"x"', "x"),
        ("null", None),
        ("1.0", 1.0),
        ("true", True),
        (' {"n": 1} ', {"n": 1}),
    ],
)
def test_argument_text_that_is_json_is_taken_as_it_is(text: str, value: Any) -> None:
    found, error, oddities = decode_arguments(text)
    assert (found, error, oddities) == (value, None, ())
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 7,',
        "plain text",
        '{"a": 1, "a": 1}',
        '{"a": NaN}',
        '{"a": [1e999]}',
        '{"a": ' + "9" * 5000 + "}",
        " ",
        "{'a': 1}",
        "\ud800",
        "[" * 500 + "]" * 500,
    ],
    ids=["cut", "text", "twice", "nan", "overflow", "huge", "blank", "single quotes", "surrogate", "deep"],
)
def test_malformed_argument_text_is_no_value_and_says_why(text: str) -> None:
    value, error, _ = decode_arguments(text)
    assert value is None
    assert error
    assert error.endswith(".")


def test_three_megabytes_of_arguments_are_read() -> None:
    value, error, _ = decode_arguments(json.dumps({"a": "x" * 3_000_000}))
    assert error is None
    assert len(value["a"]) == 3_000_000


@pytest.mark.parametrize(
    ("text", "value", "odd"),
    [
        ('{"a": 1}', {"a": 1}, False),
        ("42", 42, False),
        ("true", True, False),
        ("", "", False),
        ("done", "done", False),
        ("[cut", "[cut", False),
        ("not json", "not json", False),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}', True),
        ("NaN", "NaN", False),
        ("[NaN]", "[NaN]", True),
    ],
)
def test_result_text_is_decoded_only_where_it_is_exact_json(text: str, value: Any, odd: bool) -> None:
    assert decode_result(text) == (value, odd)


def test_oddity_looks_everywhere() -> None:
    assert oddity({"a": [1, 2.5, {"b": "NaN"}]}) is None
    assert oddity({"a": [1, {"b": math.inf}]})
    assert oddity([RepeatedKeys(a=1)])
    assert plain([RepeatedKeys(a=math.nan)]) == [{"a": "NaN"}]
    assert type(plain([RepeatedKeys()])[0]) is dict


def test_the_limit_leaves_room_for_recursion() -> None:
    deep = json.loads("[" * decoding.MAX_DEPTH + "]" * decoding.MAX_DEPTH)
    assert plain(deep) == deep
