"""Correction of p-values for multiple comparisons: Holm to decide, Benjamini-Hochberg to explore."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from steelyard.stats.inputs import checked_between, checked_open_unit
from steelyard.stats.results import Adjustment


def holm(p_values: Sequence[float | None], alpha: float = 0.05) -> Adjustment:
    """Holm's step-down correction (Holm 1979): keeps the chance of any false rejection at alpha.

    None marks an undefined comparison: it is left out of the family before the correction, counted in
    `n_undefined`, and None in the result. ValueError on a p-value outside [0, 1], on NaN, and on an alpha
    outside (0, 1).
    """
    alpha = checked_open_unit(alpha, "alpha")
    order = _defined(p_values)
    m = len(order)
    steps = [min(1.0, p * (m - rank)) for rank, (p, _) in enumerate(order)]
    return _in_input_order(order, list(accumulate(steps, max)), len(p_values), "holm", alpha)


def benjamini_hochberg(p_values: Sequence[float | None], alpha: float = 0.05) -> Adjustment:
    """Step-up correction of Benjamini and Hochberg (1995): keeps the false discovery rate at alpha.

    Undefined comparisons and errors as in `holm`.
    """
    alpha = checked_open_unit(alpha, "alpha")
    order = _defined(p_values)
    m = len(order)
    steps = [min(1.0, p * (m / rank)) for rank, (p, _) in enumerate(order, start=1)]
    lowest_so_far = list(accumulate(reversed(steps), min))[::-1]
    return _in_input_order(order, lowest_so_far, len(p_values), "benjamini_hochberg", alpha)


def _defined(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    """Defined p-values with their positions, smallest first."""
    return sorted(
        (checked_between(p, f"P-value {i}", 0.0, 1.0), i) for i, p in enumerate(p_values) if p is not None
    )


def _in_input_order(
    order: list[tuple[float, int]], corrected: list[float], length: int, method: str, alpha: float
) -> Adjustment:
    adjusted: list[float | None] = [None] * length
    for (_, position), p in zip(order, corrected, strict=True):
        adjusted[position] = p
    return Adjustment(
        adjusted=tuple(adjusted),
        rejected=tuple(None if p is None else p <= alpha for p in adjusted),
        method=method,
        alpha=alpha,
        n_tested=len(order),
        n_undefined=length - len(order),
    )
