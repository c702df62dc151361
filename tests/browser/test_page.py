"""What a person sees and does on the page, in a real browser against a real server."""

import re
from collections.abc import Iterator

import pytest
from launched import Launched
from playwright.sync_api import BrowserContext, Locator, Page, expect

EVIL = "<img src=x onerror"


@pytest.fixture(autouse=True)
def no_script_errors(context: BrowserContext) -> Iterator[None]:
    """No test passes while the page's own scripts fail or break the page's policy."""
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    context.on(
        "console", lambda message: errors.append(message.text) if "Security Policy" in message.text else None
    )
    yield
    assert errors == []


def write(page: Page, text: str) -> None:
    page.locator("#text").fill(text)
    page.locator("#text").press("Enter")
    expect(page.locator("#text")).to_have_value("")


def last(page: Page) -> Locator:
    return page.locator(".message").last


def test_a_message_is_posted_and_its_answer_appears(page: Page) -> None:
    write(page, "hello there")
    expect(last(page)).to_contain_text("You said: hello there")
    expect(last(page).locator(".name")).to_have_text("scout")
    expect(last(page).locator(".reply")).to_contain_text("you: hello there")
    expect(page.locator(".message.person").last.locator(".reactions")).to_contain_text("👀 1")
    assert page.locator(".message").count() == 2, "each is there once"


def test_the_key_leaves_the_address_bar_and_stays_for_the_tab(page: Page) -> None:
    assert "token" not in page.url
    page.reload()
    expect(page.get_by_text("connected", exact=True)).to_be_visible()
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.length") == 0


def test_without_the_key_the_page_says_what_to_do(context: BrowserContext, relay: Launched) -> None:
    page = context.new_page()
    page.goto(relay.url.partition("#")[0])
    expect(page.locator("#locked")).to_contain_text("Open the link that the relay printed")
    expect(page.locator("#app")).to_be_hidden()
    page.goto(relay.url.partition("#")[0] + "#token=wrong")
    expect(page.locator("#locked")).to_contain_text("not valid")


def test_shift_enter_makes_a_line_and_a_big_paste_goes_through(page: Page) -> None:
    page.locator("#text").fill("one")
    page.locator("#text").press("Shift+Enter")
    page.locator("#text").type("two")
    page.locator("#text").press("Enter")
    expect(last(page).locator(".text")).to_have_text("You said: one\ntwo")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('quiet ' + 'a pasted line of a log\\n'.repeat(13000))")
    page.locator("#text").press("ControlOrMeta+v")
    page.locator("#text").press("Enter")
    expect(page.locator("#text")).to_have_value("")
    expect(last(page).get_by_role("button", name=re.compile("Show all of it"))).to_be_visible()
    last(page).get_by_role("button", name=re.compile("Show all of it")).click()
    assert len(last(page).locator(".text").inner_text()) > 290_000


def test_half_a_character_is_sent_as_a_mark(page: Page) -> None:
    page.locator("#text").evaluate(
        "box => { box.value = 'half \\ud83d'; box.dispatchEvent(new Event('input')) }"
    )
    page.locator("#text").press("Enter")
    expect(page.locator("#text")).to_have_value("")
    expect(last(page)).to_contain_text("You said: half \ufffd")


def test_a_text_that_cant_be_sent_stays_with_the_reason(page: Page, relay: Launched) -> None:
    page.locator("#text").fill("x" * 1_000_001)
    page.locator("#text").press("Enter")
    expect(page.locator("#failure")).to_contain_text("the page takes 1,000,000")
    relay.kill()
    page.locator("#text").fill("precious")
    page.locator("#text").press("Enter")
    expect(page.locator("#failure")).to_contain_text("Not sent. The relay can't be reached.")
    expect(page.locator("#text")).to_have_value("precious")
    relay.start()
    expect(page.get_by_text("connected", exact=True)).to_be_visible()
    page.locator("#send").click()
    expect(last(page)).to_contain_text("You said: precious")
    expect(page.locator("#failure")).to_be_hidden()


