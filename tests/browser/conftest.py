"""What the browser tests share: a browser, and relays to open in it.

`launch(command)` starts any program that prints its page's link on a line; the tests here start `scripted_relay.py`.
"""

import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from launched import Launched
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[[Sequence[str]], Launched]]:
    """Starts relays; each is killed after the test."""
    running: list[Launched] = []

    def start(command: Sequence[str]) -> Launched:
        relay = Launched(command, tmp_path / "stderr.log")
        running.append(relay)
        return relay

    yield start
    for relay in running:
        relay.kill()


@pytest.fixture
def relay(launch: Callable[[Sequence[str]], Launched], tmp_path: Path) -> Launched:
    """The scripted relay, on a port of its own that it takes again after a restart."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = str(Path(__file__).with_name("scripted_relay.py"))
    return launch([sys.executable, script, str(tmp_path), port, "key-of-the-tests-0123456789"])


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, relay: Launched) -> Page:
    """The relay's page, open and connected. A script error on it fails the test when it is told of."""
    page = context.new_page()
    page.goto(relay.url)
    page.get_by_text("connected", exact=True).wait_for()
    return page
