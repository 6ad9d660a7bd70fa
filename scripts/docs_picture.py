"""The scoreboard of `steelyard demo` as an SVG picture: real output, set on a grid of characters.

Every run of text has its own place and width, and lines, ticks and dots are drawn, so that it looks the same with
any monospaced font.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from xml.sax.saxutils import escape

from docs_run import Failure

WIDTH, HEIGHT, SIZE = 8.4, 19.0, 14
MARGIN = 20.0
INK, FAINT, BAD, GOOD, ACCENT, PAPER, EDGE = (
    "#1f2328", "#818b98", "#b54708", "#0550ae", "#0550ae", "#ffffff", "#d1d9e0",
)  # fmt: skip
COLUMNS = 80
LAST = "code checks:"
"""The line that ends the picture; below it come notes and the what-if table."""

_PIECES = re.compile(r"[─]+|[├┤●✗✓]|[^─├┤●✗✓ ]+(?: [^─├┤●✗✓ ]+)*")
_WORDS = re.compile(r"\b(FAIL|PASS|INCOMPLETE)$")
_HEADING = re.compile(r"(?P<name>\S+) +[\d.]+ % |why not complete$|complete, but$")


def scoreboard() -> str:
    """The picture of the demo's scoreboard. Deterministic."""
    command = [sys.executable, "-X", "utf8", "-m", "steelyard", "demo", "--no-color"]
    with tempfile.TemporaryDirectory() as folder:  # the demo writes its report where it stands
        done = subprocess.run(command, capture_output=True, check=False, timeout=120, cwd=folder)
    if done.returncode != 0:
        raise Failure(f"`steelyard demo` exited {done.returncode}: {done.stderr.decode().strip()[-400:]}")
    shown = done.stdout.decode().split("\n")
    end = next(index for index, line in enumerate(shown) if line.startswith(LAST))
    lines = [line.rstrip() for line in shown[: end + 1]]
    return picture(["$ steelyard demo", *lines])


def picture(lines: list[str]) -> str:
    """Lines of a terminal as SVG."""
    width = round(COLUMNS * WIDTH + 2 * MARGIN)
    height = round(len(lines) * HEIGHT + 2 * MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        "<title>The scoreboard that steelyard demo prints</title>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{PAPER}" stroke="{EDGE}"/>',
        "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" "
        f'font-size="{SIZE}" fill="{INK}" xml:space="preserve">',
    ]
    for number, line in enumerate(lines):
        parts.extend(_line(line, MARGIN + number * HEIGHT))
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _line(line: str, top: float) -> Iterator[str]:
    middle, base = top + HEIGHT / 2, top + HEIGHT * 0.72
    bars = [match.start() for match in re.finditer("[├┤]", line)]
    dots_last = sorted(_PIECES.finditer(line), key=lambda match: match.group() == "●")
    for match in dots_last:
        text, start = match.group(), match.start()
        left, right = MARGIN + start * WIDTH, MARGIN + match.end() * WIDTH
        centre = (left + right) / 2
        if text[0] == "─":
            whole = not bars and len(text) == COLUMNS
            yield _stroke(left - (0 if whole else WIDTH / 2), middle, right + (0 if whole else WIDTH / 2), middle,
                          EDGE if whole else FAINT)  # fmt: skip
        elif text in "├┤":
            yield _stroke(centre, middle - 5, centre, middle + 5, FAINT)
        elif text == "●":
            yield f'<circle cx="{centre:.1f}" cy="{middle:.1f}" r="4" fill="{ACCENT}"/>'
        else:
            yield from _words(line, text, left, base)


def _words(line: str, text: str, left: float, base: float) -> Iterator[str]:
    if text in "✗✓":
        yield _text(text, left, base, BAD if text == "✗" else GOOD, bold=True)
        return
    decision = _WORDS.search(text) if line.endswith(text) and "standard" in line else None
    if decision is None:
        yield _text(
            text, left, base, FAINT if text.startswith("$ ") else INK, bold=bool(_heading(line, text))
        )
        return
    before = text[: decision.start()].rstrip()
    if before:
        yield _text(before, left, base, INK)
    place = left + decision.start() * WIDTH
    yield _text(decision.group(), place, base, GOOD if decision.group() == "PASS" else BAD, bold=True)


def _heading(line: str, text: str) -> bool:
    matched = _HEADING.match(line)
    return matched is not None and text == (matched["name"] or line)


def _text(text: str, left: float, base: float, colour: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    fill = "" if colour == INK else f' fill="{colour}"'
    length = f' textLength="{len(text) * WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"' if len(text) > 1 else ""
    return f'<text x="{left:.1f}" y="{base:.1f}"{length}{weight}{fill}>{escape(text)}</text>'


def _stroke(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="1.4"/>'