def test_a_thread_is_opened_and_spoken_in(page: Page) -> None:
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill("a task")
    page.get_by_label("Title of the new thread").press("Enter")
    expect(page.locator("#title")).to_have_text("main › a task")
    write(page, "in the thread")
    expect(last(page)).to_contain_text("You said: in the thread")
    page.locator(".place", has_text="main").first.click()
    expect(page.locator("#title")).to_have_text("main")
    expect(page.locator("#empty")).to_be_visible()
    page.go_back()
    expect(page.locator("#title")).to_have_text("main › a task")
    expect(page.locator(".message")).to_have_count(2)


def test_an_answer_elsewhere_is_marked_unread(page: Page) -> None:
    write(page, "work for a while")
    page.locator(".place").last.click()
    expect(page.locator(".unread")).to_have_text("1")
    page.locator(".place", has_text="main").first.click()
    expect(page.locator(".unread")).to_have_count(0)
    expect(last(page)).to_contain_text("The work is done.")


def test_a_reaction_is_set_answered_and_taken_back(page: Page) -> None:
    write(page, "quiet please")
    message = page.locator(".message.person").first
    message.hover()
    message.get_by_label("React with stop").click()
    chip = message.locator(".reactions button", has_text="🛑")
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(last(page)).to_contain_text("you set 🛑")
    chip.click()
    expect(chip).to_have_count(0)


def test_a_card_is_decided_by_a_click(page: Page) -> None:
    write(page, "card")
    card = last(page)
    expect(card.locator("code")).to_have_text("rm -r build")
    card.get_by_label("Reason").fill("it is old")
    card.get_by_role("button", name="Allow").click()
    expect(card).to_contain_text("Decided: allow. it is old")
    expect(card.locator(".outcome")).to_have_text("you chose Allow")
    expect(card.get_by_role("button", name="Allow")).to_have_count(0)


def test_a_running_turn_is_shown_live_and_then_its_answer(page: Page) -> None:
    write(page, "work")
    live = page.locator("#live")
    expect(live.locator(".doing")).to_have_text("reading notes.md")
    expect(live).to_contain_text("1 waiting")
    expect(live.locator("strong")).to_have_text("reading notes.md")
    expect(page.locator("#turn-list")).to_contain_text("reading notes.md")
    expect(live.locator(".doing")).to_have_text("writing the answer")
    expect(live.locator(".elapsed")).to_have_text(re.compile(r"0:0[12]"))
    expect(last(page)).to_contain_text("The work is done.")
    expect(live).to_be_hidden()
    expect(page.locator("#turn-list")).to_contain_text("Nothing runs.")


def test_a_fire_shows_a_coloured_diff_and_why_it_came(page: Page) -> None:
    write(page, "fire")
    fire = last(page)
    expect(fire.locator(".origin")).to_have_text("↳ triggered by watch «notes»")
    expect(fire.locator("pre .add")).to_have_text("+new line")
    expect(fire.locator("pre .del")).to_have_text("-old line")
    expect(fire.locator("pre .hunk")).to_have_text("@@ -1,2 +1,2 @@")
    fire.get_by_role("button", name="why").click()
    steps = page.locator("#why li")
    expect(steps).to_have_count(3)
    expect(steps.nth(2)).to_contain_text("channel.message")
    page.keyboard.press("Escape")
    expect(page.locator("#why")).to_be_hidden()


def test_a_watch_and_a_trouble_are_shown_and_the_next_time_ticks(page: Page) -> None:
    write(page, "watch")
    watch = page.locator("#watch-list .fact")
    expect(watch).to_contain_text("file notes.md, on change")
    expect(watch).to_contain_text("fired 2 times")
    due = watch.locator(".due")
    expect(due).to_have_text(re.compile(r"next in 1:2\d"))
    before = due.inner_text()
    expect(due).not_to_have_text(before)
    expect(page.locator("#trouble")).to_contain_text("The disk is nearly full.")


def test_a_file_is_saved_under_a_tame_name(page: Page) -> None:
    write(page, "file")
    with page.expect_download() as download:
        last(page).get_by_role("button", name=re.compile("note.txt")).click()
    assert download.value.path().read_bytes() == b"a shared file\n"
    assert "/" not in download.value.suggested_filename


