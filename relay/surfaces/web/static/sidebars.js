// Draws the rooms and threads on the left, and the watches, running turns and troubles on the right.

import { byId, clock, duration, h, moment } from "./dom.js";
import { dueText } from "./conversation.js";

export function drawPlaces(model, actions) {
  const holder = byId("place-list");
  const focused = holder.contains(document.activeElement) ? document.activeElement.dataset.place : undefined;
  const typing = holder.querySelector(".new-thread");
  if (typing?.contains(document.activeElement)) return; // drawn again when the title is done
  const all = [...model.places.values()];
  const groups = all.filter((place) => !place.thread).map((room) => {
    const threads = all.filter((place) => place.thread && place.room === room.place).reverse();
    const list = h("ul", {}, h("li", {}, entry(room, model, actions)));
    for (const thread of threads) list.append(h("li", { class: "thread" }, entry(thread, model, actions)));
    const kept = typing?.dataset.room === room.place ? typing : null;
    return h("section", {}, list, kept ?? starter(room, actions));
  });
  holder.replaceChildren(...groups);
  if (focused) [...holder.querySelectorAll("[data-place]")].find((button) => button.dataset.place === focused)?.focus();
}

function entry(place, model, actions) {
  const unread = model.unread.get(place.place) ?? 0;
  const working = model.live.has(place.place);
  return h("button", {
    type: "button", class: "place plain", "data-place": place.place, title: place.title,
    "aria-current": place.place === model.current ? "page" : null,
    onclick: () => actions.select(place.place),
  },
    h("span", { class: "sign", "aria-hidden": "true" }, place.thread ? "↳" : "#"),
    h("bdi", { class: "label" }, place.title),
    working && h("span", { class: "pulse", title: "a turn is running" }),
    unread > 0 && h("span", { class: "unread", "aria-label": `${unread} unread` }, String(unread)),
  );
}

function starter(room, actions) {
  const button = h("button", { type: "button", class: "plain start-thread", "aria-label": `New thread in ${room.title}` }, "+ New thread");
  button.addEventListener("click", () => {
    const input = h("input", { type: "text", maxlength: "100", "aria-label": "Title of the new thread", placeholder: "Title" });
    const problem = h("p", { class: "refused", role: "alert", hidden: true });
    const box = h("div", { class: "new-thread", "data-room": room.place }, input, problem);
    const done = () => {
      box.replaceWith(starter(room, actions));
      actions.redrawPlaces(); // what changed while the title was typed
    };
    input.addEventListener("keydown", async (event) => {
      if (event.key === "Escape") done();
      if (event.key !== "Enter" || event.isComposing || input.disabled) return;
      input.disabled = true;
      try {
        const place = await actions.newThread(room.place, input.value);
        done();
        actions.select(place);
      } catch (error) {
        input.disabled = false;
        problem.hidden = false;
        problem.textContent = error.told ?? String(error);
        input.focus();
      }
    });
    input.addEventListener("blur", () => {
      if (!input.value && !input.disabled) done();
    });
    button.replaceWith(box);
    input.focus();
  });
  return button;
}

export function drawFacts(model, actions) {
  const { watches, turns } = model.facts;
  const here = `web:${model.current}`;
  const sorted = [...watches].sort((a, b) => (b.scope === here) - (a.scope === here));
  byId("watch-list").replaceChildren(...(sorted.length ? sorted.map((watch) => drawWatch(watch, model, actions)) : [
    h("p", { class: "faint" }, "No watch is armed. Type ", h("code", {}, "!watch notes --file notes.md"), " or ", h("code", {}, '!watch --in 2h "stretch"'), "."),
  ]));
  byId("turn-list").replaceChildren(...(turns.length ? turns.map((turn) => drawTurn(turn, model, actions)) : [
    h("p", { class: "faint" }, "Nothing runs."),
  ]));
  drawTrouble([...model.facts.trouble, ...(model.trouble ? [model.trouble] : [])]);
}

function scopeButton(scope, model, actions) {
  const place = scope.startsWith("web:") ? scope.slice(4) : "";
  const known = model.places.get(place);
  if (!known) return h("bdi", { class: "scope" }, scope);
  const label = known.thread ? `${model.title(known.room)} › ${known.title}` : known.title;
  return h("button", { type: "button", class: "plain scope", onclick: () => actions.select(place) }, h("bdi", {}, label));
}

function drawWatch(watch, model, actions) {
  return h("article", { class: "fact" },
    h("header", {}, h("bdi", { class: "name" }, watch.name), h("span", { class: `chip ${watch.state === "watching" ? "good" : ""}` }, watch.state)),
    h("p", { class: "what", dir: "auto" }, watch.what),
    h("p", { class: "faint" },
      watch.fires === 0 ? "not fired yet" : watch.fires === 1 ? "fired once" : `fired ${watch.fires} times`,
      watch.due !== null && h("span", {}, " · ", h("span", { class: "due", "data-due": watch.due, title: moment(watch.due) }, dueText(watch.due)), `, at ${soon(watch.due)}`),
    ),
    watch.last && h("p", { class: "last faint", dir: "auto" }, watch.last),
    scopeButton(watch.scope, model, actions),
  );
}

// The time of day; with its date unless it is within a day.
function soon(ms) {
  return ms - Date.now() < 86_400_000 ? clock(ms) : moment(ms);
}

function drawTurn(turn, model, actions) {
  return h("article", { class: "fact" },
    h("header", {}, h("span", { class: "pulse", "aria-hidden": "true" }), h("bdi", { class: "doing" }, turn.doing || turn.state),
      h("span", { class: "faint elapsed", "data-since": turn.started_at, title: `since ${clock(turn.started_at)}` }, duration(Date.now() - turn.started_at))),
    turn.waiting > 0 && h("p", { class: "faint" }, `${turn.waiting} waiting`),
    scopeButton(turn.scope, model, actions),
  );
}

function drawTrouble(sentences) {
  const banner = byId("trouble");
  const told = sentences.join("\n");
  if (banner.dataset.told === told) return; // drawn again it would be read aloud again
  banner.dataset.told = told;
  banner.hidden = !sentences.length;
  banner.replaceChildren(...sentences.map((sentence) => h("p", { dir: "auto" }, sentence)));
}
