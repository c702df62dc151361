"""What another site, open in the same browser as the page, can do to it: nothing."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from launched import Launched
from on_the_page import write
from playwright.sync_api import Browser, Page, expect


class Elsewhere:
    """Another site on this machine. It remembers with which headers each path was asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, set[str]] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked[self.path] = {name.lower() for name in self.headers}
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<title>elsewhere</title><iframe name=frame></iframe>")

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    site = Elsewhere()
    yield site
    site.close()


def test_another_site_can_neither_read_nor_write_nor_frame_it(
    browser: Browser, page: Page, shared: Launched, elsewhere: Elsewhere
) -> None:
    write(page, "say something first")
    expect(page.locator(".message.ours")).to_contain_text("something first")
    key = shared.url.partition("token=")[2]
    other = browser.new_context().new_page()
    other.goto(elsewhere.address)
    came = other.evaluate(TRY_ALL, [shared.address, key])
    assert came == dict.fromkeys(came, "refused"), came
    framed = other.frame(name="frame")
    assert framed
    framed.wait_for_load_state()
    assert 'id="app"' not in framed.content(), "the page isn't shown in a frame"
    other.context.close()
    assert page.locator(".message").count() == 2
    page.locator(".place", has_text="main").first.click()
    expect(page.locator("#empty")).to_be_visible()


def test_a_name_that_was_pointed_at_this_machine_gets_nothing(browser: Browser, shared: Launched) -> None:
    context = browser.new_context()
    other = context.new_page()
    port = shared.address.rpartition(":")[2]
    for path in ("", "static/page.js", "api/state"):
        answer = other.goto(f"http://rebound.test:{port}{path}")
        assert answer
        assert answer.status == 421
        assert "isn't the page's own" in answer.text()
    context.close()


def test_a_link_that_is_followed_tells_the_other_site_nothing(page: Page, elsewhere: Elsewhere) -> None:
    write(page, f"see {elsewhere.address}x")
    with page.context.expect_page() as opening:
        page.locator(".message.person a").click()
    other = opening.value
    other.wait_for_load_state()
    assert other.title() == "elsewhere"
    assert other.evaluate("[window.opener, document.referrer]") == [None, ""]
    assert not elsewhere.asked["/x"] & {"referer", "cookie", "authorization"}
    other.close()


# Every way in which a site may ask another one for something. `refused` is what each must come to.
TRY_ALL = """async ([address, key]) => {
  const body = JSON.stringify({ place: "main", text: "forged" });
  const asked = {
    read: () => fetch(address + "api/state"),
    readWithKey: () => fetch(address + "api/state", { headers: { Authorization: `Bearer ${key}` } }),
    readPage: () => fetch(address),
    post: () => fetch(address + "api/post", { method: "POST", body, headers: { "Content-Type": "application/json" } }),
    postWithKey: () => fetch(address + "api/post", {
      method: "POST", body, headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` } }),
  };
  const came = {};
  for (const [name, ask] of Object.entries(asked)) came[name] = await ask().then(() => "answered", () => "refused");
  // Blind ones give no answer to read; that nothing was posted is looked at afterwards.
  await fetch(address + "api/post", { method: "POST", mode: "no-cors", body }).catch(() => null);
  navigator.sendBeacon(address + "api/post", body);
  const form = document.createElement("form");
  Object.assign(form, { action: address + "api/post", method: "post", enctype: "text/plain", target: "frame" });
  const input = document.createElement("input");
  Object.assign(input, { name: body.slice(0, -2), value: '"}' });
  form.append(input);
  document.body.append(form);
  form.submit();
  for (const [tag, file] of [["script", "static/page.js"], ["img", "static/icon.svg"]]) {
    came[tag] = await new Promise((resolve) => {
      const element = document.createElement(tag);
      element.onload = () => resolve("loaded");
      element.onerror = () => resolve("refused");
      element.src = address + file;
      document.body.append(element);
    });
  }
  const frame = document.querySelector("iframe");
  await new Promise((resolve) => { frame.onload = resolve; frame.src = address + "#token=" + key; });
  return came;
}"""
