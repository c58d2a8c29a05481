// Shows one view at a time, and keeps it up to date.

import { Refusal, begin, listen, read } from "./api.js";
import { h, head, isBlank, plain, shown, when } from "./dom.js";
import { callView, historyView, runView, runsView } from "./history.js";
import { boardView, kitchenView } from "./kitchen.js";
import { agentsView, issuesView, serversView, verifyView } from "./machine.js";
import { items, waitingView } from "./review.js";
import { chartsView } from "./charts.js";

const VIEWS = [
  ["waiting", "Waiting", waitingView], ["history", "History", historyView], ["runs", "Runs", runsView],
  ["kitchen", "Kitchen", kitchenView], ["charts", "Charts", chartsView], ["agents", "Agents", agentsView],
  ["servers", "Servers", serversView], ["issues", "Issues", issuesView], ["verify", "Verification", verifyView],
];
const DETAILS = { calls: [callView, "history"], runs: [runView, "runs"], kitchen: [boardView, "kitchen"] };

const main = document.getElementById("main");
const dialog = document.getElementById("dialog");
const live = document.getElementById("live");
const current = { view: null, place: "", parameters: [], query: new URLSearchParams(), data: null, load: null };

// Places.

function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...parameters] = path.split("/").map(decodeURIComponent);
  const detail = DETAILS[name];
  const isDetail = detail && (parameters.length > 0 || name === "calls");
  const listed = VIEWS.find(([id]) => id === name) ?? VIEWS[0];
  return {
    view: isDetail ? detail[0] : listed[2],
    name: isDetail ? detail[1] : listed[0],
    parameters: isDetail || listed[0] === name ? parameters : [],
    query: new URLSearchParams(query),
  };
}

/** Goes to a place, and then to the element with a key. `first` is the first thing of a list. */
export function go(hash, key) {
  current.focus = key;
  if (location.hash === hash) return refresh();
  location.hash = hash;
}

/** Reads the view again. */
export function refresh() {
  return show({ isNew: false });
}

async function show({ isNew }) {
  const { view, name, parameters, query } = place();
  const isSame = current.view === view;
  Object.assign(current, { view, parameters, query });
  current.load?.abort();
  current.load = new AbortController();
  const { signal } = current.load;
  mark(name);
  if (!isSame) main.replaceChildren(head(view.title), h("p", { class: "note loading" }, "Reading …"));
  let data, nodes;
  try {
    data = await view.load(parameters, signal, query);
    nodes = view.draw(data, parameters, query);
  } catch (error) {
    if (signal.aborted) return;
    nodes = [head(view.title), problem(error)];
  }
  if (signal.aborted) return;
  current.data = data;
  if (view === waitingView && data) counted(data.waiting);
  title();
  draw(nodes, isNew && !isSame);
}

function problem(error) {
  const document = error instanceof Refusal ? error.document : {};
  return h("div", { class: "notice", "data-state": "bad", role: "alert" },
    h("p", { class: "notice-title" }, shown(error.message)),
    (document.hints ?? []).map((hint) => h("p", { class: "hint" }, shown(hint))));
}

// Drawing keeps the focus, what is open, and how far lists are scrolled.

function draw(nodes, isNewView) {
  const focused = current.focus ?? document.activeElement?.closest?.("[data-key]")?.dataset.key;
  const hadFocus = main.contains(document.activeElement) && document.activeElement !== main;
  const open = new Map([...main.querySelectorAll("details[data-key]")].map((each) => [each.dataset.key, each.open]));
  const scrolled = new Map([...main.querySelectorAll("[data-scroll]")].map((each) => [each.dataset.scroll, each.scrollTop]));
  const typed = new Map([...main.querySelectorAll("input[data-key], select[data-key]")].map((each) => [each.dataset.key, each.value]));
  main.replaceChildren(...nodes.filter(Boolean));
  for (const each of main.querySelectorAll("details[data-key]")) {
    if (open.has(each.dataset.key)) each.open = open.get(each.dataset.key);
  }
  for (const each of main.querySelectorAll("[data-scroll]")) each.scrollTop = scrolled.get(each.dataset.scroll) ?? 0;
  if (!isNewView) for (const each of main.querySelectorAll("input[data-key], select[data-key]")) {
    if (typed.has(each.dataset.key)) each.value = typed.get(each.dataset.key);
  }
  if (dialog.open) return;
  const first = () => main.querySelector(".item") ?? main.querySelector("h1");
  const target = focused === "first" ? first() : focused && main.querySelector(`[data-key="${CSS.escape(focused)}"]`);
  if (target && (current.focus || hadFocus)) target.focus({ preventScroll: false });
  else if (isNewView || hadFocus) main.querySelector("h1")?.focus();
  current.focus = undefined;
}

