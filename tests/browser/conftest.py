"""What the browser tests share: a browser, and relays to open in it.

`page` is a new thread of a relay that a file's tests share; a test that ends its relay, or needs a first start or a
configuration, takes `relay` or `launched` instead.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from launched import Launched, launched
from on_the_page import opened
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A name of somebody else that leads here, as DNS rebinding makes one.
    "--host-resolver-rules=MAP rebound.test 127.0.0.1",
)


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Launched]:
    """A relay of the test's own, at its first start."""
    with launched(tmp_path) as relay:
        yield relay


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """One relay for all tests of a file."""
    with launched(tmp_path_factory.mktemp("shared")) as relay:
        yield relay


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """No test passes while the page's own scripts fail or break the page's policy."""
    errors: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    context.set_default_timeout(15_000)
    context.on("weberror", lambda error: errors.append(str(error.error)))
    context.on(
        "console", lambda message: errors.append(message.text) if "Security Policy" in message.text else None
    )
    yield context
    context.close()
    assert errors == []


@pytest.fixture
def page(context: BrowserContext, shared: Launched, request: pytest.FixtureRequest) -> Page:
    """A page in a new thread of the shared relay."""
    page = opened(context, shared)
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill(request.node.name)
    page.get_by_label("Title of the new thread").press("Enter")
    page.locator("#title", has_text=request.node.name[:60]).wait_for()
    return page
