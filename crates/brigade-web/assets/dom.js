// Builds elements. All text goes through here: it becomes text nodes, never markup, and what is invisible is visible.

const SVG = "http://www.w3.org/2000/svg";

// Control characters, those that change the direction of text, and those that show nothing.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{13430}-\u{1343f}\u{1d159}\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

/** Attributes that are read aloud or shown. */
const READ = ["aria-label", "title", "placeholder", "alt"];

function code(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Returns a text for places without elements, such as titles, with invisible characters made visible. */
export function plain(text) {
  return String(text).replace(UNSEEN, (character) => `‹${code(character)}›`);
}

/** Returns whether nothing of a text is drawn. */
export function isBlank(text) {
  return text.replace(UNSEEN, "").trim() === "";
}

/** Returns the nodes of a text. */
function nodes(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(UNSEEN)) {
    parts.push(text.slice(end, match.index), h("span", { class: "unseen-character" }, code(match[0])));
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return parts.filter((part) => part !== "");
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : READ.includes(name) ? plain(value) : value);
  }
  // These elements have only text.
  const isText = element.namespaceURI === SVG || element.localName === "option" || element.localName === "title";
  const node = (child) => (child instanceof Node ? child : isText ? plain(child) : nodes(String(child)));
  element.append(...children.flat(3).filter((child) => child !== undefined && child !== null && child !== false).flatMap(node));
  return element;
}

/** Makes an element. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an element of a picture. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Writes a value as text: texts as they are, everything else as JSON. */
export function shown(value) {
  return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
}

/** Names who asked for a call. */
export function asker(caller) {
  return !caller || caller === "command-line" ? "you" : String(caller).replace(/^agent:/, "");
}

/** Writes an amount of money. */
export function dollars(value) {
  return `$${value.toFixed(value > 0 && value < 0.1 ? 4 : 2)}`;
}

/** Shows a time relative to now, with the whole time on hover. */
export function when(text) {
  if (!text) return "";
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return String(text);
  return h("time", { datetime: text, title: at.toLocaleString() }, ago(at));
}

function ago(at) {
  const seconds = Math.round((Date.now() - at.getTime()) / 1000);
  if (seconds < 5) return "now";
  const steps = [[60, "s"], [60, "min"], [24, "h"], [14, "d"]];
  let value = seconds;
  for (const [size, unit] of steps) {
    if (value < size) return `${value} ${unit} ago`;
    value = Math.round(value / size);
  }
  return at.toLocaleDateString();
}

/** Writes a number of things. */
export function amount(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** Writes a duration for people. */
export function duration(seconds) {
  if (seconds === undefined || seconds === null) return "";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

const TONES = {
  good: "completed complete resumed already_done absorbed running_ok pinned known ok".split(" "),
  bad: "failed timed_out blocked refused error missing vanished broken critical unreachable interrupted expired abandoned".split(" "),
  running: "running approved resuming started".split(" "),
  held: "held skipped stale changed".split(" "),
  waiting: "pending waiting high warning warn".split(" "),
};

/** Returns the state whose accent a word has. */
export function tone(word) {
  const found = Object.entries(TONES).find(([, words]) => words.includes(word));
  return found ? found[0] : "plain";
}

/** Shows a word with the accent of a state. */
export function chip(word, state = word) {
  return h("span", { class: "chip", "data-state": tone(state) }, shown(word));
}

/** Makes a table. A column is a heading, or a heading with `number`. */
export function table(caption, columns, rows, more = {}) {
  const heads = columns.map((column) => (typeof column === "string" ? { name: column } : column));
  const cell = (value, index) => h("td", { class: heads[index].number ? "number" : undefined }, value);
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption },
    h("table", more,
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, heads.map((head) =>
        h("th", { scope: "col", class: head.number ? "number" : undefined }, head.name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}

/** Shows that there is nothing, and how something comes here. */
export function empty(title, text, command) {
  return h("div", { class: "empty" },
    h("p", { class: "empty-title" }, title),
    h("p", {}, text),
    command && h("p", {}, h("code", {}, command)));
}

/** Makes a part of a page. */
export function section(title, ...children) {
  return h("section", {}, h("h2", {}, title), children);
}

/** Makes a part that is closed at first. Its state is kept by its key. */
export function fold(key, title, ...children) {
  return h("details", { "data-key": key }, h("summary", {}, title), h("div", { class: "fold" }, children));
}

/** Makes the head of a view. */
export function head(title, ...beside) {
  return h("div", { class: "head" }, h("h1", { tabindex: "-1" }, title), h("div", { class: "head-end" }, beside));
}
