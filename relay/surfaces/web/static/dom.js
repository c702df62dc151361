// Builds elements. Text goes in as text and nothing else: no string ever becomes markup.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function moment(ms) {
  return new Date(ms).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
}

export function day(ms) {
  return new Date(ms).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}

// A length of time for people: 0:07, 12:30, 2:05:00, 3 d 4 h.
export function duration(ms) {
  const all = Math.max(0, Math.round(ms / 1000));
  const days = Math.floor(all / 86400), hours = Math.floor((all % 86400) / 3600);
  const minutes = Math.floor((all % 3600) / 60), seconds = String(all % 60).padStart(2, "0");
  if (days) return `${days} d ${hours} h`;
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
}

export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
