"""What the page itself promises, shown on the whole relay: the key, the box, scrolling, the keyboard, a phone."""

import re

from launched import Launched
from on_the_page import last, said, write
from playwright.sync_api import BrowserContext, Page, Route, expect


def test_the_key_leaves_the_address_bar_and_stays_for_the_tab(page: Page, shared: Launched) -> None:
    assert "token" not in page.url
    page.reload()
    expect(page.get_by_text("connected", exact=True)).to_be_visible()
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.length") == 0

    other = page.context.new_page()
    other.goto(shared.address)
    expect(other.locator("#locked")).to_contain_text("Open the link that the relay printed")
    expect(other.locator("#app")).to_be_hidden()
    other.goto(shared.address + "#token=wrong")
    expect(other.locator("#locked")).to_contain_text("not valid")


def test_a_long_message_goes_through_whole_and_is_shown_folded(page: Page) -> None:
    page.locator("#text").fill("one")
    page.locator("#text").press("Shift+Enter")
    page.locator("#text").type("two")
    page.locator("#text").press("Enter")
    expect(last(page).locator(".text")).to_have_text("You said: one\ntwo")

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('a pasted line of a log\\n'.repeat(13000))")
    page.locator("#text").press("ControlOrMeta+v")
    page.locator("#text").press("Enter")
    expect(page.locator("#text")).to_have_value("")
    expect(last(page)).to_contain_text(re.compile(r"You said 29\d{4} characters"))
    pasted = page.locator(".message.person").last
    assert pasted.evaluate("message => message.clientHeight") < 2_000
    pasted.get_by_role("button", name=re.compile("Show all of it")).click()
    assert len(pasted.locator(".text").inner_text()) > 290_000

    page.locator("#text").fill("x" * 1_000_001)
    page.locator("#text").press("Enter")
    expect(page.locator("#failure")).to_contain_text("the page takes 1,000,000")
    assert len(page.locator("#text").input_value()) == 1_000_001, "it is still there"


def test_half_a_character_is_sent_as_a_mark(page: Page) -> None:
    page.locator("#text").evaluate(
        "box => { box.value = 'half \\ud83d'; box.dispatchEvent(new Event('input')) }"
    )
    page.locator("#text").press("Enter")
    expect(page.locator("#text")).to_have_value("")
    expect(last(page)).to_contain_text("You said: half \ufffd")


def test_a_message_whose_answer_was_lost_is_sent_again_and_is_one_message(page: Page) -> None:
    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/post", lose, times=1)
    page.locator("#text").fill("only once")
    page.locator("#text").press("Enter")
    expect(page.locator("#failure")).to_contain_text("Not sent.")
    expect(page.locator("#text")).to_have_value("only once")
    page.locator("#send").click()
    expect(page.locator("#text")).to_have_value("")
    expect(said(page, "You said: only once")).to_have_count(1)
    expect(page.locator(".message.person")).to_have_count(1)


def test_links_say_where_they_go_and_code_what_cant_be_seen(page: Page) -> None:
    write(
        page,
        "see [docs](https://example.org/a_b) and https://example.org/x, not `https://not.a.link`, "
        "[bank.example](https://elsewhere.example/) or https://bank.example@elsewhere.example/ `a\u202eb` `👩\u200d🔬`",
    )
    text = page.locator(".message.person .text")
    links = text.locator("a")
    expect(links).to_have_count(3)
    assert links.nth(0).get_attribute("title") == "https://example.org/a_b"
    assert links.nth(1).get_attribute("href") == "https://example.org/x"
    assert "noopener" in (links.nth(0).get_attribute("rel") or "")
    expect(text).to_contain_text("bank.example (elsewhere.example)")
    expect(text.locator(".unseen")).to_have_text(["U+202E"])


def test_earlier_messages_are_loaded_on_wish_without_a_jump(page: Page) -> None:
    for number in range(60):
        write(page, f"!busy {number}" if number % 2 else f"say {number}\nslow 0")
    # Not the count: a page too slow for the burst is told to load anew, and then shows the newest alone.
    expect(page.locator(".message.person").last).to_contain_text("!busy 59")
    page.reload()
    expect(page.locator(".message")).to_have_count(50)
    page.locator("#scroll").evaluate("scroll => scroll.scrollTop = 0")
    top = page.locator(".message").first
    before = top.bounding_box()
    id = top.get_attribute("data-id")
    page.locator("#earlier").click()
    expect(page.locator(".message")).not_to_have_count(50)
    after = page.locator(f"[data-id={id}]").bounding_box()
    assert before
    assert after
    assert abs(before["y"] - after["y"]) < 60, "what was read stays where it was"


def test_everything_works_by_keyboard(page: Page) -> None:
    page.reload()
    expect(page.get_by_text("connected", exact=True)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type("ask ls")
    page.keyboard.press("Enter")
    allow = page.locator(".card").get_by_role("button", name="Allow once")
    expect(allow).to_be_visible()
    allow.focus()
    page.keyboard.press("Space")
    expect(page.locator(".has-card")).to_contain_text("Allowed by you")
    assert page.locator("#messages").get_attribute("aria-live") == "polite"


def test_the_page_fits_a_phone(context: BrowserContext, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    write(page, "a very long word " + "x" * 300)
    write(page, '!watch --in 1h "a long line for the panel"')
    write(page, f"say working on {'y' * 300}\nask echo {'z' * 300}\nslow 2")
    page.locator(".card").get_by_role("button", name="Allow once").click()
    expect(page.locator("#live .doing")).to_have_text("slow 2 s")
    for selector in ("html", "#scroll", "#live", "#composer", "#top"):
        wide = page.locator(selector).evaluate("e => e.scrollWidth - e.clientWidth")
        assert wide <= 0, selector
    expect(page.locator("#places")).not_to_be_visible()
    page.locator("#open-places").click()
    expect(page.locator("#places")).to_be_visible()
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill("from the phone")
    page.get_by_label("Title of the new thread").press("Enter")
    expect(page.locator("#places")).not_to_be_visible()
    expect(page.locator("#title")).to_contain_text("from the phone")
    page.locator("#open-facts").click()
    expect(page.locator("#watch-list")).to_contain_text("a long line for the panel")
    page.keyboard.press("Escape")
    expect(page.locator("#facts")).not_to_be_visible()
    expect(page.locator("#open-facts")).to_be_focused()
