"""The own special functions against scipy, at tolerances far below anything that is shown."""

from __future__ import annotations

import math

import pytest
import scipy.special as oracle
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.special import betainc, betaincinv, normal_quantile, t_quantile

# Uniform in the exponent, so that shapes of every size occur.
shapes = st.floats(-0.5, 6.0).map(lambda exponent: 10.0**exponent)
probabilities = st.floats(1e-9, 1.0 - 1e-9)


@given(shapes, shapes, st.floats(-6.0, 6.0))
def test_betainc_agrees_with_scipy_around_the_mean(a: float, b: float, deviations: float) -> None:
    spread = math.sqrt(a * b / (a + b + 1.0)) / (a + b)
    x = min(1.0, max(0.0, a / (a + b) + deviations * spread))
    assert betainc(a, b, x) == pytest.approx(float(oracle.betainc(a, b, x)), rel=1e-10, abs=1e-14)


@given(shapes, shapes, st.floats(0.0, 1.0))
def test_betainc_agrees_with_scipy_anywhere(a: float, b: float, x: float) -> None:
    assert betainc(a, b, x) == pytest.approx(float(oracle.betainc(a, b, x)), rel=1e-10, abs=1e-14)


@given(shapes, shapes, probabilities)
def test_betaincinv_agrees_with_scipy(a: float, b: float, p: float) -> None:
    assert betaincinv(a, b, p) == pytest.approx(float(oracle.betaincinv(a, b, p)), rel=1e-10, abs=1e-13)


@given(shapes, shapes, st.floats(0.001, 0.999))
def test_betaincinv_inverts_betainc(a: float, b: float, p: float) -> None:
    x = betaincinv(a, b, p)
    # One step of the float x may already move the probability by this much.
    step = float(scipy.stats.beta.pdf(x, a, b)) * math.ulp(x)
    assert betainc(a, b, x) == pytest.approx(p, rel=1e-10, abs=4.0 * step)


@given(shapes, shapes)
def test_the_quantile_rises_with_the_probability(a: float, b: float) -> None:
    quantiles = [betaincinv(a, b, p) for p in (0.0, 0.01, 0.05, 0.3, 0.5, 0.7, 0.95, 0.99, 1.0)]
    assert quantiles == sorted(quantiles)
    assert (quantiles[0], quantiles[-1]) == (0.0, 1.0)


@given(st.floats(-0.3, 7.0).map(lambda exponent: 10.0**exponent), probabilities)
def test_t_quantile_agrees_with_scipy(df: float, p: float) -> None:
    assert t_quantile(p, df) == pytest.approx(float(oracle.stdtrit(df, p)), rel=1e-9, abs=1e-9)


@given(st.integers(1, 400), st.sampled_from([0.9, 0.95, 0.975, 0.99, 0.995, 0.9995]))
def test_t_quantile_is_tight_where_it_is_used(df: int, p: float) -> None:
    assert t_quantile(p, df) == pytest.approx(float(oracle.stdtrit(df, p)), rel=1e-12)


@given(st.floats(0.5, 1e6), st.integers(1, 1023).map(lambda numerator: numerator / 1024))
def test_t_quantile_is_antisymmetric(df: float, p: float) -> None:
    assert t_quantile(p, df) == -t_quantile(1.0 - p, df)


def test_t_quantile_of_the_cauchy_and_the_normal_limit() -> None:
    assert t_quantile(0.75, 1) == pytest.approx(1.0, rel=1e-14)
    assert t_quantile(0.975, 2) == pytest.approx(0.95 * math.sqrt(2 / (1 - 0.95**2)), rel=1e-13)
    assert t_quantile(0.975, 1e12) == pytest.approx(normal_quantile(0.975), rel=1e-11)
    assert t_quantile(0.5, 3) == 0.0


@given(st.floats(1e-300, 0.5))
def test_normal_quantile_agrees_with_scipy(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(float(oracle.ndtri(p)), rel=1e-13, abs=1e-15)


def test_normal_quantile_reaches_the_last_float_below_one() -> None:
    assert normal_quantile(math.nextafter(1.0, 0.0)) == pytest.approx(8.2095, abs=1e-3)


def test_a_quantile_below_the_smallest_float_is_zero_and_its_t_is_refused() -> None:
    assert betaincinv(0.001, 1.0, 0.01) == 0.0
    with pytest.raises(ValueError, match="too large"):
        t_quantile(1e-12, 0.01)


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [(0.0, 1.0, 0.5), (1.0, -1.0, 0.5), (math.nan, 1.0, 0.5), (1.0, math.inf, 0.5), (1.0, 1.0, 1.5)],
)
def test_arguments_outside_the_domain_are_refused(a: float, b: float, x: float) -> None:
    with pytest.raises(ValueError, match="must"):
        betainc(a, b, x)
    with pytest.raises(ValueError, match="must"):
        betaincinv(a, b, x)


@pytest.mark.parametrize(("p", "df"), [(0.0, 3.0), (1.0, 3.0), (math.nan, 3.0), (0.9, 0.0), (0.9, math.inf)])
def test_t_quantile_refuses_bad_arguments(p: float, df: float) -> None:
    with pytest.raises(ValueError, match="must"):
        t_quantile(p, df)
