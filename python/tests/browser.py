"""A headless browser without a network, for the pages that we write."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start Chromium: the system's if there is one, else the one that Playwright has installed."""
    system = next(filter(None, map(shutil.which, _NAMES)), None)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=system, args=list(_ARGUMENTS))
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Open a page of 1280 x 800; at the end it must have asked for nothing and complained of nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True)
    opened = context.new_page()
    trouble: list[str] = []
    opened.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    opened.on(
        "console", lambda said: trouble.append(said.text) if said.type in {"error", "warning"} else None
    )
    opened.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:", "blob:")) else trouble.append(request.url)
        ),
    )
    yield opened
    context.close()
    assert not trouble, trouble


def screenshot(page: Page, name: str, folder: Path) -> Path:
    """Keep a picture of the whole page in `folder`, or where ``AIRWND_SCREENSHOTS`` says."""
    path = Path(os.environ.get("AIRWND_SCREENSHOTS", folder)) / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path, full_page=True)
    return path
