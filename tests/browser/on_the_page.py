"""What a person does on the page again and again."""

from launched import Launched
from playwright.sync_api import BrowserContext, Locator, Page, expect

expect.set_options(timeout=15_000)


def opened(context: BrowserContext, relay: Launched) -> Page:
    """The relay's page, open and connected."""
    page = context.new_page()
    page.goto(relay.url)
    page.get_by_text("connected", exact=True).wait_for()
    return page


def write(page: Page, text: str) -> None:
    """Send a message."""
    page.locator("#text").fill(text)
    page.locator("#text").press("Enter")
    expect(page.locator("#text")).to_have_value("")


def last(page: Page) -> Locator:
    return page.locator(".message").last


def said(page: Page, text: str) -> Locator:
    """The relay's messages that hold that text."""
    return page.locator(".message.ours", has_text=text)


def react(page: Page, message: Locator, meaning: str) -> None:
    message.hover()
    message.get_by_label(f"React with {meaning}").click()
