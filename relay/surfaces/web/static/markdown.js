// A small, safe markdown: fences, inline code, bold, web links. Everything else stays the text that it is.
// Each scan is bounded to its line, so that no text takes more than linear time.

import { h } from "./dom.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/;
const LINK = /\[([^\]\n]{1,300})\]\((https?:\/\/[^\s()<>"]{1,2000})\)/y;
const ADDRESS = /https?:\/\/[^\s<>"'`]{1,2000}/y;
const TRAILING = ".,;:!?)]}»”’";
const MARKED = /[`[]|\*\*|https?:/; // a line without any of these is plain
const ADDRESS_LIKE = /:\/\/|[\p{L}\p{N}]\.\p{L}{2,}/u;
// Marks of direction and characters without a shape: in code they would hide what it does. Emoji are joined by U+200D.
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029\u115f\u1160\u3164\uffa0]/u;
const UNSEEN_PARTS = /([\p{Cc}\p{Cf}\u2028\u2029\u115f\u1160\u3164\uffa0])/u;
const JOINS = /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?$/u;

export function render(text) {
  const fragment = document.createDocumentFragment();
  const lines = text.split("\n");
  let plain = [];
  const flush = () => {
    const first = plain.findIndex((line) => line.trim());
    if (first >= 0) fragment.append(paragraph(plain.slice(first, plain.findLastIndex((line) => line.trim()) + 1)));
    plain = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const opened = FENCE.exec(lines[i]);
    if (!opened || (opened[1][0] === "`" && opened[2].includes("`"))) {
      plain.push(lines[i]);
      continue;
    }
    flush();
    const marker = opened[1], code = [];
    for (i++; i < lines.length && !closes(lines[i], marker); i++) code.push(lines[i]);
    fragment.append(fence(opened[2].trim().split(/\s+/)[0].toLowerCase(), code));
  }
  flush();
  return fragment;
}

function closes(line, marker) {
  const bare = line.trim();
  return bare.length >= marker.length && line.length - line.trimStart().length < 4 && /^(`+|~+)$/.test(bare) && bare[0] === marker[0];
}

function fence(language, lines) {
  const code = h("code");
  if (language === "diff" || language === "patch") {
    let body = false; // before the first @@, --- and +++ are the names of the files
    for (const line of lines) {
      const kind = diffKind(line, body);
      if (kind === "hunk") body = true;
      else if (kind === "head") body = false;
      code.append(h("span", { class: `line ${kind}` }, ...shown(line || " ")));
    }
  } else {
    code.append(...shown(lines.join("\n")));
  }
  // Scrollable sideways, so it must be reachable by keyboard.
  return h("pre", { tabindex: "0", "aria-label": language ? `${language} code` : "code" }, code);
}

function diffKind(line, body) {
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("diff ") || line.startsWith("index ")) return "head";
  if (!body && (line.startsWith("--- ") || line.startsWith("+++ "))) return "head";
  if (line.startsWith("+")) return "add";
  return line.startsWith("-") ? "del" : "same";
}

function paragraph(lines) {
  const block = h("div", { class: "text", dir: "auto" });
  let plain = [];
  lines.forEach((line, index) => {
    const end = index + 1 < lines.length ? "\n" : "";
    if (!MARKED.test(line)) {
      plain.push(line + end);
      return;
    }
    block.append(plain.join(""));
    plain = [end];
    inline(block, line);
  });
  block.append(plain.join(""));
  return block;
}

function inline(into, line) {
  let from = 0, at = 0;
  const put = (end, element, next) => {
    if (end > from) into.append(line.slice(from, end));
    into.append(element);
    from = at = next;
  };
  let noBold = false;
  const noCode = new Set(); // lengths of backtick runs that nothing closes in this line
  while (at < line.length) {
    const c = line[at];
    if (c === "`") {
      let run = 1;
      while (line[at + run] === "`") run++;
      const end = noCode.has(run) ? -1 : closing(line, at + run, run);
      if (end < 0) noCode.add(run);
      else {
        const inner = line.slice(at + run, end);
        put(at, h("code", {}, ...shown(unpadded(inner))), end + run);
        continue;
      }
      at += run;
    } else if (c === "*" && line[at + 1] === "*" && !noBold) {
      const end = line.indexOf("**", at + 2);
      if (end < 0) noBold = true;
      if (end > at + 2 && line[at + 2] !== " ") {
        const strong = h("strong");
        inline(strong, line.slice(at + 2, end));
        put(at, strong, end + 2);
        continue;
      }
      at += 2;
    } else if (c === "[") {
      LINK.lastIndex = at;
      const found = LINK.exec(line);
      if (found) put(at, link(found[2], found[1]), LINK.lastIndex);
      else at++;
    } else if (c === "h" && (at === 0 || !/[\p{L}\p{N}]/u.test(line[at - 1]))) {
      ADDRESS.lastIndex = at;
      const found = ADDRESS.exec(line);
      const address = found && trimmed(found[0]);
      if (address && address.length > 8) put(at, link(address, address), at + address.length);
      else at++;
    } else {
      at++;
    }
  }
  if (from < line.length) into.append(line.slice(from));
}

// Code as it is, with a sign for each character that nothing would show.
function shown(code) {
  if (!UNSEEN.test(code)) return [code];
  return code.split(UNSEEN_PARTS).map((part, index, parts) => {
    if (index % 2 === 0 || part === "\n" || part === "\t") return part;
    if (part === "\u200d" && JOINS.test(parts[index - 1])) return part;
    const name = `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    return h("span", { class: "unseen", title: "a character that can’t be seen" }, name);
  });
}

// One space on each side lets code begin or end with a backtick.
function unpadded(code) {
  return code.startsWith(" ") && code.endsWith(" ") && code.trim() ? code.slice(1, -1) : code;
}

// An address without the punctuation that ends the sentence around it.
function trimmed(address) {
  let end = address.length;
  while (end && TRAILING.includes(address[end - 1])) end--;
  return address.slice(0, end);
}

// Where a run of exactly that many backticks begins, or -1.
function closing(line, from, run) {
  for (let at = line.indexOf("`", from); at >= 0; ) {
    let length = 1;
    while (line[at + length] === "`") length++;
    if (length === run) return at;
    at = line.indexOf("`", at + length);
  }
  return -1;
}

function link(address, label) {
  let target;
  try {
    target = new URL(address);
  } catch {
    return document.createTextNode(label);
  }
  if (target.protocol !== "http:" && target.protocol !== "https:") return document.createTextNode(label);
  if (target.username || target.password) return document.createTextNode(label); // https://bank.example@elsewhere.example
  const anchor = h("a", { href: target.href, target: "_blank", rel: "noopener noreferrer nofollow", title: target.href }, h("bdi", {}, label));
  if (label === address || !ADDRESS_LIKE.test(label)) return anchor;
  return h("span", {}, anchor, ` (${target.host})`); // a label that looks like an address may name another one
}
