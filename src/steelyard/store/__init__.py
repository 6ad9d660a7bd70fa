"""Gradings on disk: an SQLite file, and bundles that carry one run from store to store."""

from __future__ import annotations

from steelyard.store.bundle import export_run, import_run
from steelyard.store.sqlite import SqliteStore, open_store

__all__ = ["SqliteStore", "export_run", "import_run", "open_store"]
