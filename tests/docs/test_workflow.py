"""The CI files that the documentation shows are sound, and their commands do what it says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import steelyard
from steelyard.cli import cli

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "ci.md"
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPERATIONS = Path(steelyard.__file__).parent / "bundled" / "operations"


def shown(key: str) -> dict[Any, Any]:
    """The one YAML file of the page that has this key."""
    files = [yaml.safe_load(block) for block in BLOCK.findall(PAGE.read_text("utf-8"))]
    (found,) = [file for file in files if isinstance(file, dict) and key in file]
    return found


def workflow() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = shown("jobs")["jobs"]["grade"]["steps"]
    return steps


def scripts() -> dict[str, list[str]]:
    github = [step["run"] for step in workflow() if "run" in step]
    return {"github": github, "gitlab": shown("steelyard")["steelyard"]["script"]}


def lines(run: list[str]) -> Iterator[list[str]]:
    """The words of each line that runs Steelyard."""
    words = [shlex.split(line) for script in run for line in script.splitlines()]
    return (line for line in words if line and line[0] == "steelyard")


def test_the_workflow_has_the_steps_that_the_page_promises() -> None:
    steps = workflow()
    used = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    assert used == [
        "actions/checkout", "actions/setup-python", "actions/cache/restore", "actions/cache/save",
        "actions/upload-artifact",
    ]  # fmt: skip
    assert all(("uses" in step) != ("run" in step) for step in steps)
    grade = next(index for index, step in enumerate(steps) if "steelyard grade" in step.get("run", ""))
    assert [step.get("if") for step in steps[grade + 1 :]] == ["always()", "always()"]
    restored, saved = (step["with"] for step in steps if "cache" in step.get("uses", ""))
    assert restored["key"] == saved["key"]
    assert restored["key"].startswith(restored["restore-keys"])
    assert restored["path"] == saved["path"] == ".steelyard"


@pytest.mark.parametrize("where", ["github", "gitlab"])
def test_the_commands_have_flags_that_exist(where: str) -> None:
    found = list(lines(scripts()[where]))
    assert found
    for _, verb, *words in found:
        known = {
            name
            for option in cli.commands[verb].params
            if isinstance(option, click.Option)
            for name in option.opts
        }
        assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.slow
@pytest.mark.parametrize("where", ["github", "gitlab"])
def test_the_commands_run_on_the_bundled_example(where: str, tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    shutil.copytree(OPERATIONS, folder)
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "CI": "true",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    if where == "github":
        environment |= {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    commands = [script for script in scripts()[where] if "pip install" not in script]
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(commands)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr  # the example fails on purpose
    assert (folder / ".steelyard" / "store.db").is_file()
    (names,) = lines(commands)
    written = [name for name in names if name.startswith("report/")]
    assert written
    assert all((folder / name).stat().st_size for name in written)
    annotated = [
        line for line in done.stderr.splitlines() if line.startswith("::error file=suite.yaml,line=")
    ]
    assert bool(annotated) is (where == "github")
    if where == "github":
        assert (tmp_path / "summary.md").read_text("utf-8").startswith("## FAIL: operations 1.0\n")
