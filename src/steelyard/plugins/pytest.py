"""The pytest plugin: collects suites (`*.suite.yaml`), a test a criterion, and gives tests the fixture `steelyard`.

It is loaded in every pytest run where Steelyard is installed, so it imports nothing of it until a suite is met.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from steelyard.plugins.fixture import Steelyard

SUITES = ("*.suite.yaml", "*.suite.yml", "*.suite.json", "*.suite.toml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command line, and their like in the configuration file."""
    group = parser.getgroup("steelyard")
    group.addoption(
        "--steelyard-traces",
        action="append",
        metavar="PATH",
        help="recordings of every collected suite: a file, folder or glob; {name} is the suite's file name without "
        ".suite.yaml (default: NAME.traces.* beside the suite)",
    )
    group.addoption(
        "--steelyard-recorded",
        action="append",
        metavar="FILE",
        help="verdict rows of people or judges; {name} as above (default: NAME.recorded.jsonl)",
    )
    parser.addini("steelyard_suites", "names of suite files to collect", type="args", default=list(SUITES))
    parser.addini("steelyard_traces", "as --steelyard-traces, from the folder of this file", type="args")
    parser.addini("steelyard_recorded", "as --steelyard-recorded, from the folder of this file", type="args")
    parser.addini("steelyard_store", "where gradings are kept (default: nowhere)", default="")
    parser.addini("steelyard_trust_graders", "let python checks run unsandboxed", type="bool", default=False)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A suite file becomes a collector of its criteria."""
    patterns: list[str] = parent.config.getini("steelyard_suites")
    if not any(fnmatch(file_path.name, pattern) for pattern in patterns):
        return None
    from steelyard.plugins.suites import SuiteFile

    return SuiteFile.from_parent(parent, path=file_path)


@pytest.fixture
def steelyard(tmp_path_factory: pytest.TempPathFactory) -> Steelyard:
    """Grade recordings in a test of your own: `steelyard.grade(suite, traces)`, then `steelyard.check(run)`."""
    from steelyard.plugins.fixture import Steelyard

    return Steelyard(lambda: tmp_path_factory.mktemp("steelyard"))
