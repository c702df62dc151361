"""Files on the page in a real browser: picked or dropped, seen before they are sent, and in the workspace after."""

from launched import Launched
from on_the_page import last, opened
from playwright.sync_api import BrowserContext, FilePayload, Page, expect

EVIL = "<img src=x onerror=document.title='owned'>.txt"


def file(name: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/plain", "buffer": data}


def pick(page: Page, *files: FilePayload) -> None:
    page.locator("#pick").set_input_files(list(files))


DROP = """
(text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], "dropped.txt"));
  const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  document.getElementById("messages").dispatchEvent(event);
}
"""


def test_files_are_picked_dropped_taken_back_and_sent(context: BrowserContext, relay: Launched) -> None:
    page = opened(context, relay)
    attached = page.locator("#attached")
    expect(attached).to_be_hidden()
    pick(page, file("a.csv", b"a,b\n"), file("wrong.txt", b"x"))
    page.evaluate(DROP, "from the desk")
    expect(attached.locator("li")).to_have_count(3)
    attached.get_by_role("button", name="Don’t send wrong.txt").click()
    expect(attached.locator("li")).to_have_text(["a.csv (4 bytes) ✕", "dropped.txt (13 bytes) ✕"])
    page.locator("#text").fill("look")
    page.keyboard.press("Enter")
    expect(last(page)).to_contain_text("inbox/a.csv (text, 4 bytes): a,b")
    expect(last(page)).to_contain_text("inbox/dropped.txt (text, 13 bytes): from the desk")
    expect(attached).to_be_hidden()
    mine = page.locator(".message.person").last
    expect(mine.locator(".files button")).to_have_text(["⬇ a.csv (4 bytes)", "⬇ dropped.txt (13 bytes)"])
    with page.expect_download() as saved:
        mine.locator(".files button").first.click()
    assert saved.value.suggested_filename == "a.csv"
    assert saved.value.path().read_bytes() == b"a,b\n"


def test_a_file_alone_is_sent_and_its_name_is_a_text(context: BrowserContext, relay: Launched) -> None:
    page = opened(context, relay)
    pick(page, file(EVIL, b"x"))
    expect(page.locator("#attached")).to_contain_text(EVIL)
    page.locator("#send").click()
    expect(page.locator(".message.person").last.locator(".files")).to_contain_text(EVIL)
    expect(last(page)).to_contain_text("inbox/_img src=x onerror=document.title='owned'_.txt")
    assert page.title() != "owned"


def test_what_is_too_large_or_too_many_is_told_before_anything_is_sent(
    context: BrowserContext, relay: Launched
) -> None:
    page = opened(context, relay)
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(26 << 20)], "big.bin"));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        }"""
    )
    expect(page.locator("#failure")).to_contain_text("big.bin has 27.3 MB; the page takes 25.0 MB")
    expect(page.locator("#attached")).to_be_hidden()
    pick(page, *(file(f"{number}.txt", b"x") for number in range(12)))
    expect(page.locator("#failure")).to_contain_text("A message takes 10 files; send the other 2 after it.")
    expect(page.locator("#attached li")).to_have_count(10)
    expect(page.locator(".message")).to_have_count(0)
