"""The whole relay as a newcomer meets it: started by its command, driven through its page in a real browser."""

import json
import re
import time
from pathlib import Path

from launched import Launched, launched
from on_the_page import last, opened, react, said, write
from playwright.sync_api import BrowserContext, Page, Route, expect

EVIL = "<img src=x onerror=document.title='owned'>"


def test_a_first_start_says_what_to_type_and_answers_it(context: BrowserContext, relay: Launched) -> None:
    page = opened(context, relay)
    expect(page.locator("#empty")).to_contain_text("the agent answers here")
    page.locator("#empty").get_by_role("button", name="hello").click()
    expect(page.locator("#text")).to_have_value("hello")
    page.keyboard.press("Enter")
    expect(last(page).locator(".text")).to_have_text("You said: hello")
    expect(last(page).locator(".name")).to_have_text("scout")
    expect(last(page).locator(".reply")).to_contain_text("you: hello")
    expect(page.locator(".message.person").last.locator(".reactions")).to_contain_text("👀 1")
    assert page.locator(".message").count() == 2, "each is there once"
    expect(page.locator("#empty")).to_be_hidden()

    write(page, "!help")
    expect(last(page)).to_contain_text("!watch NAME --file PATH")
    write(page, "silent")
    expect(page.locator(".message.person").last.locator(".reactions")).to_contain_text("👌 1")
    write(page, "fail no such luck")
    expect(last(page)).to_contain_text("The agent failed: no such luck")


def test_a_running_turn_is_seen_live_steered_stopped_and_run_again(page: Page) -> None:
    write(page, "say first part\nslow 3\nsay second part")
    live = page.locator("#live")
    expect(live.locator(".doing")).to_have_text("slow 3 s")
    expect(live.locator(".body")).to_have_text("first part")
    expect(live.locator(".elapsed")).to_have_text(re.compile(r"0:0[12]"))
    expect(page.locator("#turn-list")).to_contain_text("slow 3 s")
    write(page, "say and **this** too")
    expect(last(page).locator(".body")).to_have_text(re.compile("first part\\s*second part\\s*and this too"))
    expect(live).to_be_hidden()
    expect(page.locator("#turn-list")).to_contain_text("Nothing runs.")
    expect(page.locator(".message.ours")).to_have_count(1)

    write(page, "say a long one\nslow 60")
    expect(live.locator(".doing")).to_have_text("slow 60 s")
    asked = page.locator(".message.person").last
    react(page, asked, "stop")
    expect(said(page, "Stopped (you)")).to_have_count(1)
    expect(live).to_be_hidden()
    expect(asked.locator(".reactions button", has_text="🛑")).to_have_attribute("aria-pressed", "true")

    react(page, asked, "run again")
    expect(live.locator(".doing")).to_have_text("slow 60 s")
    expect(live.locator(".body")).to_have_text("a long one")
    write(page, "!stop")
    expect(said(page, "Stopped (you)")).to_have_count(2)


def test_cards_are_allowed_by_a_click_and_denied_with_a_reason(page: Page) -> None:
    write(page, "ask rm -r build")
    card = page.locator(".has-card").last
    expect(card.locator("pre")).to_have_text("rm -r build")
    expect(page.locator("#live .doing")).to_contain_text("waiting for leave")
    write(page, "say what came meanwhile")
    card.get_by_role("button", name="Allow once").click()
    expect(card).to_contain_text("✅ Allowed by you")
    expect(card.get_by_role("button", name="Allow once")).to_have_count(0)
    expect(last(page)).to_contain_text("allowed: rm -r build")

    write(page, "ask make deploy")
    card = page.locator(".has-card", has_text="make deploy")
    card.get_by_label("Reason").fill("not on a Friday")
    card.get_by_role("button", name="Deny").click()
    expect(card).to_contain_text("❌ Denied by you: not on a Friday")
    expect(last(page)).to_contain_text("not allowed (not on a Friday): make deploy")


def test_a_command_that_waits_for_leave_is_shown_whole_with_what_cant_be_seen(page: Page) -> None:
    write(page, "ask true " + "x" * 700 + " \u200b;" + " " * 700 + "rm -r ~")
    command = page.locator(".has-card pre")
    expect(command.locator(".unseen")).to_have_text("U+200B")
    inside = command.evaluate(
        "pre => [pre.scrollWidth - pre.clientWidth, pre.scrollHeight - pre.clientHeight]"
    )
    assert inside == [0, 0], "nothing hides behind a scroll bar"
    write(page, "!stop")
    expect(said(page, "Stopped (you)")).to_have_count(1)


