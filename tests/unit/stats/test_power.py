"""Sample sizes against published figures and their own inverse."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats import (
    certifying_sample_size,
    clopper_pearson_lower,
    minimum_detectable_effect,
    sample_size,
)


def test_the_published_sample_size_and_effect() -> None:
    assert sample_size(0.03, omega2=1 / 9) == pytest.approx(968.9975, abs=1e-3)
    effect = minimum_detectable_effect(
        198, omega2=1 / 9, sigma2_a=1 / 6, sigma2_b=1 / 6, repeats_a=10, repeats_b=10
    )
    assert effect == pytest.approx(0.0757, abs=5e-5)


designs = st.fixed_dictionaries(
    {
        "omega2": st.floats(1e-6, 1.0),
        "sigma2_a": st.floats(0.0, 0.25),
        "sigma2_b": st.floats(0.0, 0.25),
        "repeats_a": st.integers(1, 20),
        "repeats_b": st.integers(1, 20),
        "alpha": st.floats(0.001, 0.2),
        "power": st.floats(0.3, 0.999),
    }
)


@given(st.integers(1, 10**6), designs)
def test_the_effect_inverts_the_sample_size(n: int, design: dict[str, Any]) -> None:
    effect = minimum_detectable_effect(n, **design)
    assert effect is not None
    assert sample_size(effect, **design) == pytest.approx(n, rel=1e-9)


@given(st.integers(1, 20))
def test_more_repeats_never_need_more_units(repeats: int) -> None:
    fewer = sample_size(0.05, omega2=0.1, sigma2_a=0.2, repeats_a=repeats)
    more = sample_size(0.05, omega2=0.1, sigma2_a=0.2, repeats_a=repeats + 1)
    assert fewer is not None
    assert more is not None
    assert more < fewer


def test_without_variance_or_units_there_is_no_answer() -> None:
    assert sample_size(0.03, omega2=0.0) is None
    assert minimum_detectable_effect(100, omega2=0.0) is None
    assert minimum_detectable_effect(0, omega2=0.1) is None


@pytest.mark.parametrize(
    ("target", "sizes"),
    [
        (0.85, [19, 30, 40, 50, 59, 68]),
        (0.90, [29, 46, 61, 76, 89, 103]),
        (0.95, [59, 93, 124, 153, 181, 208]),
    ],
)
def test_observations_that_certify_a_rate(target: float, sizes: list[int]) -> None:
    assert [certifying_sample_size(target, failures) for failures in range(6)] == sizes


@pytest.mark.parametrize(("target", "successes"), [(0.85, 92), (0.90, 96)])
def test_successes_of_a_hundred_that_certify_a_rate(target: float, successes: int) -> None:
    lows = [clopper_pearson_lower(k, 100).low for k in (successes - 1, successes)]
    assert lows[0] is not None
    assert lows[1] is not None
    assert lows[0] < target <= lows[1]


@given(st.floats(0.01, 0.97), st.integers(0, 8), st.sampled_from([0.8, 0.95, 0.99]))
def test_one_observation_fewer_does_not_certify(target: float, failures: int, confidence: float) -> None:
    n = certifying_sample_size(target, failures, confidence)
    enough = clopper_pearson_lower(n - failures, n, confidence).low
    assert enough is not None
    assert enough >= target
    if n - 1 > failures:
        short = clopper_pearson_lower(n - 1 - failures, n - 1, confidence).low
        assert short is not None
        assert short < target


@pytest.mark.parametrize(
    ("delta", "options"),
    [
        (0.0, {"omega2": 0.1}),
        (-0.1, {"omega2": 0.1}),
        (math.nan, {"omega2": 0.1}),
        (0.1, {"omega2": -0.1}),
        (0.1, {"omega2": math.inf}),
        (0.1, {"omega2": 0.1, "repeats_a": 0}),
        (0.1, {"omega2": 0.1, "alpha": 0.0}),
        (0.1, {"omega2": 0.1, "power": 1.0}),
        (0.1, {"omega2": 0.1, "alpha": 0.5, "power": 0.2}),
    ],
)
def test_senseless_designs_are_refused(delta: float, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        sample_size(delta, **options)


@pytest.mark.parametrize(
    ("target", "failures", "confidence"), [(0.0, 0, 0.95), (1.0, 0, 0.95), (0.9, -1, 0.95), (0.9, 0, 1.0)]
)
def test_senseless_certificates_are_refused(target: float, failures: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="must"):
        certifying_sample_size(target, failures, confidence)
