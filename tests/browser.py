"""A headless Chromium for tests of pages: no network, and every error a page makes is kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",  # a container's root may not make another
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def launched() -> Iterator[Browser]:
    """The machine's Chromium, headless. Skips where there is none."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("STEELYARD_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this machine; install the package `chromium`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Watched:
    """A page with what went wrong on it: errors, console complaints, dialogs, and requests that left the file."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.requests.append(request.url))

    def _dismiss(self, dialog: object) -> None:
        self.dialogs.append(str(getattr(dialog, "message", "")))
        dialog.dismiss()  # type: ignore[attr-defined]

    def outside(self, file: Path) -> list[str]:
        """Requests for anything but the file itself and what is embedded in it."""
        own = file.as_uri()
        return [url for url in self.requests if not url.startswith((own, "data:", "blob:"))]


@contextmanager
def opened(
    browser: Browser,
    file: Path,
    *,
    width: int = 1280,
    height: int = 900,
    scheme: str = "light",
    fragment: str = "",
) -> Iterator[Watched]:
    """`file` in a fresh page from file://, without network."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
    )  # type: ignore[arg-type]
    watched = Watched(context.new_page())
    watched.page.goto(file.as_uri() + fragment)
    try:
        yield watched
    finally:
        context.close()
