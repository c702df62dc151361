"""What the page shows of a click that does not count, and what it keeps of a text that was not sent."""

import json
from pathlib import Path

from launched import Launched, launched
from on_the_page import opened, said, write
from playwright.sync_api import BrowserContext, Page, expect

NOT_YOURS = "Only those whom this card calls may decide it. Nothing was changed."


def test_a_click_that_does_not_count_says_so_and_nothing_looks_chosen(
    context: BrowserContext, tmp_path: Path
) -> None:
    room = {"agent": "scout", "workspace": "./work", "humans": ["ada"], "approvers": ["ada"]}
    agents = {"scout": {"runtime": "scripted"}}
    whole = {"version": 1, "people": {"ada": {}}, "agents": agents, "rooms": {"web:main": room}}
    config = tmp_path / "access.json"
    config.write_text(json.dumps(whole))
    with launched(tmp_path, "--config", str(config)) as relay:
        page = opened(context, relay)
        write(page, "ask ls")
        card = page.locator(".has-card")
        card.get_by_label("Reason").fill("I would like to")
        card.get_by_role("button", name="Allow once").click()
        expect(card.get_by_role("alert")).to_have_text(NOT_YOURS)
        expect(card.get_by_label("Reason")).to_have_value("I would like to")
        expect(card).not_to_contain_text("chose")
        allow = card.get_by_role("button", name="Allow once")
        deny = card.get_by_role("button", name="Deny")
        expect(allow).to_be_enabled()
        looks = "button => getComputedStyle(button).backgroundColor"
        page.mouse.move(0, 0)
        assert allow.evaluate(looks) == deny.evaluate(looks)
        expect(page.locator("#live .doing")).to_contain_text("waiting for leave")

        page.reload()
        expect(card.get_by_role("button", name="Allow once")).to_be_enabled()
        expect(card).not_to_contain_text("chose")
        write(page, "!stop")
        expect(said(page, "Stopped (you)")).to_have_count(1)
        expect(card.get_by_role("alert")).to_have_count(0)


def killed_and_started(page: Page, relay: Launched) -> None:
    relay.kill()
    expect(page.locator("#connection")).to_have_attribute("data-state", "lost")
    relay.start()
    expect(page.locator("#locked-reason")).to_contain_text("not valid any more")
    page.goto(relay.url)
    expect(page.locator("#connection")).to_have_attribute("data-state", "good")


def test_what_was_typed_and_not_sent_outlives_the_relay_in_its_place(
    context: BrowserContext, relay: Launched
) -> None:
    page = opened(context, relay)
    write(page, "say one")
    answer = said(page, "one")
    answer.hover()
    answer.get_by_role("button", name="reply", exact=True).click()
    page.locator("#text").fill("typed in the room")
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill("side")
    page.get_by_label("Title of the new thread").press("Enter")
    expect(page.locator("#title")).to_have_text("main › side")
    page.locator("#text").fill("typed in the thread")

    killed_and_started(page, relay)
    expect(page.locator("#title")).to_have_text("main")
    expect(page.locator("#text")).to_have_value("typed in the room")
    expect(page.locator("#replying")).to_contain_text("scout: one")
    page.locator(".place .label", has_text="side").click()
    expect(page.locator("#text")).to_have_value("typed in the thread")
    page.locator("#send").click()
    expect(said(page, "You said: typed in the thread")).to_have_count(1)
    expect(page.locator("#text")).to_have_value("")
    page.reload()
    expect(page.locator("#title")).to_have_text("main › side")
    expect(page.locator(".message")).to_have_count(2)
    expect(page.locator("#text")).to_have_value("")


def test_a_message_that_was_being_edited_is_still_being_edited_after_a_restart(
    context: BrowserContext, relay: Launched
) -> None:
    page = opened(context, relay)
    write(page, "say first")
    expect(said(page, "first")).to_have_count(1)
    mine = page.locator(".message.person")
    mine.hover()
    mine.get_by_role("button", name="edit", exact=True).click()
    page.locator("#text").fill("say second")
    killed_and_started(page, relay)
    expect(page.locator("#text")).to_have_value("say second")
    expect(page.locator("#replying")).to_contain_text("Editing: say first")
    page.locator("#send").click()
    expect(mine).to_have_count(1)
    expect(mine.locator(".body")).to_have_text("say second")
    expect(page.locator("#replying")).to_be_hidden()


def test_a_message_whose_answer_was_lost_is_sent_once_though_the_page_was_loaded_anew(
    context: BrowserContext, relay: Launched
) -> None:
    page = opened(context, relay)

    def lost(route, request) -> None:  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
        route.fetch()
        route.abort()

    page.route("**/api/post", lost)  # pyright: ignore[reportUnknownArgumentType]
    page.locator("#text").fill("only once")
    page.locator("#text").press("Enter")
    expect(page.locator("#failure")).to_contain_text("Not sent.")
    page.unroute("**/api/post")
    page.reload()
    expect(page.locator("#text")).to_have_value("only once")
    page.locator("#send").click()
    expect(page.locator("#text")).to_have_value("")
    expect(said(page, "You said: only once")).to_have_count(1)
    expect(page.locator(".message.person")).to_have_count(1)
