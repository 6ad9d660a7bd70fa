"""Composition root and public facade: the only chooser of adapters. Names load what they need when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.app.authoring import build_suite, criterion_lines
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
    from steelyard.app.github import append_summary, github_annotations, harmless, harmless_json
    from steelyard.app.keeping import (
        export_bundle,
        fingerprint,
        import_bundle,
        kept_inputs,
        list_runs,
        load_run,
        open_store,
        store_files,
    )
    from steelyard.app.maintenance import check_board, check_store, vacuum_board, vacuum_store
    from steelyard.app.pages import demo_traces, kept_recordings, recordings
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
        select_traces,
        trace_board,
        trace_json,
        trace_json_parts,
        verdict_board,
        whatif_board,
    )
    from steelyard.app.run import Run
    from steelyard.app.tables import csv_report, read_csv

_HOMES = {
    "build_suite": "authoring",
    "criterion_lines": "authoring",
    "github_annotations": "github",
    "append_summary": "github",
    "harmless": "github",
    "harmless_json": "github",
    "check_board": "maintenance",
    "check_store": "maintenance",
    "csv_report": "tables",
    "read_csv": "tables",
    "vacuum_board": "maintenance",
    "vacuum_store": "maintenance",
    "demo_traces": "pages",
    "matched": "html",
    "kept_recordings": "pages",
    "recordings": "pages",
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
    "kept_inputs": "keeping",
    "store_files": "keeping",
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
    "trace_json_parts": "reports",
    "select_traces": "reports",
    "whatif_board": "reports",
    "write_row_file": "files",
    "write_whole": "files",
}

__all__ = [
    "Inputs",
    "Keep",
    "Run",
    "append_summary",
    "booking_run",
    "build_suite",
    "changes",
    "check_board",
    "check_store",
    "collect_traces",
    "criterion_lines",
    "csv_report",
    "demo_epilogue",
    "demo_run",
    "demo_traces",
    "draft",
    "export_bundle",
    "fingerprint",
    "github_annotations",
    "grade",
    "grade_tau2",
    "harmless",
    "harmless_json",
    "import_bundle",
    "json_report",
    "junit_report",
    "kept_inputs",
    "kept_recordings",
    "list_runs",
    "load_run",
    "load_suite",
    "markdown_report",
    "open_store",
    "plain_text",
    "read_csv",
    "read_traces",
    "recordings",
    "rehearse",
    "runs_board",
    "score_rows",
    "scoreboard",
    "select",
    "select_traces",
    "start",
    "store_files",
    "suite_schema",
    "trace_board",
    "trace_json",
    "trace_json_parts",
    "vacuum_board",
    "vacuum_store",
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
