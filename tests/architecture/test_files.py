"""What no file of the project may name: paths of one machine and hosts of package registries."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# In pieces, so that this file does not name them either.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"(?<![\w.-])/work/(?:main|shared|\.library)",
            r"/tmp/" r"(?:bash|brief)",
            r"py" r"pi\.org",
            r"python" r"hosted\.org",
            r"registry\." r"npmjs",
            r"deb\." r"debian\.org",
            r"helper" r" agent",
        ]
    )
)


def tracked_files() -> list[Path]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("lists the project's files with git: needs a git checkout and git")
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_registry() -> None:
    files = tracked_files()
    assert ROOT / "pyproject.toml" in files
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in files
        if path != Path(__file__).resolve()
        for match in FORBIDDEN.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [("see /work/main/src", True), ("pypi.org", True), ("/home/x/work/main", False), ("teamwork", False)],
)
def test_the_pattern_finds_what_it_should(text: str, forbidden: bool) -> None:
    assert bool(FORBIDDEN.search(text)) is forbidden
