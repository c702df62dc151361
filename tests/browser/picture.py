"""Takes docs/page.png: `python tests/browser/picture.py FOLDER PNG`. It is no test.

Starts the relay in FOLDER, which must not exist yet, and has a conversation with its scripted agent. Everything in the
picture is what the relay and the agent did. Emoji are drawn only if the machine has a font with them.
"""

import json
import shutil
import sys
from pathlib import Path

from launched import Launched, launched
from on_the_page import last, opened, said, write
from playwright.sync_api import Page, expect, sync_playwright

NOTES = (
    "# Loader\n\n## Plan\n- measure the loader: 2 weeks\n- write it up: 1 week\n\n## Open\n- which disk?\n"
)
CHANGED = NOTES.replace("loader: 2 weeks\n", "loader: 3 weeks\n- repeat with a cold cache\n")


def main(folder: Path, png: Path) -> None:
    folder.mkdir(parents=True)
    workspace = folder / "project-x"
    workspace.mkdir()
    (workspace / "notes.md").write_text(NOTES)
    room = {"agent": "scout", "workspace": str(workspace)}
    agents = {"scout": {"runtime": "scripted"}}
    config = {"version": 1, "agents": agents, "rooms": {"web:main": room, "web:reading": room}}
    (folder / "access.json").write_text(json.dumps(config))
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with launched(folder, "--config", "access.json") as relay, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 990}, locale="en-GB")
        page = opened(context, relay)
        converse(page, relay, workspace)
        page.locator("#text").blur()
        page.mouse.move(640, 975)
        page.wait_for_timeout(1500)
        page.screenshot(path=png)
        browser.close()


def thread(page: Page, title: str) -> None:
    page.get_by_role("button", name="New thread in main").click()
    page.get_by_label("Title of the new thread").fill(title)
    page.get_by_label("Title of the new thread").press("Enter")
    page.locator("#title", has_text=title).wait_for()


def converse(page: Page, relay: Launched, workspace: Path) -> None:
    thread(page, "release 0.2")
    write(page, 'tool write CHANGES.md 0.2: cold cache\nwatch in=2h text="look at the cold-cache run"')
    expect(last(page)).to_contain_text("watching")
    thread(page, "benchmarks")
    write(page, "say 7 of 12 runs are done.\nslow 600")
    expect(page.locator("#live")).to_contain_text("7 of 12")
    page.locator(".place", has_text="main").first.click()
    write(page, "!watch notes --file notes.md")
    expect(page.locator("#watch-list .fact", has_text="notes.md").locator(".chip")).to_have_text("watching")
    (workspace / "notes.md").write_text(CHANGED)
    expect(said(page, "«notes» changed")).to_have_count(1)
    write(
        page,
        "say The plan needs **4 weeks** now, but `budget.csv` pays for 3. I would like to raise it:\n"
        "ask python tools/budget.py --weeks 4 --file budget.csv",
    )
    expect(page.locator(".card")).to_have_count(1)
    expect(page.locator("#live")).to_contain_text("4 weeks")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
