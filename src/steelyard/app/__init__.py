"""Composition root and public facade: the only chooser of adapters. Names load what they need when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.app.bundled import booking_run, demo_run, grade_tau2
    from steelyard.app.demo import demo_epilogue
    from steelyard.app.drafts import draft, start
    from steelyard.app.facade import (
        Inputs,
        Keep,
        grade,
        load_suite,
        read_traces,
        score_rows,
        select,
        suite_schema,
    )
    from steelyard.app.files import write_row_file, write_whole
    from steelyard.app.keeping import (
        export_bundle,
        fingerprint,
        import_bundle,
        list_runs,
        load_run,
        open_store,
    )
    from steelyard.app.references import rehearse
    from steelyard.app.reports import (
        changes,
        collect_traces,
        json_report,
        junit_report,
        markdown_report,
        plain_text,
        runs_board,
        scoreboard,
        trace_board,
        trace_json,
        verdict_board,
        whatif_board,
    )
    from steelyard.app.run import Run

_HOMES = {
    "booking_run": "bundled",
    "rehearse": "references",
    "plain_text": "reports",
    "runs_board": "reports",
    "verdict_board": "reports",
    "open_store": "keeping",
    "load_run": "keeping",
    "list_runs": "keeping",
    "import_bundle": "keeping",
    "export_bundle": "keeping",
    "fingerprint": "keeping",
    "Keep": "facade",
    "Inputs": "facade",
    "Run": "run",
    "changes": "reports",
    "collect_traces": "reports",
    "demo_epilogue": "demo",
    "demo_run": "bundled",
    "draft": "drafts",
    "grade": "facade",
    "grade_tau2": "bundled",
    "json_report": "reports",
    "junit_report": "reports",
    "load_suite": "facade",
    "markdown_report": "reports",
    "read_traces": "facade",
    "score_rows": "facade",
    "scoreboard": "reports",
    "select": "facade",
    "start": "drafts",
    "suite_schema": "facade",
    "trace_board": "reports",
    "trace_json": "reports",
    "whatif_board": "reports",
    "write_row_file": "files",
    "write_whole": "files",
}

__all__ = [
    "Inputs",
    "Keep",
    "Run",
    "booking_run",
    "changes",
    "collect_traces",
    "demo_epilogue",
    "demo_run",
    "draft",
    "export_bundle",
    "fingerprint",
    "grade",
    "grade_tau2",
    "import_bundle",
    "json_report",
    "junit_report",
    "list_runs",
    "load_run",
    "load_suite",
    "markdown_report",
    "open_store",
    "plain_text",
    "read_traces",
    "rehearse",
    "runs_board",
    "score_rows",
    "scoreboard",
    "select",
    "start",
    "suite_schema",
    "trace_board",
    "trace_json",
    "verdict_board",
    "whatif_board",
    "write_row_file",
    "write_whole",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
