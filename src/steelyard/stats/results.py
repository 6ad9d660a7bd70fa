"""Result records shared by the statistics: a number, or a word that says why there is none."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

Status = Literal["ok", "too_few", "no_data", "not_estimable", "no_discordants"]
"""`ok` and `too_few` carry numbers (`too_few`: read them with care); the other words carry none."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A confidence interval, or the reason why there is none.

    `low` and `high` are both numbers or both None. `n` counts the independent units behind the interval
    (observations, or clusters where observations come in clusters). `se` is the standard error in the unit
    of the values, `df` the degrees of freedom of the t quantile, `n_effective` the Kish effective number of
    units under unequal weights; each is None where the method has no such quantity.

    Raises ValueError when a number is not finite, when only one bound is given, or when low > high.
    """

    low: float | None
    high: float | None
    method: str
    status: Status
    n: int
    se: float | None = None
    df: float | None = None
    n_effective: float | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        for number in (self.low, self.high, self.se, self.df, self.n_effective, self.confidence):
            if number is not None and not math.isfinite(number):
                raise ValueError("An interval holds finite numbers only; give None and a status instead.")
        if (self.low is None) != (self.high is None):
            raise ValueError("An interval has both bounds or none; a one-sided one has a trivial bound.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"The lower bound {self.low} lies above the upper bound {self.high}.")


class PairedTest(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a test on paired yes/no results; `p_value` is None unless status is `ok`."""

    p_value: float | None
    status: Status
    method: str
    gained: int
    lost: int


class Adjustment(msgspec.Struct, frozen=True, kw_only=True):
    """P-values corrected for multiple comparisons, in the order of the input.

    `adjusted` and `rejected` hold None where the input was undefined. `n_tested` is the size of the family
    that the correction used, `n_undefined` how many comparisons were left out of it.
    """

    adjusted: tuple[float | None, ...]
    rejected: tuple[bool | None, ...]
    method: str
    alpha: float
    n_tested: int
    n_undefined: int


class RepeatRate(msgspec.Struct, frozen=True, kw_only=True):
    """Mean of pass@k or pass^k over units; `n` units had at least k repeats, `n_short` had fewer."""

    value: float | None
    status: Status
    k: int
    n: int
    n_short: int
