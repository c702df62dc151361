// The box where a person writes. A text leaves it only when the relay has it; until then it stays, with the reason.

import { Attachments } from "./attachments.js";
import { byId, h } from "./dom.js";
import { keepDraft, keptDraft } from "./drafts.js";
import { excerpt } from "./message.js";
import { post } from "./server.js";

export class Composer {
  constructor(model) {
    this.model = model;
    this.drafts = new Map(); // place → what was written there and not sent
    this.replies = new Map(); // place → the message that is answered
    this.edits = new Map(); // place → the message that is written anew
    this.restored = new Set(); // places whose kept draft was looked for
    this.sending = new Set(); // places with a message on its way
    this.tried = new Map(); // place → {key, nonce}: sent again after a lost answer, it is the same message
    this.attachments = new Attachments(model, (reason) => this.fail(reason));
    this.text = byId("text");
    this.text.addEventListener("input", () => {
      this.drafts.set(model.current, this.text.value);
      this.keep(model.current);
      this.grow();
    });
    this.text.addEventListener("keydown", (event) => this.key(event));
    byId("send").addEventListener("click", () => this.send());
    for (const button of document.querySelectorAll(".try")) button.addEventListener("click", () => this.put(button.textContent));
    model.on("selected", () => this.show());
    model.on("places", () => this.showName());
  }

  key(event) {
    if (event.key === "Escape" && this.edits.has(this.model.current)) this.edit(null);
    else if (event.key === "Escape" && this.replies.has(this.model.current)) this.reply(null);
    // On a touch screen Enter is the only way to a new line, and Send is at hand.
    const touch = matchMedia("(pointer: coarse)").matches;
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || touch) return;
    event.preventDefault();
    this.send();
  }

  // Puts a text into the box, for the person to send.
  put(text) {
    this.text.value = text;
    this.drafts.set(this.model.current, text);
    this.keep(this.model.current);
    this.grow();
    this.text.focus();
  }

  keep(place) {
    const { attached, ...tried } = this.tried.get(place) ?? {};
    keepDraft(place, {
      text: this.drafts.get(place) ?? "",
      reply: this.replies.get(place),
      edit: this.edits.get(place),
      tried: tried.nonce && !attached?.length ? tried : undefined,
    });
  }

  // What this tab kept of an earlier page, once a place.
  restore(place) {
    if (!place || this.restored.has(place)) return;
    this.restored.add(place);
    const { text, reply, edit, tried } = keptDraft(place);
    if (text) this.drafts.set(place, text);
    if (reply) this.replies.set(place, reply);
    if (edit) this.edits.set(place, edit);
    if (tried) this.tried.set(place, { ...tried, attached: [] });
  }

  grow() {
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight + 2, innerHeight * 0.4)}px`;
  }

  show() {
    this.restore(this.model.current);
    this.text.value = this.drafts.get(this.model.current) ?? "";
    this.showName();
    this.grow();
    this.fail("");
    this.showReply();
    this.showSending();
    this.attachments.show();
  }

  showName() {
    this.text.placeholder = `Message ${this.model.title(this.model.current)}`;
  }

  showSending() {
    byId("send").disabled = this.sending.has(this.model.current);
  }

  // Writes a message anew in the box; null leaves it as it is.
  edit(message) {
    const place = this.model.current;
    this.replies.delete(place);
    if (message) this.edits.set(place, message);
    else this.edits.delete(place);
    this.put(message ? message.text : "");
    this.showReply();
  }

  reply(message) {
    this.edits.delete(this.model.current);
    if (message) this.replies.set(this.model.current, message);
    else this.replies.delete(this.model.current);
    this.keep(this.model.current);
    this.showReply();
    this.text.focus();
  }

  showReply() {
    const edited = this.edits.get(this.model.current);
    const message = this.replies.get(this.model.current);
    const line = byId("replying");
    line.hidden = !message && !edited;
    line.replaceChildren(...(edited ? [
      h("bdi", {}, `✏️ Editing: ${excerpt(edited.text)}`),
      h("button", { type: "button", class: "plain", "aria-label": "Don’t edit this", onclick: () => this.edit(null) }, "✕"),
    ] : message ? [
      h("bdi", {}, `↩ ${message.person.name}: ${excerpt(message.text)}`),
      h("button", { type: "button", class: "plain", "aria-label": "Don’t reply to this", onclick: () => this.reply(null) }, "✕"),
    ] : []));
  }

  fail(reason) {
    const line = byId("failure");
    line.hidden = !reason;
    line.textContent = reason;
  }

  async send() {
    const place = this.model.current, typed = this.text.value;
    const text = typed.toWellFormed?.() ?? typed; // half a character isn't valid JSON
    const edited = this.edits.get(place), attached = edited ? [] : this.attachments.of(place);
    if ((!text.trim() && !attached.length) || this.sending.has(place)) return;
    const bytes = new Blob([text]).size;
    if (bytes > this.model.mostText) {
      const most = this.model.mostText.toLocaleString();
      this.fail(`This is ${bytes.toLocaleString()} bytes; the page takes ${most}. Put it into a file in the workspace and name the file here.`);
      return;
    }
    const reply_to = this.replies.get(place)?.id ?? null;
    const key = `${reply_to} ${text}`, before = this.tried.get(place);
    const same = before?.key === key && before.attached.length === attached.length && before.attached.every((one, i) => one === attached[i]);
    if (!same) this.tried.set(place, { key, attached, nonce: crypto.randomUUID() });
    this.keep(place);
    this.sending.add(place);
    this.showSending();
    this.fail("");
    try {
      if (edited) await post("/api/edit", { place, message: edited.id, text });
      else {
        const { nonce } = this.tried.get(place), files = await this.attachments.ids(attached);
        await post("/api/post", { place, text, reply_to, files, nonce });
        this.attachments.sent(place, attached);
      }
      this.sent(place, typed);
    } catch (error) {
      if (error.status === 404) for (const entry of attached) entry.id = null; // the relay has forgotten them: bring them again
      if (place === this.model.current) this.fail(`Not sent. ${error.told ?? error} Your text is still here.`);
    } finally {
      this.sending.delete(place);
      this.showSending();
    }
  }

  sent(place, text) {
    this.tried.delete(place);
    this.replies.delete(place);
    this.edits.delete(place);
    const here = place === this.model.current;
    const now = here ? this.text.value : this.drafts.get(place) ?? "";
    if (now === text) this.drafts.delete(place); // else it was written on meanwhile
    this.keep(place);
    if (!here) return;
    if (now === text) this.text.value = "";
    this.grow();
    this.showReply();
  }
}
