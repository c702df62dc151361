// Talks with the relay's server: the key, requests, and the stream of changes. Knows nothing of what is shown.

const KEY = "relay-token";
const QUIET = 40_000; // ms without a sign of life, after which a stream counts as dead (a heartbeat comes every 15 s)

// The key comes in the link's fragment, is kept for this tab, and leaves the address bar.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY);
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
}

export class Refusal extends Error {
  constructor(status, error, advice) {
    super(error);
    this.status = status;
    this.advice = advice || "";
  }

  get told() {
    const sentence = this.message.charAt(0).toUpperCase() + this.message.slice(1);
    return this.advice ? `${sentence} ${this.advice}` : sentence;
  }
}

async function ask(path, options = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY) || ""}` };
  if (options.body) headers["Content-Type"] = options.type ?? "application/json";
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "the relay can't be reached.", "Is it still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new Refusal(response.status, body.error || `the relay answered ${response.status}.`, body.advice);
}

const bounded = () => AbortSignal.timeout(30_000);

export async function get(path, query = {}) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined));
  return (await ask(`${path}?${asked}`, { signal: bounded() })).json();
}

export async function post(path, body) {
  return (await ask(path, { method: "POST", body: JSON.stringify(body), signal: bounded() })).json();
}

// Brings a file to the relay, which keeps it until a message is sent with its id.
export async function upload(file) {
  const asked = new URLSearchParams({ name: file.name.toWellFormed?.() ?? file.name });
  const signal = AbortSignal.timeout(150_000);
  return (await ask(`/api/upload?${asked}`, { method: "POST", body: file, type: "application/octet-stream", signal })).json();
}

export async function download(file) {
  const asked = new URLSearchParams({ digest: file.digest, name: file.name });
  const address = URL.createObjectURL(await (await ask(`/api/blob?${asked}`, { signal: bounded() })).blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// Reads the stream until it ends or falls silent. `handle` is awaited for each line, so lines keep their order.
export async function readEvents(handle) {
  const abort = new AbortController();
  let watchdog;
  const alive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => abort.abort(), QUIET);
  };
  alive();
  try {
    const response = await ask("/api/events", { signal: abort.signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let parts = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      alive();
      const pieces = value.split("\n");
      for (let i = 0; i < pieces.length - 1; i++) {
        const line = parts.join("") + pieces[i];
        parts = [];
        if (line) await handle(JSON.parse(line));
      }
      if (pieces.at(-1)) parts.push(pieces.at(-1));
    }
  } finally {
    clearTimeout(watchdog);
    abort.abort();
  }
}