function mark(name) {
  for (const link of document.querySelectorAll("#views a")) {
    const isHere = link.dataset.view === name;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// Questions.

/** Asks before a decision. Returns whether it was made. `failed` may return what changed. */
export function ask({ title, body, field, yes, whole, act, failed }) {
  return new Promise((resolve) => {
    let isDone = false;
    const input = field && h("textarea", { id: "dialog-field", rows: "3", required: field.required, maxlength: "2000" });
    const trouble = h("div", { class: "trouble", role: "alert" });
    const ok = h("button", { type: "submit", class: "primary" }, yes);
    const more = h("p", { class: "note" }, "Scroll to the end first: what you do not see is not approved.");
    const scroll = h("div", { class: "dialog-body", tabindex: "0", role: "region", "aria-label": "Details" }, body);
    const form = h("form", { method: "dialog" },
      h("h2", { id: "dialog-title" }, shown(title)), scroll,
      field && h("p", { class: "field" }, h("label", { for: "dialog-field" }, field.label), input),
      whole && more, trouble,
      h("div", { class: "dialog-end" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), ok));
    const seen = () => {
      const isSeen = scroll.scrollTop + scroll.clientHeight >= scroll.scrollHeight - 2;
      if (isSeen && whole) [ok.disabled, more.hidden] = [false, true];
    };
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (ok.disabled) return;
      const text = input?.value.trim() ?? "";
      if (field?.required && isBlank(text)) {
        trouble.textContent = `${field.label}: a text is needed.`;
        input.focus();
        return;
      }
      ok.disabled = true;
      try {
        await act(text);
        isDone = true;
        dialog.close();
      } catch (error) {
        const detail = await failed?.(error);
        trouble.replaceChildren(...[detail ?? problem(error)].flat().filter(Boolean));
        trouble.tabIndex = -1;
        trouble.focus();
        // What changed has to be looked at again, so this question cannot be answered any more.
        if (detail) ok.hidden = true;
        else ok.disabled = false;
      }
    });
    dialog.addEventListener("close", () => resolve(isDone), { once: true });
    dialog.replaceChildren(form);
    dialog.showModal();
    if (whole) {
      ok.disabled = true;
      scroll.addEventListener("scroll", seen);
      seen();
    }
    (input ?? (ok.disabled ? scroll : ok)).focus();
  });
}

/** Says something to people who do not see the page. */
export function announce(text) {
  live.textContent = "";
  setTimeout(() => { live.textContent = plain(text); }, 50);
}

// Keys.

const single = { get isOn() { return localStorage.getItem("keys") !== "off"; } };

