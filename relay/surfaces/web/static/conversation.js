// Keeps the list of messages of the current place in step with the model, and the view at its end unless someone reads above.

import { byId, day, duration, h } from "./dom.js";
import { render } from "./markdown.js";
import { drawMessage } from "./message.js";

export class Conversation {
  constructor(model, actions) {
    this.model = model;
    this.actions = actions;
    this.open = new Set(); // long messages that were unfolded
    this.list = byId("messages");
    this.scroll = byId("scroll");
    this.scroll.addEventListener("scroll", () => {
      if (this.atEnd()) byId("down").hidden = true;
    });
    byId("down").addEventListener("click", () => this.toEnd());
    byId("earlier").addEventListener("click", () => actions.earlier());
    model.on("selected", () => this.redraw());
    model.on("conversation", ({ place, earlier }) => place === model.current && this.redraw(earlier));
    model.on("message", ({ message, fresh }) => this.put(message, fresh));
    model.on("removed", ({ id }) => byId(`message-${id}`)?.remove());
    model.on("live", () => this.drawLive());
    model.on("facts", () => this.drawLive());
    model.on("places", () => this.drawTitle());
    setInterval(() => this.tick(), 1000);
  }

  atEnd() {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < 60;
  }

  toEnd() {
    this.scroll.scrollTop = this.scroll.scrollHeight;
    byId("down").hidden = true;
  }

  // Keeps the end in view if it was, else says that there is more below.
  following(change, fresh) {
    const wasAtEnd = this.atEnd();
    change();
    if (wasAtEnd) this.toEnd();
    else if (fresh) byId("down").hidden = false;
  }

  drawTitle() {
    const place = this.model.places.get(this.model.current);
    const room = place?.thread ? `${this.model.title(place.room)} › ` : "";
    byId("title").replaceChildren(h("bdi", {}, `${room}${this.model.title(this.model.current)}`));
    const unread = [...this.model.unread.values()].reduce((sum, n) => sum + n, 0);
    document.title = `${unread ? `(${unread}) ` : ""}${this.model.title(this.model.current)} · relay`;
  }

  redraw(earlier = false) {
    const conversation = this.model.conversation();
    const fromEnd = this.scroll.scrollHeight - this.scroll.scrollTop;
    this.list.setAttribute("aria-live", "off"); // a whole conversation isn't read aloud, only what is new
    this.list.setAttribute("aria-busy", conversation ? "false" : "true");
    this.list.replaceChildren();
    let last = null;
    for (const message of conversation?.messages.values() ?? []) {
      this.append(message, last);
      last = message;
    }
    byId("earlier").hidden = !conversation?.more;
    byId("empty").hidden = !conversation || conversation.messages.size > 0;
    this.drawTitle();
    this.drawLive();
    if (earlier) this.scroll.scrollTop = this.scroll.scrollHeight - fromEnd;
    else this.toEnd();
    requestAnimationFrame(() => this.list.setAttribute("aria-live", "polite"));
  }

  append(message, before) {
    const today = day(message.sent_at);
    if (!before || day(before.sent_at) !== today) this.list.append(h("p", { class: "day" }, today));
    this.list.append(this.draw(message));
  }

  draw(message) {
    return drawMessage(message, this);
  }

  put(message, fresh) {
    const old = byId(`message-${message.id}`);
    this.following(() => {
      if (old) {
        const focused = old.contains(document.activeElement) && position(old, document.activeElement);
        const drawn = this.draw(message), reason = drawn.querySelector(".reason");
        if (reason) reason.value = old.querySelector(".reason")?.value ?? "";
        old.replaceWith(drawn);
        if (focused !== false) drawn.querySelectorAll("button, input")[focused]?.focus();
      } else {
        const messages = [...this.model.conversation().messages.values()];
        this.append(message, messages.at(-2));
        byId("empty").hidden = true;
      }
    }, fresh);
  }

  drawLive() {
    const view = this.model.live.get(this.model.current);
    const section = byId("live");
    if (!view) {
      section.hidden = true;
      section.replaceChildren();
      return;
    }
    // A live view comes with what the agent does; what waits behind it changes without that.
    const turn = this.model.facts.turns.find((one) => one.scope === `web:${this.model.current}`);
    const waiting = turn?.waiting ?? view.waiting;
    this.following(() => {
      section.hidden = false;
      section.replaceChildren(
        h("header", {},
          h("span", { class: "pulse", "aria-hidden": "true" }),
          h("bdi", { class: "doing" }, view.doing || "working"),
          h("span", { class: "faint elapsed", "data-since": view.started_at }, duration(Date.now() - view.started_at)),
          waiting > 0 && h("span", { class: "faint" }, `${waiting} waiting`),
        ),
        h("div", { class: "body" }, render(view.text)),
      );
    }, false);
  }

  tick() {
    for (const elapsed of document.querySelectorAll(".elapsed")) {
      elapsed.textContent = duration(Date.now() - Number(elapsed.dataset.since));
    }
    for (const due of document.querySelectorAll(".due")) {
      due.textContent = dueText(Number(due.dataset.due));
    }
  }
}

export function dueText(at) {
  const left = at - Date.now();
  return left > 0 ? `next in ${duration(left)}` : "due now";
}

function position(root, element) {
  return [...root.querySelectorAll("button, input")].indexOf(element);
}