def test_texts_that_want_to_be_markup_stay_text(page: Page) -> None:
    write(page, "evil")
    expect(last(page)).to_contain_text(EVIL)
    expect(page.locator(".place .label", has_text=EVIL)).to_have_count(2)
    for selector in (
        "#watch-list",
        "#trouble",
        ".message.person .name",
        ".choice",
        "pre",
        "strong",
        ".text code",
    ):
        expect(page.locator(selector).filter(has_text=EVIL).first).to_be_visible()
    last(page).get_by_role("button", name="why").click()
    expect(page.locator("#why")).to_contain_text(EVIL)
    page.keyboard.press("Escape")
    page.locator(".place .label", has_text=EVIL).first.click()
    expect(page.locator("#title")).to_contain_text(EVIL)
    page.wait_for_timeout(300)
    assert page.locator("img").count() == 0
    assert page.locator("body script").count() == 0
    assert page.title() != "owned"
    hrefs = page.locator("a[href]").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert not [href for href in hrefs if not href.startswith(("https://", "http://", "#"))]


def test_links_open_apart_and_tell_nothing(page: Page) -> None:
    write(page, "see [docs](https://example.org/a_b) and https://example.org/x, or `https://not.a.link`")
    links = page.locator(".message.person .text a")
    expect(links).to_have_count(2)
    assert links.nth(0).get_attribute("title") == "https://example.org/a_b"
    assert links.nth(1).get_attribute("href") == "https://example.org/x"
    assert "noopener" in (links.nth(0).get_attribute("rel") or "")


def test_after_a_restart_the_page_comes_back_with_what_it_missed(page: Page, relay: Launched) -> None:
    write(page, "before")
    expect(last(page)).to_contain_text("You said: before")
    relay.kill()
    expect(page.locator("#connection")).to_have_attribute("data-state", "lost")
    relay.start()
    other = page.context.new_page()
    other.goto(relay.url)
    other.get_by_text("connected", exact=True).wait_for()
    write(other, "meanwhile")
    expect(page.locator("#connection")).to_have_attribute("data-state", "good")
    expect(last(page)).to_contain_text("You said: meanwhile")
    texts = page.locator(".message .text").all_inner_texts()
    assert texts == ["before", "You said: before", "meanwhile", "You said: meanwhile"]


def test_earlier_messages_are_loaded_on_wish_without_a_jump(page: Page) -> None:
    for number in range(30):
        write(page, f"message {number}")
    expect(last(page)).to_contain_text("You said: message 29")
    page.reload()
    expect(page.locator(".message")).to_have_count(50)
    page.locator("#scroll").evaluate("scroll => scroll.scrollTop = 0")
    top = page.locator(".message").first
    before = top.bounding_box()
    id = top.get_attribute("data-id")
    page.locator("#earlier").click()
    expect(page.locator(".message")).to_have_count(60)
    after = page.locator(f"[data-id={id}]").bounding_box()
    assert before
    assert after
    assert abs(before["y"] - after["y"]) < 60, "what was read stays where it was"
    expect(page.locator("#earlier")).to_be_hidden()


def test_everything_works_by_keyboard(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type("card")
    page.keyboard.press("Enter")
    expect(last(page).get_by_role("button", name="Allow")).to_be_visible()
    last(page).get_by_role("button", name="Allow").focus()
    page.keyboard.press("Space")
    expect(last(page)).to_contain_text("Decided: allow.")
    assert page.locator("#messages").get_attribute("aria-live") == "polite"


def test_the_page_fits_a_phone(context: BrowserContext, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    write(page, "fire with a very long line " + "x" * 300)
    write(page, "watch")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator("#places")).not_to_be_visible()
    page.locator("#open-places").click()
    expect(page.locator("#places")).to_be_visible()
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill("from the phone")
    page.get_by_label("Title of the new thread").press("Enter")
    expect(page.locator("#places")).not_to_be_visible()
    expect(page.locator("#title")).to_contain_text("from the phone")
    page.locator("#open-facts").click()
    expect(page.locator("#watch-list")).to_contain_text("notes.md")
    page.keyboard.press("Escape")
    expect(page.locator("#facts")).not_to_be_visible()
    expect(page.locator("#open-facts")).to_be_focused()


def test_faint_text_has_enough_contrast_in_both_schemes(page: Page) -> None:
    write(page, "fire")
    write(page, "watch")
    expect(page.locator("#trouble")).to_be_visible()
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
        ):
            ratio = page.locator(selector).first.evaluate(CONTRAST)
            assert ratio >= 4.5, (scheme, selector, ratio)


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
