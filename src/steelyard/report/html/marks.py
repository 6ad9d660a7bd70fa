"""Status marks and interval drawings: never a colour alone."""

from __future__ import annotations

from functools import lru_cache

from steelyard.report.html.tags import Markup, screen_only, tag
from steelyard.report.page import SIGNS
from steelyard.report.view import Interval

REPORT_ONLY = "report"
WORDS = {
    "pass": "pass", "fail": "fail", "unknown": "unknown", "error": "error, no verdict", "skipped": "skipped",
    REPORT_ONLY: "reported only",
}  # fmt: skip
MARKS = SIGNS | {REPORT_ONLY: "·"}
UNMOVED = tag("p", "As recorded: the what-if is not in this part.", class_="quiet whatif-note")
"""Stands where numbers stay as they are while a what-if is on, and is shown only then."""


@lru_cache(maxsize=64)
def mark(outcome: str) -> Markup:
    """The sign of an outcome with its word for those who hear the page."""
    sign = tag("span", MARKS.get(outcome, "?"), aria_hidden="true")
    return tag("span", sign, screen_only(f"{WORDS.get(outcome, outcome)} "), class_=f"mark {_kind(outcome)}")


def _kind(outcome: str) -> str:
    return f"is-{outcome}" if outcome in MARKS else "is-unknown"


def drawn(interval: Interval | None) -> Markup | None:
    """An interval as a line on a scale of 0 to 1 with its points as dots; null where there is none to draw."""
    if interval is None or interval.low is None or interval.high is None:
        return None
    low, high = (_place(share) for share in (interval.low, interval.high))
    parts = [
        tag("line", class_="scale", x1="2", x2="102", y1="8", y2="8"),
        tag("line", class_="range", x1=low, x2=high, y1="8", y2="8"),
        tag("line", class_="range", x1=low, x2=low, y1="4", y2="12"),
        tag("line", class_="range", x1=high, x2=high, y1="4", y2="12"),
    ]
    parts += [tag("circle", class_="point", cx=_place(point), cy="8", r="3.5") for point in interval.points]
    return tag("svg", *parts, viewBox="0 0 104 16", class_="interval", aria_hidden="true", focusable="false")


def share_bar(share: float) -> Markup:
    """A share of 0 to 1 as a bar."""
    return tag(
        "svg",
        tag("rect", class_="whole", x="0", y="0", width="100", height="6"),
        tag("rect", class_="part", x="0", y="0", width=f"{100 * min(1.0, max(0.0, share)):.2f}", height="6"),
        viewBox="0 0 100 6", class_="share", aria_hidden="true", focusable="false",
    )  # fmt: skip


def _place(share: float) -> str:
    return f"{2 + 100 * min(1.0, max(0.0, share)):.2f}"