function showKeys() {
  const rows = [["j k or arrows", "the next or previous thing that waits"], ["a", "approve"], ["r", "reject"], ["h", "hold"],
    ["1 to 9", "a view"], ["?", "these keys"], ["Tab, Enter, Esc", "as everywhere"]];
  const toggle = h("input", { type: "checkbox", id: "single", checked: single.isOn,
    onchange: (event) => localStorage.setItem("keys", event.target.checked ? "on" : "off") });
  dialog.replaceChildren(h("form", { method: "dialog" }, h("h2", { id: "dialog-title" }, "Keys"),
    h("dl", { class: "facts" }, rows.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("p", { class: "check" }, toggle, h("label", { for: "single" }, "Single keys do something")),
    h("div", { class: "dialog-end" }, h("button", { class: "primary" }, "Close"))));
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || dialog.open) return;
  if (event.target.closest("input, select, textarea") || !single.isOn) return;
  if (event.key === "?") {
    event.preventDefault();
    return showKeys();
  }
  // Arrows scroll what has the focus, unless that is the list.
  if (event.key.startsWith("Arrow") && !event.target.closest(".list")) return;
  const key = current.view?.keys?.[event.key];
  if (key && current.data) {
    event.preventDefault();
    return key(current.data);
  }
  const view = /^[1-9]$/.test(event.key) && VIEWS[Number(event.key) - 1];
  if (view) go(`#/${view[0]}`);
});

// What waits, in the title, the navigation and notifications.

let waitingCount = 0;
let known;

function title() {
  document.title = `${waitingCount ? `(${waitingCount}) ` : ""}${plain(current.view.title)} · Brigade`;
}

/** Counts what waits. */
async function count() {
  counted(items(await read("/api/waiting")));
}

function counted(waiting) {
  waitingCount = waiting.length;
  title();
  const badge = document.getElementById("waiting-count");
  badge.textContent = waitingCount ? String(waitingCount) : "";
  const fresh = known ? waiting.filter((item) => !known.has(item.ids[0])) : [];
  known = new Set(waiting.map((item) => item.ids[0]));
  if (fresh.length === 0) return;
  const text = fresh.length === 1 ? `${fresh[0].subject} waits for you` : `${fresh.length} things wait for you`;
  announce(text);
  if (document.hidden && wantsNotes()) new Notification("Brigade", { body: plain(text), tag: "brigade" });
}

function wantsNotes() {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem("notify") === "on";
}

const notify = document.getElementById("notify");

function drawNotify() {
  notify.setAttribute("aria-pressed", String(wantsNotes()));
}

notify.addEventListener("click", async () => {
  if (wantsNotes()) localStorage.setItem("notify", "off");
  else if ("Notification" in window && (await Notification.requestPermission()) === "granted") localStorage.setItem("notify", "on");
  else announce("The browser does not allow notifications of this page.");
  drawNotify();
});

// A change is drawn at once. What changes meanwhile is drawn together afterwards.

const WAITING = ["hello", "call", "checkpoint", "decision"];
let changed = new Set();
let isDrawing = false;

async function told(kind) {
  changed.add(kind);
  if (isDrawing) return;
  isDrawing = true;
  try {
    while (changed.size > 0) {
      const kinds = changed;
      changed = new Set();
      await follow(kinds);
    }
  } finally {
    isDrawing = false;
  }
}

/** Draws what changed. */
async function follow(kinds) {
  const topics = current.view?.topics ?? [];
  const isShown = topics.some((topic) => kinds.has("hello") || kinds.has(topic));
  // The view of what waits counts it.
  const isCounted = current.view !== waitingView && WAITING.some((each) => kinds.has(each));
  await Promise.all([isShown && refresh(), isCounted && count().catch(() => {})]);
}

function linked(isLinked) {
  const link = document.getElementById("link");
  link.dataset.state = isLinked ? "good" : "bad";
  link.textContent = isLinked ? "live" : "no connection";
}

document.getElementById("views").append(...VIEWS.map(([id, title], index) => h("li", {},
  h("a", { href: `#/${id}`, "data-view": id, "aria-keyshortcuts": String(index + 1) }, title,
    id === "waiting" && h("span", { class: "badge", id: "waiting-count" })))));
document.getElementById("keys").addEventListener("click", showKeys);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  (main.querySelector("h1") ?? main).focus();
});
window.addEventListener("hashchange", () => show({ isNew: true }));
setInterval(() => {
  for (const each of main.querySelectorAll("time[datetime]")) each.textContent = when(each.getAttribute("datetime")).textContent;
}, 30000);

await begin();
drawNotify();
await show({ isNew: false });
if (current.view !== waitingView) await count().catch(() => {});
listen(told, linked);
