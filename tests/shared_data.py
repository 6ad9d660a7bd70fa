"""Access to the evaluation data that may lie beside the checkout, for fixtures and for module level alike."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
ABSENT = "needs the shared evaluation data beside the checkout (../shared); absent here"


def require_shared(subpath: str = "") -> Path:
    """The path of `subpath` in the shared data; skips the test, or the whole module, without that data.

    Data that is there but lacks `subpath` is skipped too, with another message: under CI that is a failure.
    """
    if not SHARED.is_dir():
        pytest.skip(ABSENT, allow_module_level=True)
    path = SHARED / subpath
    if not path.exists():
        pytest.skip(f"the shared evaluation data has no {subpath!r}", allow_module_level=True)
    return path
