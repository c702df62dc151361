// What the page knows: places, messages, live views, facts. It draws nothing; whoever draws is told what changed.

export class Model extends EventTarget {
  constructor() {
    super();
    this.me = { id: "owner", name: "you" };
    this.places = new Map(); // place → {place, room, thread, title}
    this.conversations = new Map(); // place → {messages: Map(id → message, in order), more}
    this.arriving = new Map(); // place → what came while it was being loaded: the answer may be older than that
    this.unread = new Map(); // place → how many came unseen
    this.live = new Map(); // place → view
    this.facts = { watches: [], turns: [], trouble: [] };
    this.trouble = "";
    this.mostText = 1_000_000;
    this.mostFile = 25_000_000;
    this.mostFiles = 10;
    this.current = "";
  }

  changed(what, detail) {
    this.dispatchEvent(new CustomEvent(what, { detail }));
  }

  on(what, handler) {
    this.addEventListener(what, (event) => handler(event.detail));
  }

  takeState(state) {
    this.me = state.me;
    this.mostText = state.most_text;
    this.mostFile = state.most_file ?? this.mostFile;
    this.mostFiles = state.most_files ?? this.mostFiles;
    this.places = new Map(state.places.map((place) => [place.place, place]));
    this.live = new Map(Object.entries(state.live));
    this.facts = state.facts;
    this.trouble = state.trouble;
    this.conversations.clear(); // what is shown is read again; the rest when it is opened
    for (const what of ["places", "facts", "live"]) this.changed(what);
  }

  addPlace(place) {
    this.places.set(place.place, place);
    this.changed("places");
  }

  select(place) {
    this.current = place;
    this.unread.delete(place);
    this.changed("places");
    this.changed("selected");
  }

  conversation() {
    return this.conversations.get(this.current);
  }

  // A fresh page of a conversation: the newest, or what comes before what is known.
  takeMessages(place, messages, more, before) {
    const known = before ? [...(this.conversations.get(place)?.messages.values() ?? [])] : this.arriving.get(place) ?? [];
    const all = new Map([...messages, ...known].map((message) => [message.id, message]));
    this.conversations.set(place, { messages: all, more });
    this.changed("conversation", { place, earlier: Boolean(before) });
  }

  addMessage(message) {
    const conversation = this.conversations.get(message.place);
    if (!conversation) this.arriving.get(message.place)?.push(message);
    const fresh = !conversation?.messages.has(message.id);
    if (conversation) {
      const late = [...conversation.messages.values()].at(-1)?.position > message.position;
      conversation.messages.set(message.id, message);
      if (fresh && late) {
        const all = [...conversation.messages.values()].sort((a, b) => a.position - b.position);
        this.takeMessages(message.place, all, conversation.more);
      } else if (message.place === this.current) {
        this.changed("message", { message, fresh });
      }
    }
    if (fresh && message.ours && (message.place !== this.current || document.hidden)) {
      this.unread.set(message.place, (this.unread.get(message.place) ?? 0) + 1);
      this.changed("places");
    }
  }

  // Takes a change of a message that may not be loaded.
  changeMessage(place, id, change) {
    const message = this.conversations.get(place)?.messages.get(id);
    if (!message) return;
    Object.assign(message, change);
    if (place === this.current) this.changed("message", { message, fresh: false });
  }

  // What a click was answered is over when its card is decided.
  overtaken({ place, id, card_open }) {
    return this.conversations.get(place)?.messages.get(id)?.card_open && !card_open ? { answer: "" } : {};
  }

  removeMessage(place, id) {
    if (this.conversations.get(place)?.messages.delete(id) && place === this.current) this.changed("removed", { id });
  }

  takeLine(line) {
    switch (line.kind) {
      case "message":
        return this.addMessage(line.message);
      case "edited":
        return this.changeMessage(line.message.place, line.message.id, { ...line.message, ...this.overtaken(line.message) });
      case "deleted":
        return this.removeMessage(line.place, line.message);
      case "reaction":
        return this.changeMessage(line.place, line.message, { reactions: line.reactions });
      case "refused":
        return this.changeMessage(line.place, line.message, { refused: `${line.error} ${line.advice}`.trim() });
      case "answered": // a click that did not count: told to who clicked
        return line.person === this.me.id && this.changeMessage(line.place, line.message, { answer: line.text });
      case "thread":
        return this.addPlace(line.place);
      case "live":
        if (line.view) this.live.set(line.place, line.view);
        else this.live.delete(line.place);
        return this.changed("live");
      case "facts":
        this.facts = line;
        return this.changed("facts");
      case "trouble":
        this.trouble = line.text;
        return this.changed("facts");
    }
  }

  seen() {
    if (this.unread.delete(this.current)) this.changed("places");
  }

  title(place) {
    const known = this.places.get(place);
    return known ? known.title : place;
  }
}
