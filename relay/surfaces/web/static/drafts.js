// What was written in a place and not sent. It is kept for this tab, so that the link of a relay that was started anew,
// opened in the same tab, finds it again.

const PREFIX = "relay-draft ";
const LONGEST = 300; // of a message that is only pointed at

export function keepDraft(place, { text, reply, edit, tried }) {
  try {
    if (!text && !reply && !edit) return sessionStorage.removeItem(PREFIX + place);
    sessionStorage.setItem(PREFIX + place, JSON.stringify({ text, reply: pointedAt(reply), edit: pointedAt(edit), tried }));
  } catch {
    sessionStorage.removeItem(PREFIX + place); // longer than a browser keeps: it stands in the box only
  }
}

export function keptDraft(place) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + place)) ?? {};
  } catch {
    return {};
  }
}

function pointedAt(message) {
  return message && { id: message.id, text: message.text.slice(0, LONGEST), person: { name: message.person.name } };
}