def test_a_watched_file_wakes_the_agent_with_a_diff_and_why_tells_the_way(
    page: Page, shared: Launched
) -> None:
    notes = shared.workspace / "notes.md"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text("old line\nsame\n")
    write(page, "!watch notes --file notes.md")
    watch = page.locator("#watch-list .fact", has_text="notes.md")
    expect(watch).to_contain_text("not fired yet")
    expect(watch.locator(".chip")).to_have_text("watching")
    notes.write_text("new line\nsame\n")
    fire = said(page, "«notes» changed")
    expect(fire.locator(".origin")).to_have_text("↳ triggered by watch «notes»")
    expect(fire.locator("pre .add")).to_have_text("+new line")
    expect(fire.locator("pre .del")).to_have_text("-old line")
    expect(fire.locator("pre .hunk")).to_contain_text("@@ -1,2 +1,2 @@")
    expect(watch).to_contain_text("fired once")

    fire.get_by_role("button", name="why").click()
    steps = page.locator("#why li")
    expect(steps.first).to_contain_text("post.sent")
    for verb in ("watch.fired", "watch.armed"):
        expect(steps.locator("code", has_text=re.compile(f"^{verb}$"))).to_have_count(1)
    expect(steps.last).to_contain_text("you: !watch notes --file notes.md")
    page.keyboard.press("Escape")
    expect(page.locator("#why")).to_be_hidden()

    write(page, "!unwatch notes")
    expect(page.locator("#watch-list .fact", has_text="notes.md")).to_have_count(0)


def test_a_timer_ticks_in_the_panel_and_wakes_the_agent(page: Page) -> None:
    write(page, '!watch --in 4s "time to stretch"')
    due = page.locator("#watch-list .fact", has_text="time to stretch").locator(".due")
    expect(due).to_have_text(re.compile(r"next in 0:0\d"))
    before = due.inner_text()
    expect(due).not_to_have_text(before)
    fire = said(page, "due: time to stretch")
    expect(fire.locator(".origin")).to_have_text("↳ triggered by watch «timer-1»")
    expect(page.locator("#watch-list .fact", has_text="time to stretch")).to_have_count(0)


def test_a_shared_file_is_downloaded(page: Page) -> None:
    write(page, "tool write out/note.txt a shared file\nshare out/note.txt")
    with page.expect_download() as download:
        page.locator(".files button", has_text="note.txt").click()
    assert download.value.path().read_bytes() == b"a shared file\n"
    assert download.value.suggested_filename == "note.txt"


def test_what_is_said_while_a_place_is_looked_at_for_the_first_time_is_shown(page: Page) -> None:
    def late(route: Route) -> None:
        """Answers with what stood there before somebody said something more."""
        answer = route.fetch()
        posted = page.request.post(
            route.request.url.partition("/api/")[0] + "/api/post",
            headers={"Authorization": route.request.headers["authorization"]},
            data={
                "place": answer.url.partition("place=")[2].partition("&")[0].replace("%2F", "/"),
                "text": "silent one",
            },
        )
        assert posted.ok, posted.text()
        time.sleep(1)
        route.fulfill(response=answer)

    page.route("**/api/messages?*", late)
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill("a new one")
    page.get_by_label("Title of the new thread").press("Enter")
    expect(page.locator("#title")).to_have_text("main › a new one")
    expect(page.locator("#messages")).to_contain_text("silent one")


def test_a_thread_has_its_own_conversation_and_an_answer_elsewhere_is_marked_unread(page: Page) -> None:
    write(page, "slow 2\nsay done in the thread")
    expect(last(page)).to_contain_text("slow 2")
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill("a second task")
    page.get_by_label("Title of the new thread").press("Enter")
    expect(page.locator("#title")).to_have_text("main › a second task")
    expect(page.locator("#empty")).to_be_visible()
    write(page, "meanwhile")
    expect(last(page)).to_contain_text("You said: meanwhile")
    expect(page.locator(".unread")).to_have_text("1")
    page.go_back()
    expect(last(page)).to_contain_text("done in the thread")
    expect(page.locator(".unread")).to_have_count(0)
    expect(page.locator(".message")).to_have_count(2)


