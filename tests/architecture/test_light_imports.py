"""What loads when nothing has been asked for yet: every short command pays for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "anthropic", "jsonschema", "jsonschema_rs", "numpy", "openai", "pandas", "re2", "rich", "scipy",
    "simpleeval", "starlette", "yaml",
}  # fmt: skip

# Runs a piece of code and prints the names of all modules that it loaded, on a line of its own.
REPORT = """
import json, sys
before = set(sys.modules)
try:
    {code}
except SystemExit as end:
    assert not end.code, end.code
print()
print(json.dumps(sorted(set(sys.modules) - before)))
"""

HELP = "sys.argv = ['steelyard', '--help']; from steelyard.cli import main; main()"


def loaded_by(code: str) -> set[str]:
    command = [sys.executable, "-c", REPORT.format(code=code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("code", "own_modules"), [("import steelyard", 25), (HELP, 45)], ids=["import", "help"]
)
def test_nothing_heavy_loads_before_it_is_needed(code: str, own_modules: int) -> None:
    loaded = loaded_by(code)
    assert "steelyard" in loaded
    assert not loaded & HEAVY
    own = {name for name in loaded if name.split(".")[0] == "steelyard"}
    assert len(own) <= own_modules, sorted(own)


def test_the_probe_sees_a_heavy_module() -> None:
    assert "yaml" in loaded_by("import yaml")
