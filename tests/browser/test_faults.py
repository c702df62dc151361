"""What the page shows of trouble that the whole relay can't be brought to on demand, over `faulty_relay.py`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from launched import Launched, free_port
from on_the_page import last, opened, write
from playwright.sync_api import BrowserContext, Page, expect

EVIL = "<img src=x onerror"
DIFF = "```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n```"


@pytest.fixture
def page(context: BrowserContext, tmp_path: Path) -> Iterator[Page]:
    script = str(Path(__file__).with_name("faulty_relay.py"))
    relay = Launched([sys.executable, script, str(tmp_path), free_port()], tmp_path)
    yield opened(context, relay)
    relay.kill()


def test_hostile_texts_in_every_field_stay_text_and_all_text_can_be_read(page: Page) -> None:
    write(page, f"evil\n{DIFF}")
    expect(last(page)).to_contain_text(EVIL)
    expect(page.locator(".place .label", has_text=EVIL)).to_have_count(2)
    for selector in (
        "#watch-list",
        "#turn-list",
        "#trouble",
        ".message.person .name",
        ".origin",
        ".files",
        ".choice",
        "pre",
        "strong",
        ".text code",
    ):
        expect(page.locator(selector).filter(has_text=EVIL).first).to_be_visible()
    last(page).get_by_role("button", name="why").click()
    expect(page.locator("#why")).to_contain_text(EVIL)
    page.keyboard.press("Escape")
    last(page).locator(".choice").click()
    expect(last(page).locator(".answer")).to_contain_text(EVIL)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for selector in (
            ".faint",
            ".message time",
            "pre .add",
            "pre .del",
            "pre .hunk",
            "#trouble p",
            ".origin",
            "#send",
            ".answer",
        ):
            ratio = page.locator(selector).first.evaluate(CONTRAST)
            assert ratio >= 4.5, (scheme, selector, ratio)
    page.locator(".place .label", has_text=EVIL).first.click()
    expect(page.locator("#title")).to_contain_text(EVIL)
    page.wait_for_timeout(300)
    assert page.locator("img").count() == 0
    assert page.locator("body script").count() == 0
    assert page.title() != "owned"
    hrefs = page.locator("a[href]").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert not [href for href in hrefs if not href.startswith(("https://", "http://", "#"))]


def test_a_message_that_is_refused_says_why_and_one_that_must_wait_is_kept(page: Page) -> None:
    write(page, "refuse this")
    expect(last(page)).to_contain_text("The relay refused this: such a message can't be taken.")
    write(page, "full")
    expect(page.locator("#trouble")).to_contain_text("Your messages are kept")
    expect(page.locator("#trouble")).to_contain_text("Free some space.")
    expect(last(page)).to_contain_text("You said: full")
    expect(page.locator("#trouble")).to_be_hidden()


CONTRAST = """element => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  let under = element;
  while (parts(getComputedStyle(under).backgroundColor)[3] === 0) under = under.parentElement ?? document.body;
  const a = light(parts(getComputedStyle(element).color)), b = light(parts(getComputedStyle(under).backgroundColor));
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""
