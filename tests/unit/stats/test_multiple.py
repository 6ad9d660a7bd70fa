"""Corrections for multiple comparisons against statsmodels and the example of the 1995 paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from steelyard.stats import Adjustment, benjamini_hochberg, holm

Correction = Callable[..., Adjustment]
BOTH = [holm, benjamini_hochberg]
PAPER = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
PAPER += [0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1.0]

p_values = st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=25)


def test_the_example_of_the_paper() -> None:
    assert sum(map(bool, benjamini_hochberg(PAPER).rejected)) == 4
    assert sum(map(bool, holm(PAPER).rejected)) == 3


@given(values=p_values)
def test_benjamini_hochberg_agrees_with_statsmodels(values: list[float]) -> None:
    expected = multipletests(values, method="fdr_bh")[1]
    assert benjamini_hochberg(values).adjusted == pytest.approx(tuple(expected), rel=1e-12, abs=1e-300)


@settings(max_examples=15)  # the oracle takes up to 0.1 s per call
@given(values=p_values)
def test_holm_agrees_with_statsmodels(values: list[float]) -> None:
    expected = multipletests(values, method="holm")[1]
    assert holm(values).adjusted == pytest.approx(tuple(expected), rel=1e-12, abs=1e-300)


@given(values=st.lists(st.integers(0, 1000).map(lambda p: Fraction(p, 1000)), min_size=1, max_size=8))
def test_holm_is_the_shortcut_of_testing_every_family_that_contains_the_comparison(
    values: list[Fraction],
) -> None:
    # Closed testing with Bonferroni: the largest corrected minimum over all subfamilies that hold i.
    families = [f for size in range(len(values)) for f in combinations(range(len(values)), size + 1)]
    expected = [
        max(min(Fraction(1), len(f) * min(values[j] for j in f)) for f in families if i in f)
        for i in range(len(values))
    ]
    adjusted = holm([float(p) for p in values]).adjusted
    assert adjusted == pytest.approx([float(p) for p in expected], rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("correction", BOTH)
@given(values=p_values, gaps=st.lists(st.integers(0, 25), max_size=6))
def test_undefined_values_change_nothing_and_are_counted(
    correction: Correction, values: list[float], gaps: list[int]
) -> None:
    mixed: list[float | None] = list(values)
    for gap in gaps:
        mixed.insert(gap, None)
    plain, result = correction(values), correction(mixed)
    assert tuple(p for p in result.adjusted if p is not None) == plain.adjusted
    assert [p is None for p in result.adjusted] == [p is None for p in mixed]
    assert [r is None for r in result.rejected] == [p is None for p in mixed]
    assert (result.n_tested, result.n_undefined) == (len(values), len(gaps))


@pytest.mark.parametrize("correction", BOTH)
@given(values=p_values, alpha=st.floats(0.001, 0.5))
def test_correcting_only_raises_p_values_and_keeps_their_order(
    correction: Correction, values: list[float], alpha: float
) -> None:
    result = correction(values, alpha)
    adjusted = [p for p in result.adjusted if p is not None]
    assert all(before <= after <= 1.0 for before, after in zip(values, adjusted, strict=True))
    by_value = sorted(zip(values, adjusted, strict=True))
    assert [after for _, after in by_value] == sorted(adjusted)
    assert list(result.rejected) == [p <= alpha for p in adjusted]


@given(values=p_values)
def test_holm_is_the_stricter_of_the_two(values: list[float]) -> None:
    strict, loose = holm(values).adjusted, benjamini_hochberg(values).adjusted
    pairs = [(s, b) for s, b in zip(strict, loose, strict=True) if s is not None and b is not None]
    assert len(pairs) == len(values)
    assert all(s >= b * (1.0 - 1e-12) for s, b in pairs)


@pytest.mark.parametrize("correction", BOTH)
def test_nothing_to_test(correction: Correction) -> None:
    empty, undefined = correction([]), correction([None, None])
    assert (empty.adjusted, empty.n_tested, empty.n_undefined) == ((), 0, 0)
    assert (undefined.adjusted, undefined.rejected) == ((None, None), (None, None))
    assert (undefined.n_tested, undefined.n_undefined) == (0, 2)


@pytest.mark.parametrize("correction", BOTH)
@pytest.mark.parametrize(
    ("values", "alpha"),
    [([math.nan], 0.05), ([-0.1], 0.05), ([1.1], 0.05), (["0.1"], 0.05), ([0.5], 0.0), ([0.5], 1.0)],
)
def test_bad_input_is_refused(correction: Correction, values: list[Any], alpha: float) -> None:
    with pytest.raises(ValueError, match="must"):
        correction(values, alpha)
