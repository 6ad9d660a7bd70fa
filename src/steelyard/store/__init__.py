"""Gradings on disk: an SQLite file, and bundles that carry one run from store to store."""

from __future__ import annotations

from steelyard.store.bundle import export_run, import_run, read_run
from steelyard.store.connection import path_of
from steelyard.store.parquet import export_parquet
from steelyard.store.sqlite import SqliteStore, open_store
from steelyard.store.upkeep import check_store, open_untouched, vacuum_store

__all__ = [
    "SqliteStore",
    "check_store",
    "export_parquet",
    "export_run",
    "import_run",
    "open_store",
    "open_untouched",
    "path_of",
    "read_run",
    "vacuum_store",
]
