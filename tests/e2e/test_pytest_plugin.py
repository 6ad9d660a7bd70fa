"""The pytest plugin in a pytest run of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

SUITE = """\
schema: suite/1
name: capitals
owner: jo@example.com
tasks:
  - id: france
    prompt: What is the capital of France?
    criteria:
      - {id: C1, dimension: correctness, rule: "The answer MUST be Paris.", check: {kind: equals, value: Paris}}
"""
PLAIN = "def test_plain():\n    import sys\n    assert not {'numpy', 'yaml', 'msgspec'} & set(sys.modules)\n"
USES = """\
def test_uses(steelyard):
    steelyard.check(steelyard.grade("capitals.suite.yaml", "capitals.traces.jsonl"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "capitals.suite.yaml").write_text(SUITE)
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Lyon"}]
    (tmp_path / "capitals.traces.jsonl").write_text(
        json.dumps({"task_id": "france", "messages": messages}) + "\n"
    )
    (tmp_path / "test_plain.py").write_text(PLAIN)
    (tmp_path / "test_uses.py").write_text(USES)
    return tmp_path


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))
    }
    command = [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:hypothesispytest", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_a_folder_of_suites_and_tests(folder: Path) -> None:
    (folder / "test_plain.py").unlink()
    code, text = run(folder, "-ra")
    assert code == 1
    assert "3 failed" in text
    for name in (
        "capitals.suite.yaml::france::C1",
        "capitals.suite.yaml::decision",
        "test_uses.py::test_uses",
    ):
        assert f"FAILED {name}" in text
    assert '  trial 1   answer is "Lyon", expected "Paris"' in text.split("\n")


def test_collecting_reads_suites_only(folder: Path) -> None:
    (folder / "capitals.traces.jsonl").unlink()
    code, text = run(folder, "--collect-only", "-q")
    assert code == 0
    assert text.split("\n")[:2] == ["capitals.suite.yaml::france::C1", "capitals.suite.yaml::decision"]


def test_it_can_be_left_out(folder: Path) -> None:
    code, text = run(folder, "-p", "no:steelyard", "-q", "--collect-only")
    assert code == 0
    assert "suite.yaml" not in text


def test_it_costs_nothing_unless_a_suite_is_met(folder: Path) -> None:
    probe = (
        "import sys, pytest; before = set(sys.modules); import steelyard.plugins.pytest; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True
    )
    own = done.stdout.split()
    assert "steelyard.plugins.pytest" in own
    assert len(own) <= 8, own
    assert all(name.partition(".")[0] == "steelyard" for name in own)
    assert run(folder, "test_plain.py")[0] == 0
