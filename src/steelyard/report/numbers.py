"""Numbers as people read them. Nothing here rounds a number across the one that it is compared with."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

from steelyard.model.table import Average, Ci

MOST_DIGITS = 4
EN_DASH, MINUS, TIMES = "\N{EN DASH}", "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
NOTHING = EN_DASH
FEW = 3
"""An interval by t over so few tasks says next to nothing; words do."""

UNITS = {
    "seconds": ("time", "", " s"),
    "cost_usd": ("cost", "$", ""),
    "user_cost_usd": ("user cost", "$", ""),
    "tokens": ("tokens", "", ""),
    "tool_calls": ("tool calls", "", ""),
    "turns": ("turns", "", ""),
    "recoveries": ("recoveries", "", ""),
}
"""Label, prefix and suffix of the measurements with a name of their own."""


def percent(value: float | None, bar: float | None = None, digits: int = 1) -> str:
    """A share in 0..1 as `72.2 %`.

    With as many decimals as it takes (at least `digits`, at most 4) for the text to stand on the same side of `bar`,
    of 0 and of 1 as the value; `<90 %` or `>0 %` where even those would not do. Null and non-finite: a dash.
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{bare_percent(value, bar, digits)} %"


def bare_percent(value: float, bar: float | None = None, digits: int = 1) -> str:
    """`percent` without its sign; `value` is finite."""
    exact = _hundred(value)
    edges = [Decimal(0), Decimal(100)] + ([] if bar is None else [_hundred(bar)])
    for places in range(digits, MOST_DIGITS + 1):
        shown = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        if not any(_crosses(exact, shown, edge) for edge in edges):
            return f"{shown:f}"
    edge = next(edge for edge in edges if _crosses(exact, shown, edge))
    return f"{'<' if exact < edge else '>'}{_short(edge)}"


def _hundred(value: float) -> Decimal:
    return Decimal(repr(float(value))) * 100


def _crosses(exact: Decimal, shown: Decimal, edge: Decimal) -> bool:
    if edge == 0:
        return (exact > 0) != (shown > 0)
    return (exact >= edge) != (shown >= edge)


def _short(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def span(low: float | None, high: float | None, bar: float | None = None, digits: int = 1) -> str:
    """`80.0-90.0 %` (with an en dash), or one percentage where the two are equal. Null: a dash."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return NOTHING
    if low == high:
        return percent(low, bar, digits)
    texts = bare_percent(low, bar, digits), bare_percent(high, bar, digits)
    while texts[0] == texts[1] and digits < MOST_DIGITS:
        digits += 1
        texts = bare_percent(low, bar, digits), bare_percent(high, bar, digits)
    return f"{texts[0]} %" if texts[0] == texts[1] else f"{texts[0]}{EN_DASH}{texts[1]} %"


def average(scored: Average, bar: float | None = None) -> str:
    """The headline of an average: its value, or its range where verdicts are missing."""
    return span(scored.low, scored.high, bar)


def points(old: float | None, new: float | None) -> str:
    """The difference of two shares in percentage points (`+11.1`); a difference is never shown as 0.0."""
    if old is None or new is None or not (math.isfinite(old) and math.isfinite(new)):
        return NOTHING
    change = _hundred(new) - _hundred(old)
    if abs(change) < Decimal("1e-9"):
        return "no change"
    for places in range(1, MOST_DIGITS + 1):
        shown = change.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
        if shown:
            return f"{shown:+f}".replace("-", MINUS)
    return "<+0.0001" if change > 0 else f">{MINUS}0.0001"


def interval_words(ci: Ci | None) -> str:
    """What to say in place of an interval; empty where it has numbers that may be shown."""
    if ci is None:
        return ""
    if ci.low is None or ci.high is None:
        words = {"no_data": "no interval: no data", "not_estimable": f"n {ci.n}: interval not estimable"}
        return words.get(ci.status, f"n {ci.n}: no interval ({ci.status})")
    if ci.status == "too_few" and ci.n <= FEW and "wilson" not in ci.method:
        return f"n {ci.n}: too few for an interval"
    return ""


def quantity(number: float) -> str:
    """A number with three significant digits (four from 1,000), whole ones with thousands separators."""
    if not math.isfinite(number):
        return NOTHING
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    if abs(number) >= 1000:
        return f"{number:,.0f}" if abs(number) < 1e15 else f"{number:.3e}"
    return f"{number:.3g}"


def measured(name: str, number: float) -> str:
    """A measurement in its unit: `41.2 s`, `$0.03`."""
    _, prefix, suffix = UNITS.get(name, (name, "", ""))
    return f"{prefix}{quantity(number)}{suffix}"


def plural(count: int, one: str, many: str = "") -> str:
    """`1 task`, `2 tasks`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
