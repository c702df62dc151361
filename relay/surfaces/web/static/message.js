// Draws one message: who, when, text, files, card, reactions. What a click does is given in.

import { clock, h, moment, size } from "./dom.js";
import { render } from "./markdown.js";

const QUICK = [["🛑", "stop"], ["🔁", "run again"], ["✅", "yes"], ["❌", "no"]];
const FOLDED_CHARACTERS = 6_000;
const FOLDED_LINES = 40;

export function drawMessage(message, { model, actions, open }) {
  const { person } = message;
  return h("article", {
    class: `message ${message.ours ? "ours" : "person"}${message.ping.includes(model.me.id) ? " ping" : ""}${message.card ? " has-card" : ""}`,
    id: `message-${message.id}`,
    "data-id": message.id,
  },
    h("header", {},
      h("bdi", { class: "name" }, person.name),
      message.ours && h("span", { class: "tag" }, "agent"),
      h("time", { datetime: new Date(message.sent_at).toISOString(), title: moment(message.sent_at) }, clock(message.sent_at)),
      message.edited_at && !message.card && h("span", { class: "faint", title: moment(message.edited_at) }, "edited"),
      message.ours && h("button", { type: "button", class: "plain why", onclick: () => actions.why(message.id) }, "why"),
      more(),
      buttons(message, model, actions),
    ),
    reply(message, model),
    body(message, open),
    files(message, actions),
    card(message, actions),
    message.answer && h("p", { class: "refused answer", role: "alert", dir: "auto" }, message.answer),
    message.refused && h("p", { class: "refused", role: "alert" }, `The relay refused this: ${message.refused}`),
    reactions(message, model, actions),
  );
}

// On a touch screen nothing hovers: this shows what can be done with the message.
function more() {
  const button = h("button", { type: "button", class: "plain more", "aria-label": "React or reply", "aria-expanded": "false" }, "⋯");
  button.addEventListener("click", () => {
    const acting = button.closest("article").classList.toggle("acting");
    button.setAttribute("aria-expanded", String(acting));
  });
  return button;
}

function buttons(message, model, actions) {
  const bar = h("span", { class: "actions" });
  for (const [emoji, meaning] of QUICK) {
    bar.append(h("button", {
      type: "button", class: "plain", title: `React ${emoji} (${meaning})`, "aria-label": `React with ${meaning}`,
      onclick: () => actions.react(message, emoji),
    }, emoji));
  }
  bar.append(h("button", { type: "button", class: "plain", onclick: () => actions.reply(message) }, "reply"));
  if (!message.ours && message.person.id === model.me.id) {
    bar.append(h("button", { type: "button", class: "plain", onclick: () => actions.edit(message) }, "edit"));
    bar.append(h("button", { type: "button", class: "plain", onclick: () => actions.remove(message) }, "delete"));
  }
  return bar;
}

function reply(message, model) {
  if (!message.reply_to) return null;
  const first = model.conversation()?.messages.get(message.reply_to);
  const label = first ? `${first.person.name}: ${excerpt(first.text)}` : "an earlier message";
  return h("button", {
    type: "button", class: "plain reply", "aria-label": `In reply to ${label}`,
    onclick: () => {
      const target = document.getElementById(`message-${message.reply_to}`);
      target?.scrollIntoView({ block: "center" });
      target?.classList.add("pointed");
      setTimeout(() => target?.classList.remove("pointed"), 1500);
    },
  }, h("bdi", {}, `↩ ${label}`));
}

// The beginning of a text in one line, without marks.
export function excerpt(text) {
  return text.slice(0, 100).replace(/[`*]+/g, "").replace(/\s+/g, " ");
}

function body(message, open) {
  const { id, text, ours } = message;
  const holder = h("div", { class: "body" });
  const origins = ours ? /^(?:↳ [^\n]*(?:\n|$))*/.exec(text)[0] : "";
  for (const origin of origins.split("\n").filter(Boolean)) holder.append(h("div", { class: "origin", dir: "auto" }, origin));
  const rest = text.slice(origins.length);
  // A card is never folded: who decides must see all of it.
  const short = open.has(id) || message.card ? null : folded(rest);
  if (short === null) {
    holder.append(render(rest));
    return holder;
  }
  const unfold = () => {
    open.add(id);
    holder.replaceWith(body(message, open));
  };
  const all = `Show all of it (${size(new Blob([text]).size)})`;
  holder.append(render(short), h("button", { type: "button", class: "plain", onclick: unfold }, all));
  return holder;
}

// The beginning of a text too long to show whole, or null.
function folded(text) {
  let end = -1;
  for (let line = 0; line < FOLDED_LINES; line++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) break;
  }
  if (text.length <= FOLDED_CHARACTERS && end < 0) return null;
  return `${text.slice(0, Math.min(end < 0 ? FOLDED_CHARACTERS : end, FOLDED_CHARACTERS)).trimEnd()} …`;
}

function files(message, actions) {
  if (!message.files.length) return null;
  const list = h("ul", { class: "files" });
  for (const file of message.files) {
    const button = h("button", { type: "button", onclick: () => actions.download(file) }, "⬇ ", h("bdi", {}, file.name), ` (${size(file.size)})`);
    list.append(h("li", {}, button));
  }
  return list;
}

// A closed card has nothing to click; its text tells how it ended. Of a click nothing is shown until it counts.
function card(message, actions) {
  if (!message.card || !message.card_open) return null;
  const reason = h("input", { type: "text", class: "reason", maxlength: "2000", "aria-label": "Reason", placeholder: "Reason (optional)" });
  const row = h("div", { class: "row" });
  for (const choice of message.choices) {
    row.append(h("button", {
      type: "button", class: "choice",
      onclick: () => actions.choose(message, choice, reason.value, row),
    }, h("bdi", {}, choice.label)));
  }
  return h("div", { class: "card", role: "group", "aria-label": "Decision" }, row, reason);
}

function reactions(message, model, actions) {
  if (!message.reactions.length) return null;
  const row = h("div", { class: "reactions" });
  for (const { emoji, people } of message.reactions) {
    const mine = people.some((person) => person.id === model.me.id);
    const names = people.map((person) => person.name).join(", ");
    row.append(h("button", {
      type: "button", "aria-pressed": mine ? "true" : "false", title: names, "aria-label": `${emoji}, ${people.length}, from ${names}`,
      onclick: () => actions.react(message, emoji),
    }, `${emoji} ${people.length}`));
  }
  return row;
}
