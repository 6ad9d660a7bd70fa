"""The documentation is true: its commands run and print what it shows, its generated parts are fresh, its links lead
somewhere. `python scripts/docs.py` renews what is stale."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from shared_data import ABSENT, SHARED

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "docs.py"
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if "design" not in page.parts)]
LANGUAGES = {"console", "yaml", "json", "text", "python"}

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def check(*paths: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--check", *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def checks(request: pytest.FixtureRequest) -> Iterator[dict[Path, Future[subprocess.CompletedProcess[str]]]]:
    """The chosen pages, checked two at a time: each mostly waits for the commands that it runs."""
    chosen = [
        item.callspec.params["page"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_page_is_true"
    ]
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {page: pool.submit(check, page) for page in chosen}
        pool.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_page_is_true(page: Path, checks: dict[Path, Future[subprocess.CompletedProcess[str]]]) -> None:
    done = checks[page].result()
    assert done.returncode == 0, done.stdout + done.stderr
    if "not run" in done.stdout:
        assert not SHARED.is_dir(), done.stdout
        pytest.skip(ABSENT)


def test_picture_is_fresh() -> None:
    done = check(DOCS / "images" / "scoreboard.svg")
    assert done.returncode == 0, done.stdout + done.stderr


def anchor(heading: str) -> str:
    """The anchor that Git hosts give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def links(page: Path) -> list[str]:
    return LINK.findall(BLOCK.sub("", page.read_text("utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        target, _, fragment = link.partition("#")
        assert not target.startswith("http"), f"{link}: the documentation stands on its own"
        file = (page.parent / target).resolve() if target else page
        known = (
            [anchor(heading) for heading in HEADING.findall(file.read_text("utf-8"))]
            if file.is_file()
            else []
        )
        if not file.is_relative_to(ROOT) or not file.is_file() or (fragment and fragment not in known):
            broken.append(link)
    assert not broken


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [
            (page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"
        ]
    assert not set(PAGES) - reached


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_command_escapes_the_check(page: Path) -> None:
    """A block of another language is not run, so it must hold no command line."""
    for _, language, body in BLOCK.findall(page.read_text("utf-8")):
        assert language in LANGUAGES, f"a block of the language {language!r}"
        assert body.startswith("$ ") is (language == "console"), body
