// The files that a person has attached and not sent yet, by place: picked, dropped on the page, or pasted.

import { byId, h, size } from "./dom.js";
import { upload } from "./server.js";

export class Attachments {
  constructor(model, fail) {
    this.model = model;
    this.fail = fail;
    this.waiting = new Map(); // place → files; each is a File, with the id that the relay gave it once it has it
    const pick = byId("pick"), composer = byId("composer");
    byId("attach").addEventListener("click", () => pick.click());
    pick.addEventListener("change", () => {
      this.add([...pick.files]);
      pick.value = "";
    });
    byId("text").addEventListener("paste", (event) => {
      if (event.clipboardData.files.length && !event.clipboardData.getData("text/plain")) {
        event.preventDefault();
        this.add([...event.clipboardData.files]);
      }
    });
    // A file that is dropped beside the box would otherwise take the place of the page.
    for (const name of ["dragover", "drop"]) {
      document.addEventListener(name, (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        composer.classList.toggle("dropping", name === "dragover");
        if (name === "drop") this.add([...event.dataTransfer.files]);
      });
    }
    document.addEventListener("dragleave", () => composer.classList.remove("dropping"));
  }

  of(place) {
    return this.waiting.get(place) ?? [];
  }

  add(files) {
    const { current, mostFile, mostFiles } = this.model;
    const large = files.filter((file) => file.size > mostFile);
    const kept = [...this.of(current), ...files.filter((file) => file.size <= mostFile).map((file) => ({ file, id: null }))];
    const over = kept.length - mostFiles;
    this.waiting.set(current, kept.slice(0, mostFiles));
    this.fail(large.length ? `${large[0].name} has ${size(large[0].size)}; the page takes ${size(mostFile)}. Put it into the workspace and name it here.`
      : over > 0 ? `A message takes ${mostFiles} files; send the other ${over} after it.` : "");
    this.show();
    byId("text").focus();
  }

  remove(entry) {
    const { current } = this.model;
    this.waiting.set(current, this.of(current).filter((one) => one !== entry));
    this.show();
  }

  // Drops what was sent; what was attached meanwhile stays.
  sent(place, entries) {
    this.waiting.set(place, this.of(place).filter((one) => !entries.includes(one)));
    this.show();
  }

  show() {
    const entries = this.of(this.model.current);
    const list = byId("attached");
    list.hidden = !entries.length;
    list.replaceChildren(...entries.map((entry) => h("li", {},
      h("bdi", {}, entry.file.name), ` (${size(entry.file.size)}) `,
      h("button", { type: "button", class: "plain", "aria-label": `Don’t send ${entry.file.name}`, onclick: () => this.remove(entry) }, "✕"))));
  }

  // Brings those that the relay has not; their ids, in order. One after the other: the relay takes one at a time.
  async ids(entries) {
    for (const entry of entries) entry.id ??= (await upload(entry.file)).id;
    return entries.map((entry) => entry.id);
  }
}
