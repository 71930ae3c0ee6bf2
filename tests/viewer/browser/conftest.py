"""Chromium for the tests: every page is watched for console errors and requests to other hosts.

`make test-browser` runs these tests (marker ``browser``). They are skipped with a reason where there is no Chromium:
``$CHROMIUM`` names one; else ``chromium`` or ``google-chrome`` in the PATH.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.viewer.runs import Served

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PageOf = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder needs a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def chromium() -> str | None:
    """The Chromium of this machine, if it has one."""
    given = os.environ.get("CHROMIUM")
    return given or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    program = chromium()
    if program is None:
        pytest.skip("no Chromium here: install the package `chromium`, or name one with CHROMIUM=...")
    # As root, Chromium runs without its sandbox or not at all. A GPU played by software is slower than none.
    arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


class Watched:
    """What a browser's pages did that none should: errors in the console, requests elsewhere."""

    def __init__(self, own: set[str]) -> None:
        self.own, self.faults = own, []
        self.allowed: list[str] = []
        """Parts of faults that a test means to cause."""

    def watch(self, context: BrowserContext) -> None:
        context.on("console", lambda said: self.note(f"console: {said.text}") if said.type == "error" else None)
        context.on("weberror", lambda error: self.note(f"script: {error.error}"))
        context.on("request", lambda request: self.requested(request.url))

    def requested(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "file") and parts.netloc not in self.own:
            self.note(f"request to another host: {url}")

    def note(self, fault: str) -> None:
        self.faults.append(fault)

    def left(self) -> list[str]:
        return [fault for fault in self.faults if not any(part in fault for part in self.allowed)]


@pytest.fixture
def watched() -> Watched:
    """What this test's pages did; ``watched.allowed.append("404")`` lets a test cause what it means to."""
    return Watched(set())


@pytest.fixture
def page_of(browser, watched) -> Iterator[PageOf]:
    """Open a page: ``page_of(server, "session/s01", width=390, dark=True)``; it has come in by the token.

    ``server`` is a `Served` (fixture ``server``, or one of the test's own); other keywords go to Playwright's
    ``new_context`` (``java_script_enabled=False``). At the end there must have been no error in the console and no
    request to another host.
    """
    contexts: list[BrowserContext] = []

    def open_page(
        served: Served, path: str = "", *, width: int = 1440, height: int = 900, dark: bool = False, **more
    ) -> Page:
        watched.own.add(urlsplit(served.address).netloc)
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **more
        )
        contexts.append(context)
        watched.watch(context)
        # No page is drawn for the token, which most tests are not about: what lets one in is a cookie.
        entered = context.request.get(f"{served.address}?token={served.access.token}")
        assert entered.ok
        page = context.new_page()
        page.goto(served.address + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert watched.left() == []


@pytest.fixture
def page_at(browser, watched) -> Iterator[Callable[[str], Page]]:
    """Open any address, such as a file of a bundle; watched as ``page_of`` does."""
    contexts: list[BrowserContext] = []

    def open_page(address: str, **more) -> Page:
        context = browser.new_context(**more)
        contexts.append(context)
        watched.watch(context)
        page = context.new_page()
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert watched.left() == []
