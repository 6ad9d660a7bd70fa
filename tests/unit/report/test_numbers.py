"""Numbers as people read them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.table import Ci
from steelyard.report.numbers import interval_words, measured, percent, points, quantity, span

SHARES = st.floats(0, 1, allow_subnormal=False)


@pytest.mark.parametrize(
    ("value", "bar", "shown"),
    [
        (13 / 18, None, "72.2 %"),
        (0.8996, 0.9, "89.96 %"),
        (0.9, 0.9, "90.0 %"),
        (0.9004, 0.9, "90.0 %"),
        (0.8999999, 0.9, "<90 %"),
        (0.9997, None, "99.97 %"),
        (1.0, None, "100.0 %"),
        (1 - 1e-15, None, "<100 %"),
        (0.0002, None, "0.02 %"),
        (0.0, None, "0.0 %"),
        (1e-12, None, ">0 %"),
        (0.12344, 0.1235, "12.3 %"),
        (0.12349, 0.1235, "12.3 %"),
        (0.12346, 0.123, "12.3 %"),
        (0.12299, 0.123, "12.299 %"),
        (None, None, "\N{EN DASH}"),
        (float("nan"), None, "\N{EN DASH}"),
    ],
)
def test_percent_never_rounds_across_what_it_is_compared_with(value, bar, shown):
    assert percent(value, bar) == shown


@given(value=SHARES, bar=SHARES)
def test_a_shown_percentage_stands_on_the_side_of_its_bar(value, bar):
    shown = percent(value, bar).removesuffix(" %")
    if shown[0] in "<>":
        edge = Decimal(shown[1:]) / 100
        assert (Decimal(repr(value)) < edge) == (shown[0] == "<")
        return
    number = Decimal(shown) / 100
    assert (number >= Decimal(repr(bar))) == (value >= bar)
    assert (number == 1) == (value == 1)
    assert (number == 0) == (value == 0)


def test_a_range_keeps_its_two_ends_apart():
    assert span(0.8, 0.9) == "80.0\N{EN DASH}90.0 %"
    assert span(0.8, 0.8) == "80.0 %"
    assert span(0.80001, 0.80049) == "80.00\N{EN DASH}80.05 %"
    assert span(None, 1.0) == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (13 / 18, 15 / 18, "+11.1"),
        (0.5, 0.25, "\N{MINUS SIGN}25.0"),
        (0.5, 0.5, "no change"),
        (0.5, 0.5001, "+0.01"),
        (None, 0.5, "\N{EN DASH}"),
    ],
)
def test_differences_are_points_and_never_plus_zero(old, new, shown):
    assert points(old, new) == shown


def test_words_replace_an_interval_that_says_nothing():
    def ci(**more):
        return Ci(**({"low": 0.1, "high": 0.9, "method": "t", "status": "ok", "n": 20} | more))

    assert interval_words(ci()) == ""
    assert interval_words(ci(status="too_few", n=3)) == "n 3: too few for an interval"
    assert interval_words(ci(status="too_few", n=3, method="wilson")) == ""
    assert (
        interval_words(ci(low=None, high=None, status="not_estimable", n=1)) == "n 1: interval not estimable"
    )


def test_measurements_carry_their_unit():
    assert measured("seconds", 41.23) == "41.2 s"
    assert measured("cost_usd", 0.01567) == "$0.0157"
    assert measured("tokens", 1234567) == "1,234,567"
    assert quantity(float("inf")) == "\N{EN DASH}"
