// The dialog that tells why a message is there: the causal chain, as the relay recorded it.

import { byId, h, moment } from "./dom.js";
import { get } from "./server.js";

export async function showWhy(id) {
  const dialog = byId("why"), holder = byId("why-lines");
  holder.replaceChildren(h("p", { class: "faint" }, "Looking …"));
  if (!dialog.open) dialog.showModal();
  try {
    const { lines } = await get("/api/why", { id });
    holder.replaceChildren(lines.length ? h("ol", {}, ...lines.map(step)) : h("p", {}, "Nothing is recorded about this message."));
  } catch (error) {
    holder.replaceChildren(h("p", { class: "refused", role: "alert" }, error.told ?? String(error)));
  }
}

function step(line) {
  const item = h("li", {},
    h("header", {},
      h("code", {}, line.verb),
      h("bdi", { class: "faint" }, line.actor),
      h("time", { class: "faint", datetime: new Date(line.at).toISOString() }, moment(line.at)),
    ),
    line.text && h("p", { dir: "auto" }, line.text),
    h("span", { class: "faint id", title: line.id }, line.id.slice(0, 12)),
  );
  item.style.marginInlineStart = `${Math.min(line.depth, 12) * 0.9}rem`;
  return item;
}
