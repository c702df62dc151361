// The page's beginning: takes the key, keeps the stream open, and joins the parts together.

import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { byId } from "./dom.js";
import { Model } from "./model.js";
import { download, forgetToken, get, post, readEvents, takeToken } from "./server.js";
import { drawFacts, drawPlaces } from "./sidebars.js";
import { showWhy } from "./why.js";

const PAGE = 50;
const LONGEST_WAIT = 15_000;

const model = new Model();
const composer = new Composer(model);

// Does what a click asks; a refusal is told where the person writes.
async function attempt(step) {
  composer.fail("");
  try {
    return await step();
  } catch (error) {
    if (error.status === 401) lock("The page’s key is not valid any more: the relay was started anew.");
    composer.fail(error.told ?? String(error));
  }
}

const actions = {
  select(place) {
    closePanels();
    location.hash = new URLSearchParams({ place }).toString();
  },
  redrawPlaces: () => drawPlaces(model, actions),
  reply: (message) => composer.reply(message),
  edit: (message) => composer.edit(message),
  remove: (message) => attempt(async () => {
    if (confirm("Delete this message?")) await post("/api/delete", { place: message.place, message: message.id });
  }),
  why: (id) => showWhy(id),
  download: (file) => attempt(() => download(file)),
  react: (message, emoji) => attempt(() => {
    const mine = message.reactions.some((one) => one.emoji === emoji && one.people.some((who) => who.id === model.me.id));
    return post("/api/react", { place: message.place, message: message.id, emoji, set: !mine });
  }),
  async choose(message, choice, reason, row) {
    message.answer = "";
    row.closest("article").querySelector(".answer")?.remove();
    for (const button of row.children) button.disabled = true; // until the answer draws the card again
    await attempt(() => post("/api/choose", { place: message.place, message: message.id, card: message.card, value: choice.value, reason }));
    for (const button of row.children) button.disabled = false;
  },
  async newThread(room, title) {
    const { place } = await post("/api/thread", { room, title });
    model.addPlace(place);
    return place.place;
  },
  earlier: () => attempt(async () => {
    const { current } = model;
    const first = model.conversation()?.messages.values().next().value;
    if (first) await load(current, first.position);
  }),
};

const conversation = new Conversation(model, actions);
model.on("places", () => drawPlaces(model, actions));
model.on("live", () => drawPlaces(model, actions));
model.on("facts", () => drawFacts(model, actions));
model.on("selected", () => drawFacts(model, actions));

async function load(place, before) {
  const { messages } = await get("/api/messages", { place, before, limit: PAGE });
  model.takeMessages(place, messages, messages.length === PAGE, before);
}

const loads = new Map(); // place → the load that is on its way; a second one would put an older answer over what came since

function loadNewest(place) {
  if (!loads.has(place)) {
    model.arriving.set(place, []);
    const done = () => {
      loads.delete(place);
      model.arriving.delete(place);
    };
    loads.set(place, load(place).finally(done));
  }
  return loads.get(place);
}

function wanted() {
  const place = new URLSearchParams(location.hash.slice(1)).get("place");
  if (place && model.places.has(place)) return place;
  return model.places.has(model.current) ? model.current : model.places.keys().next().value ?? "";
}

async function show(place) {
  model.select(place);
  if (place && !model.conversation()) await loadNewest(place);
}

async function reload() {
  model.takeState(await get("/api/state"));
  const place = wanted();
  if (place === model.current) await loadNewest(place); // what is on the screen stays until the new is there
  else await show(place);
}

// -- the connection

let cutWait = () => {};

function connection(state, text) {
  const line = byId("connection");
  line.dataset.state = state;
  if (line.textContent !== text) line.textContent = text;
}

async function stayConnected() {
  let wait = 500;
  for (;;) {
    let reason = "The connection was lost.";
    try {
      await readEvents(async (line) => {
        if (line.kind === "hello" || line.kind === "reload") {
          await reload();
          wait = 500;
          connection("good", "connected");
        } else {
          model.takeLine(line);
        }
      });
    } catch (error) {
      if (error.status === 401) return lock("The page’s key is missing or not valid any more.");
      if (error.status) reason = error.told;
    }
    connection("lost", "reconnecting …");
    byId("connection").title = reason;
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait * (0.75 + Math.random() / 2));
      cutWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

function lock(reason) {
  forgetToken();
  byId("app").hidden = true;
  byId("locked-reason").textContent = reason;
  byId("locked").hidden = false;
}

// -- panels on a narrow screen

function openPanel(name) {
  closePanels();
  document.body.dataset.panel = name;
  byId("shade").hidden = false;
  byId(`open-${name}`).setAttribute("aria-expanded", "true");
  byId(name).querySelector("button").focus();
}

function closePanels() {
  const open = document.body.dataset.panel;
  if (!open) return;
  delete document.body.dataset.panel;
  byId("shade").hidden = true;
  byId(`open-${open}`).setAttribute("aria-expanded", "false");
  byId(`open-${open}`).focus();
}

for (const name of ["places", "facts"]) {
  byId(`open-${name}`).addEventListener("click", () => openPanel(name));
  byId(name).querySelector(".close").addEventListener("click", closePanels);
}
byId("shade").addEventListener("click", closePanels);
byId("why").querySelector(".close").addEventListener("click", () => byId("why").close());
addEventListener("keydown", (event) => event.key === "Escape" && closePanels());
addEventListener("online", () => cutWait());
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    takeToken();
    location.reload(); // the link of a relay that was started anew, opened in the same tab
  } else if (wanted() !== model.current) {
    attempt(() => show(wanted()));
  }
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  model.seen();
  cutWait();
});

if (takeToken()) {
  byId("app").hidden = false;
  connection("lost", "connecting …");
  stayConnected();
} else {
  lock("This page needs its key.");
}
