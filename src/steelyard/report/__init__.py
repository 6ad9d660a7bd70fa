"""One view model and renderers that only lay it out: terminal, JSON, JUnit, Markdown, traces.

`steelyard.report.markdown` is the module of that name; its function is not repeated here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.report.json import score_json
    from steelyard.report.junit import junit_xml
    from steelyard.report.runs import runs_board, verdict_board
    from steelyard.report.terminal import scoreboard, whatif_board
    from steelyard.report.trace import trace_text, traces_summary
    from steelyard.report.trace_parts import trace_json, trace_json_parts

_HOMES = {
    "runs_board": "runs",
    "verdict_board": "runs",
    "junit_xml": "junit",
    "score_json": "json",
    "scoreboard": "terminal",
    "trace_json": "trace_parts",
    "trace_json_parts": "trace_parts",
    "trace_text": "trace",
    "traces_summary": "trace",
    "whatif_board": "terminal",
}

__all__ = [
    "junit_xml",
    "runs_board",
    "score_json",
    "scoreboard",
    "trace_json",
    "trace_json_parts",
    "trace_text",
    "traces_summary",
    "verdict_board",
    "whatif_board",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
