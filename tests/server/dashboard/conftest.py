"""A real browser (Debian's Chromium, steered by Playwright) before a real server and engine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize, expect, sync_playwright
from tests.server.http_client import Http

CHROMIUM = os.environ.get("HEADGATE_CHROMIUM") or shutil.which("chromium")
FLAGS = (
    "--no-sandbox",  # tests run as root in CI
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE: ViewportSize = {"width": 1280, "height": 860}
NARROW: ViewportSize = {"width": 390, "height": 844}
PATIENCE = 20_000  # milliseconds; the machine may be busy with other tests

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without Chromium these tests are skipped, each by its name."""
    if CHROMIUM is None:
        missing = pytest.mark.skip(reason="Chromium is missing: apt-get install chromium, or set HEADGATE_CHROMIUM")
        for item in items:
            if "tests/server/dashboard/" in item.nodeid:
                item.add_marker(missing)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield launched
        launched.close()


OpenPage = Callable[..., Page]


class Faults:
    """What a page complains about: errors of scripts, and what its security policy stopped."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, message: ConsoleMessage) -> None:
        answered = "Failed to load resource" in message.text  # the server refused something: the page tells it
        if message.type == "error" and not answered:
            self.found.append(message.text)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages of a server; afterwards none of them may have complained."""
    contexts: list[BrowserContext] = []
    faults = Faults()

    def opened(http: Http, path: str = "/", **settings: Any) -> Page:
        settings.setdefault("viewport", WIDE)
        context = browser.new_context(
            base_url=f"http://127.0.0.1:{http.port}", locale="en-GB", timezone_id="Europe/Berlin", **settings
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        faults.watch(page)
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults.found == []
