"""The rule of tests/conftest.py: under CI a skip is a failure, unless the shared data is not there at all."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

SAMPLE = """
import pytest
from shared_data import require_shared


def test_skips():
    pytest.skip("no server here")


def test_needs_shared(shared_dir):
    assert shared_dir.is_dir()


def test_needs_a_shared_file(require_shared):
    require_shared("data/absent.jsonl")


@pytest.mark.xfail(reason="known")
def test_known():
    assert False
"""
MODULE_SKIP = "import pytest\npytest.importorskip('no_such_module_anywhere')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    tests = tmp_path / "checkout" / "tests"
    tests.mkdir(parents=True)
    for name in ("browser.py", "conftest.py", "shared_data.py"):
        shutil.copy(TESTS / name, tests)
    (tests / "test_sample.py").write_text(SAMPLE)
    (tests / "test_module_skip.py").write_text(MODULE_SKIP)
    (tests / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -p no:cacheprovider\n")
    return tests


def counts(project: Path, *, ci: bool) -> dict[str, int]:
    environment = {name: value for name, value in os.environ.items() if name not in {"CI", "PYTEST_ADDOPTS"}}
    command = [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", str(project)]
    done = subprocess.run(
        command, cwd=project, env=environment | ({"CI": "true"} if ci else {}),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    summary = done.stdout.strip().splitlines()[-1]
    return {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", summary)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ci", "shared", "expected"),
    [
        (False, False, {"skipped": 4, "xfailed": 1}),
        (True, False, {"failed": 1, "error": 1, "skipped": 2, "xfailed": 1}),
        (True, True, {"failed": 2, "error": 1, "passed": 1, "xfailed": 1}),
    ],
    ids=["at a desk", "CI without shared data", "CI with shared data"],
)
def test_skips_count_as_the_rule_says(
    project: Path, ci: bool, shared: bool, expected: dict[str, int]
) -> None:
    if shared:
        (project.parent.parent / "shared").mkdir()
    assert counts(project, ci=ci) == expected