def test_after_a_kill_the_open_page_goes_on_and_so_does_the_interrupted_turn(
    context: BrowserContext, relay: Launched
) -> None:
    page = opened(context, relay)
    key = relay.url
    write(page, "say before it\nslow 4\nsay after it")
    expect(page.locator("#live .body")).to_have_text("before it")
    relay.kill()
    expect(page.locator("#connection")).to_have_attribute("data-state", "lost")
    page.locator("#text").fill("precious")
    page.locator("#text").press("Enter")
    expect(page.locator("#failure")).to_contain_text("Not sent. The relay can't be reached.")
    expect(page.locator("#text")).to_have_value("precious")
    relay.start()
    assert relay.url != key, "whoever took the port meanwhile and was shown the key has nothing of it"
    expect(page.locator("#locked-reason")).to_contain_text("not valid any more")
    page.goto(relay.url)
    expect(page.locator("#connection")).to_have_attribute("data-state", "good")
    expect(said(page, "The relay was restarted while I was working on this")).to_have_count(1)
    expect(page.locator("#live .doing")).to_have_text("slow 4 s")
    write(page, "precious")
    expect(last(page)).to_contain_text("precious")
    page.reload()
    expect(said(page, "after it")).to_have_count(1)
    expect(said(page, "The relay was restarted")).to_have_count(1)
    expect(page.locator(".message.person", has_text="precious")).to_have_count(1)


def test_two_rooms_of_a_configuration_which_changes_and_breaks_while_the_page_is_open(
    context: BrowserContext, tmp_path: Path
) -> None:
    config = tmp_path / "access.json"

    def configure(label: str) -> None:
        rooms = {
            "web:lab": {"label": "lab", "agent": "ada", "workspace": "./lab"},
            "web:office": {"label": label, "agent": "bob", "workspace": "./office"},
        }
        agents = {name: {"runtime": "scripted"} for name in ("ada", "bob")}
        config.write_text(json.dumps({"version": 1, "agents": agents, "rooms": rooms}))

    configure(EVIL)
    with launched(tmp_path, "--config", str(config)) as relay:
        page = opened(context, relay)
        expect(page.locator("#title")).to_have_text("lab")
        write(page, "in the lab")
        expect(last(page)).to_contain_text("You said: in the lab")
        expect(last(page).locator(".name")).to_have_text("ada")
        page.locator(".place .label", has_text=EVIL).click()
        expect(page.locator("#title")).to_have_text(EVIL)
        expect(page.locator("#empty")).to_be_visible()
        write(page, "in the office")
        expect(last(page).locator(".name")).to_have_text("bob")

        configure("the office")
        expect(page.locator("#title")).to_have_text("the office")
        expect(page.locator(".message")).to_have_count(2)
        config.write_text('{"version": 1, "rooms": ')
        expect(page.locator("#trouble")).to_contain_text("access.json")
        write(page, "still here?")
        expect(last(page)).to_contain_text("You said: still here?")
        configure("the office")
        expect(page.locator("#trouble")).to_be_hidden()


def test_texts_that_want_to_be_markup_stay_text(page: Page, shared: Launched) -> None:
    shared.workspace.mkdir(exist_ok=True)
    (shared.workspace / f"{EVIL}.md").write_text("")
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill(f"{EVIL} \u202egnol")
    page.get_by_label("Title of the new thread").press("Enter")
    expect(page.locator("#title")).to_have_text(f"main › {EVIL} gnol")
    write(page, f'!watch evil --file "{EVIL}.md"')
    expect(page.locator("#watch-list .fact", has_text=f"{EVIL}.md").locator(".chip")).to_have_text("watching")
    (shared.workspace / f"{EVIL}.md").write_text(f"{EVIL}\n```\n<script>document.title='owned'</script>\n")
    fire = page.locator(".message.ours", has=page.locator(".origin"))
    expect(fire.locator("pre .add").first).to_have_text(f"+{EVIL}")
    expect(fire.locator("pre")).to_have_count(1)
    write(page, f"say [click](javascript:alert(1)) **{EVIL}** `{EVIL}`\nshare {EVIL}.md")
    expect(last(page).locator("strong")).to_have_text(EVIL)
    expect(last(page).locator(".files")).to_contain_text(EVIL)
    write(page, f"ask echo {EVIL}")
    card = page.locator(".has-card")
    expect(card.locator("pre")).to_have_text(f"echo {EVIL}")
    card.get_by_label("Reason").fill(EVIL)
    card.get_by_role("button", name="Deny").click()
    expect(said(page, f"Denied by you: {EVIL}")).to_have_count(1)
    write(page, "!unwatch evil")
    page.wait_for_timeout(300)
    assert page.locator("img").count() == 0
    assert page.locator("body script").count() == 0
    assert "owned" not in page.title().replace(EVIL, "")
    hrefs = page.locator("a[href]").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert not [href for href in hrefs if not href.startswith(("https://", "http://", "#"))]
