"""A page as a document: what it may load (nothing), its style and scripts, and the parts in their order."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from steelyard.report.html.charts import as_plain_script
from steelyard.report.html.files import GENERATOR
from steelyard.report.html.tags import Markup, tag, text

SIDE_STYLES = ("base.css", "trace.css")
STYLES = ("base.css", "page.css", "trace.css")
SCRIPTS = ("data.js", "tables.js", "panel.js", "keys.js")
OPTIONAL_STYLES = ("whatif.css", "charts.css")
EXTRA_SCRIPTS = {
    "whatif-model": ("whatif.js", "whatif-panel.js"),
    "chart-specs": (
        "vendor/vega.min.js",
        "vendor/vega-lite.min.js",
        "vendor/vega-interpreter.js",
        "charts.js",
    ),
}
"""Scripts by the data that they read; a page without the data is without them."""


@cache
def asset(name: str) -> str:
    """The text of a file in `assets`. OSError where the installation lacks it."""
    source = files("steelyard.report.html").joinpath("assets", name).read_text("utf-8")
    return as_plain_script(source) if name.startswith("vendor/") else source


def assets(names: Sequence[str]) -> str:
    """Several assets as one text. ValueError for one that would end the element it stands in."""
    found = "\n".join(filter(None, map(asset, names)))
    if "</script" in found.lower() or "</style" in found.lower() or "<!--" in found:
        raise ValueError(f"one of {', '.join(names)} holds what would end its element")
    return found


def digest(source: str) -> str:
    """The source expression of a content policy that allows exactly this inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Nothing is loaded, sent or embedded, and only these inline texts take effect."""
    script = " ".join(map(digest, scripts)) or "'none'"
    style = " ".join(map(digest, styles)) or "'none'"
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def head(title: str, style: str, scripts: Sequence[str]) -> str:
    """Everything up to the body."""
    meta = (
        tag("meta", charset="utf-8"),
        tag("meta", name="generator", content=GENERATOR),
        tag("meta", http_equiv="Content-Security-Policy", content=policy([style], scripts)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        Markup(f"<title>{text(title)}</title>"),
        Markup(f"<style>{style}</style>"),
    )
    return f'<!doctype html>\n<html lang="en">\n<head>{"".join(meta)}</head>\n'


def script(source: str) -> str:
    """An inline script."""
    return f"<script>{source}</script>\n" if source else ""


def data_script(name: str, encoded: Markup) -> str:
    """Data for the scripts; `encoded` comes from `tags.embedded`."""
    return f'<script type="application/json" id="{name}">{encoded}</script>\n'
