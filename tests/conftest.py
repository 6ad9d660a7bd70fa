"""Fixtures, Hypothesis profiles and the rule that nothing is skipped under CI."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from browser import launched
from shared_data import ABSENT, SHARED
from shared_data import require_shared as _require_shared

if TYPE_CHECKING:
    from playwright.sync_api import Browser

UNDER_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}

# Where these tests run in GitHub Actions themselves, the commands that they start must not know.
for _name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(_name, None)

# No deadlines: the same example may take 1 ms or 500 ms on a busy two-core machine.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if UNDER_CI else "default")


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The shared evaluation data beside the repository; skips where it is absent."""
    return _require_shared()


@pytest.fixture(scope="session")
def require_shared() -> Callable[[str], Path]:
    """`require_shared("data/x.jsonl")`: a path in the shared data; skips where it is absent."""
    return _require_shared


@pytest.fixture(scope="session")
def browser() -> Generator[Browser, None, None]:
    """The machine's Chromium, headless, one for all tests; skips where there is none."""
    with launched() as running:
        yield running


def _allowed_to_skip(reason: str) -> bool:
    return not UNDER_CI or (ABSENT in reason and not SHARED.exists())


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)


def _fail_a_forbidden_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and not _allowed_to_skip(_reason(report)):
        report.outcome = "failed"
        report.longrepr = f"Nothing is skipped under CI, but this was: {_reason(report)}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_a_forbidden_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_a_forbidden_skip(report)
    return report
