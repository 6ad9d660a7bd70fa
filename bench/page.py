"""What is written into docs/benchmarks.md, between its marks, and the facts that stand beside the figures."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from goals import inside
from process import ROOT, run
from rows import Row, goals_table

PAGE = ROOT / "docs" / "benchmarks.md"


def replaced(text: str, part: str, body: str) -> str:
    """The page with what stands between `<!-- bench: PART -->` and `<!-- bench end -->` replaced; else ValueError."""
    start = text.index(f"<!-- bench: {part} -->")
    end = text.index("<!-- bench end -->", start)
    return f"{text[:start]}<!-- bench: {part} -->\n\n{body.strip()}\n\n{text[end:]}"


def write(part: str, body: str) -> None:
    """Rewrite one part of the page."""
    PAGE.write_text(replaced(PAGE.read_text("utf-8"), part, body), "utf-8")


def facts(more: str = "") -> str:
    """When, with which versions and on what; no name of a host, no path."""
    found = json.loads(run(inside("versions")).out)
    versions = ", ".join(f"{name} {version}" for name, version in found.items())
    load = os.getloadavg()[0]
    return (
        f"Measured on {datetime.now(UTC).date().isoformat()}: {versions}, Python {platform.python_version()} on "
        f"{platform.system()}, {os.cpu_count()} cores (load {load:.1f} when it ended){more}."
    )


def goals(rows: Sequence[Row], *, runs: int, minutes: float) -> str:
    """The part on the goals."""
    missed = [row for row in rows if row.state == "MISSED"]
    several = (
        f"{len(missed)} of {len(rows)} goals are missed."
        if missed
        else "Every goal that can be measured holds."
    )
    return f"{facts()} Medians of up to {runs} runs, {minutes:.0f} minutes in all. {several}\n\n{goals_table(rows)}"
