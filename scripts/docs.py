"""Keeps the documentation true: runs its examples and writes the parts that are made from the code.

    python scripts/docs.py            rewrite outputs, generated parts and pictures of README.md and docs/
    python scripts/docs.py --check    change nothing; exit 1 when something would change
    python scripts/docs.py [--check] docs/tutorial.md ...    only these pages (or the picture)

Comments in a page say what is done with the block that follows:

    <!-- file: suite.yaml -->                      the block is a file of the example
    <!-- file: suite.yaml from: operations/suite.yaml -->   a file that the package bundles; no block
    <!-- file: runs.json shared: data/tau2/x.json -->       a file of the shared evaluation data; no block
    <!-- files of: ../tutorial.md -->              the file blocks of another page
    <!-- show: from="why not" to="code checks" -->  or head=12: only these lines of the output, and `...`
    <!-- generated: help grade -->  ... <!-- end -->   made by docs_reference.py

Every block of the language `console` is run, one page in one empty folder. Lines that start with `$ ` are commands,
the rest is their output. A command must exit 0, unless the next one is `echo $?`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import docs_picture
import docs_reference
from docs_run import Failure, Folder, Show

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "scoreboard.svg"
DIRECTIVE = re.compile(r"<!-- (file|files of|show|generated|end)(?:: (.+?))? -->")
FENCE = re.compile(r"(`{3,})(\w*)")
NOT_RUN = "not run: it needs the shared evaluation data beside the checkout (../shared)"


def pages() -> list[Path]:
    """Every page of the project's documentation, the design notes left out."""
    found = (path for path in (ROOT / "docs").rglob("*.md") if "design" not in path.parts)
    return [ROOT / "README.md", *sorted(found)]


class Page:
    """One page: its text as it stands, and as it should stand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.not_run: list[str] = []
        self._lines = path.read_text("utf-8").split("\n")
        self._at = 0

    def renewed(self) -> str:
        """The page with fresh outputs and generated parts. Raises `Failure` where an example does not work."""
        with tempfile.TemporaryDirectory(prefix="docs-") as temporary:
            return "\n".join(self._walk(Folder(Path(temporary), ROOT)))

    def _walk(self, folder: Folder) -> Iterator[str]:
        file, show = "", Show()
        while self._at < len(self._lines):
            line = self._next()
            directive, fence = DIRECTIVE.fullmatch(line), FENCE.match(line)
            if directive:
                yield line
                name, value = directive[1], directive[2] or ""
                if name == "generated":
                    self._until("<!-- end -->")
                    yield from ("", docs_reference.part(value), "", "<!-- end -->")
                elif name == "show":
                    show = Show.parsed(value)
                elif name == "files of":
                    folder.add_all(file_blocks((self.path.parent / value).resolve()))
                elif name == "file":
                    file = folder.add_named(value)
                continue
            yield line
            if not fence:
                continue
            body = self._until(fence[1])
            if fence[2] == "console":
                body = self._run(folder, body, show)
            elif file:
                folder.add(file, "\n".join(body) + "\n")
            yield from (*body, fence[1])
            file, show = "", Show()

    def _run(self, folder: Folder, body: list[str], show: Show) -> list[str]:
        if folder.lacks_shared(body):
            self.not_run.append(f"{self._at}: {NOT_RUN}")
            return body
        try:
            return folder.run(body, show)
        except Failure as failure:
            raise Failure(f"{self.path.name}:{self._at}: {failure}") from failure

    def _next(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def _until(self, end: str) -> list[str]:
        body = []
        while (line := self._next()) != end:
            body.append(line)
        return body


def file_blocks(path: Path) -> dict[str, str]:
    """The files that a page shows, by name."""
    found: dict[str, str] = {}
    lines = iter(path.read_text("utf-8").split("\n"))
    name = ""
    for line in lines:
        directive, fence = DIRECTIVE.fullmatch(line), FENCE.match(line)
        if directive and directive[1] == "file" and " " not in (directive[2] or ""):
            name = directive[2]
        elif fence:
            body = []
            while (inner := next(lines)) != fence[1]:
                body.append(inner)
            if name:
                found[name] = "\n".join(body) + "\n"
            name = ""
    return found


def settle(path: Path, text: str, *, check: bool, before: str | None) -> bool:
    """Write what changed, or with `check` only say so. Whether it was fresh."""
    if text == before:
        return True
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    if check:
        print(f"{name} is stale; run: python scripts/docs.py", file=sys.stderr)
        print(docs_reference.difference(before or "", text), file=sys.stderr)
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    print(f"wrote {name}")
    return True


def page_is_fresh(path: Path, *, check: bool) -> bool:
    """Renew or check one page."""
    page = Page(path)
    text = page.renewed()
    for reason in page.not_run:
        print(f"{path.name}:{reason}")
    return settle(path, text, check=check, before=path.read_text("utf-8"))


def picture_is_fresh(path: Path, *, check: bool) -> bool:
    """Renew or check the picture of the scoreboard."""
    before = path.read_text("utf-8") if path.exists() else None
    return settle(path, docs_picture.scoreboard(), check=check, before=before)


def main(arguments: list[str]) -> int:
    """0 when all is fresh (or was written), 1 otherwise."""
    parser = argparse.ArgumentParser(description="Renew or check the documentation.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when something is stale")
    parser.add_argument("pages", nargs="*", type=Path, help="only these (default: all, and the picture)")
    chosen = parser.parse_args(arguments)
    fresh = True
    for path in [path.resolve() for path in chosen.pages] or [PICTURE, *pages()]:
        renew = picture_is_fresh if path == PICTURE else page_is_fresh
        try:
            fresh = renew(path, check=chosen.check) and fresh
        except Failure as failure:
            print(failure, file=sys.stderr)
            fresh = False
    return 0 if fresh else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
