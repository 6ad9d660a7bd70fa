"""What no file of the project may name: paths of one machine and hosts of package registries."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pip._internal.models.index import PyPI

ROOT = Path(__file__).resolve().parents[2]


def forbidden_here() -> re.Pattern[str]:
    """The place of this checkout and of the user's home, and the hosts that this machine installs packages from."""
    words = [re.escape(str(ROOT)), re.escape(str(Path.home())) + r"/(?!\.local)"]
    words += [re.escape(host) for host in package_hosts()]
    return re.compile("|".join(rf"(?<![\w.-]){word}" for word in words))


def package_hosts() -> set[str]:
    """Hosts of the package index as pip is set up here, and the one that it has built in."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    said = subprocess.run(command, capture_output=True, check=False, text=True).stdout
    urls = re.findall(r"https?://[^\s'\"]+", f"{said} {PyPI.url}")
    return {host for url in urls if (host := urlsplit(url).hostname)} - {"127.0.0.1", "localhost"}


def tracked_files() -> list[Path]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("lists the project's files with git: needs a git checkout and git")
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_registry() -> None:
    files = tracked_files()
    forbidden = forbidden_here()
    assert ROOT / "pyproject.toml" in files
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in files
        for match in forbidden.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not found


def test_the_pattern_finds_this_checkout_and_the_package_index() -> None:
    forbidden = forbidden_here()
    assert forbidden.search(f"see {ROOT}/src")
    assert all(forbidden.search(f"https://{host}/simple") for host in package_hosts())
    assert package_hosts()
    assert not forbidden.search("teamwork")
