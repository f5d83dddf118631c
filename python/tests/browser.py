"""A browser that opens pages from disk without network: any network request of a page fails the test."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

OpenPage = Callable[..., Page]
Shoot = Callable[..., None]

#: Timeout, sufficient on the slowest machine.
HANG_MS = 600_000

# The headless shell first: without windows and their interface, a page takes 0.65 CPU s instead of 1.53
# (Chromium 156, pages of `airwnd view`, 2026-11-29).
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium: the system's, otherwise Playwright's."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=path, args=list(_OPTIONS), timeout=HANG_MS)
        except Error as error:
            message = str(error).splitlines()[0]
            pytest.fail(f"no browser: install Chromium, or `playwright install chromium` ({message})")
        yield started
        started.close()


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A context without network. Its pages share a process, and nothing else: they store nothing."""
    context = browser.new_context(offline=True)
    yield context
    context.close()


@pytest.fixture
def open_page(context: BrowserContext) -> Iterator[OpenPage]:
    """Open a file; the test fails on errors of the page and on network requests."""
    problems: list[str] = []

    def look(address: str) -> None:
        if not address.startswith(("file:", "data:", "blob:")):
            problems.append(f"request: {address}")

    def call(path: Path, width: int = 1280, height: int = 800) -> Page:
        page = context.new_page()
        page.set_default_timeout(HANG_MS)
        page.set_viewport_size({"width": width, "height": height})
        page.on("request", lambda request: look(request.url))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on(
            "console",
            lambda message: problems.append(f"console: {message.text}") if message.type == "error" else None,
        )
        page.goto(path.resolve().as_uri())
        return page

    yield call
    assert all(page.evaluate("localStorage.length + sessionStorage.length") == 0 for page in context.pages)
    for page in context.pages:
        page.close()
    assert problems == []


@pytest.fixture
def shoot() -> Shoot:
    """Save a screenshot of the viewport or the whole page in the folder AIRWND_SCREENSHOTS, if it is set."""

    def call(page: Page, name: str, *, whole: bool = False) -> None:
        if folder := os.environ.get("AIRWND_SCREENSHOTS"):
            page.screenshot(path=Path(folder, f"{name}.png"), full_page=whole)

    return call
