// What waits, and one thing in full, with the decisions about it.

import { Refusal, at, may, read, send } from "./api.js";
import { asker, chip, duration, empty, fold, h, head, section, shown, table, when } from "./dom.js";
import { announce, ask, go, refresh } from "./app.js";

const CALL = "call";
const LOOKS_ONLY = "You may look here and not decide: the page is served with --no-review, or your role in the team does not allow it.";
const RISKS = ["critical", "high", "medium", "low"];

function pathOf(kind) {
  if (kind === CALL) return "/api/calls";
  return kind === "checkpoint" ? "/api/checkpoints" : "/api/decisions";
}

/** Returns everything that waits in one list: riskiest first, then oldest. */
export function items(waiting) {
  const all = [...waiting.calls, ...waiting.checkpoints, ...waiting.decisions, ...waiting.questions];
  const rank = (item) => RISKS.indexOf(item.risk);
  return all.sort((left, right) =>
    rank(left) - rank(right) || String(left.created_at).localeCompare(String(right.created_at)));
}

/** Reads one thing, or why it cannot be shown. */
async function one(id, signal) {
  const kind = id.startsWith("call-") ? CALL : "decision";
  try {
    return { kind, thing: await read(at(pathOf(kind), id), signal) };
  } catch (error) {
    if (error instanceof Refusal) return { kind, error };
    throw error;
  }
}

/** What was shown last, which is most often shown again. */
let last;

export const waitingView = {
  title: "Waiting",
  topics: ["call", "checkpoint", "decision"],
  async load([id], signal) {
    const likely = id ?? last;
    const [found, shownAgain] = await Promise.all([read("/api/waiting", signal), likely && one(likely, signal)]);
    const waiting = items(found);
    last = id ?? waiting[0]?.ids[0];
    if (!last) return { waiting };
    return { waiting, chosen: last, ...(last === likely ? shownAgain : await one(last, signal)) };
  },
  draw(data) {
    const count = data.waiting.length;
    const name = h("span", { class: "count" }, String(count));
    if (count === 0 && !data.thing) {
      return [head("Waiting", name), empty("Nothing waits for you",
        "When an agent asks for a call that no rule approves, it appears here at once. Ask for one yourself:",
        "brigade tools call queue TOOL --args '{\"NAME\": \"VALUE\"}'")];
    }
    return [head("Waiting", name), h("div", { class: "panes" }, list(data), detail(data))];
  },
  keys: {
    j: (data) => step(data, 1), ArrowDown: (data) => step(data, 1),
    k: (data) => step(data, -1), ArrowUp: (data) => step(data, -1),
    a: () => press("approve"), r: () => press("reject"), h: () => press("hold"),
  },
};

function press(action) {
  const button = document.querySelector(`[data-action="${action}"]`);
  if (button && !button.disabled) button.click();
}

function step(data, by) {
  const place = data.waiting.findIndex((item) => item.ids[0] === data.chosen);
  const next = data.waiting[Math.min(Math.max(place + by, 0), data.waiting.length - 1)];
  if (next) go(`#/waiting/${encodeURIComponent(next.ids[0])}`, `item-${next.ids[0]}`);
}

function list({ waiting, chosen }) {
  const row = (item) => {
    const id = item.ids[0];
    return h("li", {}, h("a", {
      href: `#/waiting/${encodeURIComponent(id)}`, class: "item", "data-key": `item-${id}`,
      "data-risk": item.risk, "aria-current": id === chosen ? "true" : undefined,
    },
    h("span", { class: "item-head" }, h("strong", {}, shown(item.subject)), item.held && chip("held")),
    h("span", { class: "item-text mono" }, shown(item.text) ),
    h("span", { class: "item-foot" }, h("span", { class: "risk", "data-risk": item.risk }, `${item.risk} risk`),
      " · ", shown(item.who), " · ", when(item.created_at))));
  };
  return h("nav", { class: "list", "aria-label": "What waits", "data-scroll": "list" },
    waiting.length ? h("ul", {}, waiting.map(row)) : h("p", { class: "note" }, "Nothing else waits."));
}

function detail({ thing, kind, error, chosen }) {
  const label = { class: "detail", "aria-label": "Details", "data-scroll": `detail-${chosen}` };
  if (error) {
    return h("article", label, empty("This no longer waits", "Someone decided it, or it ended.",
      "brigade log"), h("p", { class: "note" }, shown(error.message)));
  }
  return h("article", label, kind === CALL ? callParts(thing) : questionParts(thing));
}

// One call.

/** Shows a call in full, with its actions if it can be decided. */
export function callParts(doc) {
  const { call } = doc;
  const head = h("header", { class: "thing-head" },
    h("p", { class: "kicker" }, h("span", { class: "risk", "data-risk": doc.risk }, `${doc.risk} risk`), chip(call.status)),
    h("h2", {}, shown(call.tool_id)),
    h("p", { class: "note" }, "asked by ", shown(asker(call.caller)), " ", when(call.created_at), " · ",
      h("span", { class: "mono" }, shown(doc.short_id))));
  return [
    head, call.review_reason && h("p", { class: "quote" }, shown(call.review_reason)),
    blockers(doc),
    section("What would run", argv(doc.argv, call), argumentList(call)),
    touches(doc.touches),
    difference(doc.diff),
    code(doc.code),
    hostOffers(doc.host_offers ?? []),
    policy(doc.policy),
    doc.changed.length > 0 && section("Changed since the approval", lines(doc.changed)),
    doc.pin && doc.pin.changes.length > 0 && section("The server lists it differently now", lines(doc.pin.changes)),
    earlier(doc.runs),
    events(doc.events),
    actions(doc),
  ];
}

function argv(words, call) {
  if (words.length === 0) {
    return h("p", { class: "note" }, call.command ? h("code", {}, shown(call.command)) : "It has no command line.");
  }
  return h("ol", { class: "argv mono", tabindex: "0", "aria-label": "Command line, one word a line" },
    words.map((word) => h("li", {}, h("code", {}, word === "" ? h("span", { class: "unseen-character" }, "empty") : shown(word)))));
}

function argumentList(call) {
  const entries = Object.entries(call.args ?? {});
  if (entries.length === 0) return null;
  return h("dl", { class: "facts" }, entries.map(([name, value]) =>
    [h("dt", {}, shown(name)), h("dd", { class: "mono wrap" }, shown(value))]));
}

function lines(texts) {
  return h("ul", { class: "lines" }, texts.map((text) => h("li", {}, shown(text))));
}

function touches(access) {
  if (!access) return null;
  const none = h("span", { class: "note" }, "nothing");
  const places = (paths) => (paths.length ? paths.map((path) => h("code", { class: "path" }, shown(path))) : none);
  return section("What it may touch", h("dl", { class: "facts" },
    h("dt", {}, "Read"), h("dd", {}, places(access.read)),
    h("dt", {}, "Write"), h("dd", {}, places(access.write)),
    access.closed && access.closed.length > 0 && [h("dt", {}, "Closed"), h("dd", {}, places(access.closed))],
    h("dt", {}, "Network"), h("dd", {}, access.network ? chip("open", "high") : chip("closed", "ok")),
    h("dt", {}, "Sandbox"), h("dd", {}, chip(access.sandbox, access.sandbox === "off" ? "high" : "ok"))));
}

function difference(diff) {
  if (!diff) return null;
  const changes = [...diff.arguments, ...diff.contract];
  const title = "Since the last approved call";
  if (changes.length === 0 && diff.changed.length === 0) {
    return section(title, h("p", { class: "note" }, "It is the same call."));
  }
  return section(title, changes.length > 0 && h("dl", { class: "diff" }, changes.map((change) => [
    h("dt", {}, shown(change.name)),
    change.before !== null && h("dd", { class: "removed mono wrap" }, shown(change.before)),
    change.value !== null && h("dd", { class: "added mono wrap" }, shown(change.value)),
  ])), diff.changed.length > 0 && lines(diff.changed.map((name) => `${name} changed`)));
}

function code(bound) {
  if (!bound) return null;
  const file = (path, note) => h("li", {}, h("code", { class: "path" }, shown(path)), note && h("span", { class: "note" }, ` ${note}`));
  const learned = bound.learned ? bound.learned.files : [];
  const files = bound.files.length + learned.length;
  return section("Code", h("ul", { class: "lines" },
    bound.files.map((entry) => file(entry.path, `bound by ${entry.by}`)),
    learned.map((path) => file(path, "bound, because an earlier run used it")),
    bound.unbound.map((path) => h("li", { class: "warn" }, h("code", { class: "path" }, shown(path)), " is not bound, and the last run used it"))),
    (bound.data ?? []).length > 0 && lines(bound.data.map((path) => `${path} is bound as data`)),
    h("p", { class: "note" }, "It may also load: ", shown(bound.may_also_load)),
    files === 0 && bound.unbound.length === 0 && h("p", { class: "note" }, "Its approval binds no file of the workspace."),
    bound.notes.length > 0 && lines(bound.notes.map((note) => note.message ?? note)));
}

function policy(rulings) {
  if (rulings.length === 0) return null;
  const row = (ruling) => h("li", { class: ruling.allowed ? undefined : "warn" },
    h("span", { class: "verdict", "data-state": ruling.allowed ? "good" : "bad" }, ruling.allowed ? "allows" : "refuses"),
    " ", shown(`${[ruling.topic, ruling.subject].filter(Boolean).join(" ")}: ${ruling.message}`),
    ruling.file && h("span", { class: "note mono" }, ` ${ruling.file}${ruling.line ? `:${ruling.line}` : ""}`));
  return fold("policy", `Policy: ${rulings.length} rulings`, h("ul", { class: "lines" }, rulings.map(row)));
}

/** Shows what the hosts of a team would run, and which of them an approval covers. */
function hostOffers(groups) {
  if (groups.length === 0) return null;
  const row = (group) => h("li", {},
    h("span", { class: "verdict", "data-state": group.covered ? "good" : "bad" }, group.covered ? "covered" : "not covered"),
    " ", shown(group.hosts.join(", ")), group.program && h("span", { class: "mono" }, shown(` ${group.program.path}`)),
    group.differs.length > 0 && h("span", { class: "note" }, shown(` differs from this host: ${group.differs.join(", ")}`)),
    [...group.blockers, group.passed_over].filter(Boolean).map((reason) => h("span", { class: "hint" }, shown(reason))));
  return section("Offered by", h("ul", { class: "lines" }, groups.map(row)));
}

function blockers(doc) {
  if (doc.blockers.length === 0) return null;
  return h("div", { class: "notice", "data-state": "bad" }, h("p", { class: "notice-title" }, "It cannot be approved or run now"),
    h("ul", { class: "lines" }, doc.blockers.map((blocker) => h("li", {}, shown(blocker.message),
      blocker.file && h("span", { class: "mono note" }, ` ${blocker.file}${blocker.line ? `:${blocker.line}` : ""}`),
      blocker.hint && h("span", { class: "hint" }, shown(blocker.hint))))));
}

function earlier(runs) {
  if (runs.length === 0) return section("Last runs", h("p", { class: "note" }, "The tool did not run yet."));
  return section("Last runs", table("Last runs", ["Ended", "Arguments", { name: "Time", number: true }, "When"],
    runs.map((run) => [h("a", { href: `#/runs/${encodeURIComponent(run.run_id)}` }, chip(run.status)),
      h("span", { class: "mono wrap" }, shown(run.text)), duration(run.duration_seconds), when(run.started_at)])));
}

function events(all) {
  if (all.length === 0) return null;
  return section("So far", h("ol", { class: "events" }, all.map((event) =>
    h("li", {}, h("span", { class: "event-kind" }, shown(event.kind)), h("span", {}, shown(event.text)),
      event.at && h("span", { class: "note" }, " ", when(event.at)), event.details.length > 0 && lines(event.details)))));
}

function actions(doc) {
  const offered = (offer) => doc.offers.includes(offer) && may(offer);
  if (!["approve", "reject", "hold"].some((offer) => doc.offers.includes(offer))) return null;
  if (!may("approve")) return h("p", { class: "actions note" }, LOOKS_ONLY);
  const id = doc.call.id;
  return h("div", { class: "actions" },
    h("button", { type: "button", class: "primary", "data-action": "approve", "data-key": "approve", "aria-keyshortcuts": "a",
      disabled: !offered("approve"), onclick: () => approve(doc) }, "Approve", h("kbd", {}, "a")),
    h("button", { type: "button", "data-action": "reject", "data-key": "reject", "aria-keyshortcuts": "r",
      disabled: !offered("reject"), onclick: () => refuse(id, "reject", doc) }, "Reject", h("kbd", {}, "r")),
    h("button", { type: "button", "data-action": "hold", "data-key": "hold", "aria-keyshortcuts": "h",
      disabled: !offered("hold"), onclick: () => refuse(id, "hold", doc) }, "Hold", h("kbd", {}, "h")));
}

async function approve(doc) {
  const words = doc.argv.length ? doc.argv : [doc.call.command ?? doc.call.tool_id];
  const done = await ask({
    title: `Approve ${doc.call.tool_id}?`,
    body: [h("p", {}, "It runs exactly this:"), argv(words, doc.call), argumentList(doc.call),
      doc.touches && h("p", { class: "note" }, doc.touches.network ? "It may use the network. " : "No network. ",
        doc.touches.write.length ? "It may write: " : "It may write nothing.", shown(doc.touches.write.join(", ")))],
    yes: "Approve",
    whole: true,
    act: () => send(at("/api/calls", doc.call.id, "/approve"), { review_fingerprint: doc.review_fingerprint }),
    failed: (error) => changed(error, doc, () => read(at("/api/calls", doc.call.id))),
  });
  if (done) decided(`${doc.call.tool_id} is approved.`);
}

async function refuse(id, what, doc) {
  const isReject = what === "reject";
  const done = await ask({
    title: isReject ? `Reject ${doc.call.tool_id}?` : `Hold ${doc.call.tool_id}?`,
    body: [h("p", {}, isReject ? "The agent sees the reason." : "It waits until you decide again.")],
    field: { label: isReject ? "Reason" : "Reason (may be empty)", required: isReject },
    yes: isReject ? "Reject" : "Hold",
    act: (reason) => send(at("/api/calls", id, `/${what}`), { reason, review_fingerprint: doc.review_fingerprint }),
    failed: (error) => changed(error, doc, () => read(at("/api/calls", id))),
  });
  if (done) decided(`${doc.call.tool_id} is ${isReject ? "rejected" : "on hold"}.`);
}

function decided(text) {
  announce(text);
  go("#/waiting", "first");
}

// The 409: something changed since it was shown.

async function changed(error, before, again) {
  if (!(error instanceof Refusal) || error.document.code !== "changed_meanwhile") return null;
  const now = await again().catch(() => null);
  refresh();
  if (!now) return null;
  const rows = differences(before, now);
  return [h("p", { class: "notice-title" }, "It changed while you looked at it. Nothing was decided."),
    h("p", {}, shown(error.message)),
    rows.length > 0 && h("dl", { class: "diff" }, rows.map(([name, removed, added]) => [
      h("dt", {}, name),
      removed.map((line) => h("dd", { class: "removed mono wrap" }, shown(line))),
      added.map((line) => h("dd", { class: "added mono wrap" }, shown(line)))]))];
}

const SHOWN_PARTS = ["argv", "risk", "blockers", "policy", "touches", "code", "host_offers", "changed", "pin", "text", "choices"];

function differences(before, now) {
  const texts = (value) => (value === null || value === undefined ? [] : Array.isArray(value) ? value : [value])
    .map((item) => (typeof item === "string" ? item : item.message ?? JSON.stringify(item)));
  const rows = SHOWN_PARTS.map((name) => {
    const [left, right] = [texts(before[name]), texts(now[name])];
    return [name, left.filter((line) => !right.includes(line)), right.filter((line) => !left.includes(line))];
  });
  const [left, right] = [bound(before), bound(now)];
  rows.push(["bound", left.filter((line) => !right.includes(line)), right.filter((line) => !left.includes(line))]);
  const status = before.call && now.call && before.call.status !== now.call.status;
  if (status) rows.push(["status", [before.call.status], [now.call.status]]);
  return rows.filter(([, removed, added]) => removed.length + added.length > 0);
}

/** Returns what an approval of a call binds, one thing a line. */
function bound(doc) {
  const lines = (name, value) => (value !== null && typeof value === "object"
    ? Object.entries(value).flatMap(([inner, below]) => lines(name ? `${name} ${inner}` : inner, below))
    : [`${name} ${value}`]);
  return lines("", doc.preview?.binding ?? {});
}

// One question.

function questionParts(doc) {
  const words = { checkpoint: "A run asks", decision: "The kitchen asks", question: "An agent asks" };
  return [
    h("header", { class: "thing-head" },
      h("p", { class: "kicker" }, words[doc.kind]),
      h("h2", {}, shown(doc.who)),
      h("p", { class: "note" }, when(doc.created_at), " · ", h("span", { class: "mono" }, shown(doc.id)))),
    h("p", { class: "question" }, shown(doc.text)),
    context(doc),
    answers(doc),
  ];
}

/** What a run says about its checkpoint. */
function context({ checkpoint }) {
  const given = checkpoint && checkpoint.context;
  if (!given || Object.keys(given).length === 0) return null;
  return section("Context", h("pre", { class: "log" }, shown(JSON.stringify(given, null, 2))));
}

function answers(doc) {
  if (!may("answer")) return h("p", { class: "actions note" }, LOOKS_ONLY);
  const choice = (text, index) => h("button", { type: "button", "data-action": `choice-${index + 1}`, "data-key": `choice-${index}`,
    onclick: () => answer(doc, { choice: text }, text) }, shown(text));
  return h("div", { class: "actions" },
    doc.choices.map(choice),
    (doc.choices.length === 0 || doc.kind === "question") && h("button", { type: "button", class: doc.choices.length ? undefined : "primary",
      "data-key": "write", onclick: () => write(doc) }, "Write an answer"),
    doc.kind === "checkpoint" && h("button", { type: "button", "data-action": "reject", "data-key": "decline", onclick: () => decline(doc) }, "Reject", h("kbd", {}, "r")));
}

function answerPath(doc) {
  return at(pathOf(doc.kind), doc.id, doc.kind === "checkpoint" ? "/approve" : "/answer");
}

async function answer(doc, given, text) {
  const done = await ask({
    title: "Give this answer?",
    body: [h("p", { class: "question" }, shown(doc.text)), context(doc), h("p", {}, h("strong", {}, shown(text)))],
    yes: "Answer",
    whole: true,
    act: () => send(answerPath(doc), { ...given, review_fingerprint: doc.review_fingerprint }),
    failed: (error) => changed(error, doc, () => read(at(pathOf(doc.kind), doc.id))),
  });
  if (done) decided("It is answered.");
}

async function write(doc) {
  const done = await ask({
    title: "Answer",
    body: [h("p", { class: "question" }, shown(doc.text))],
    field: { label: "Answer", required: true },
    yes: "Answer",
    act: (text) => send(answerPath(doc), doc.kind === "question" ? { text, review_fingerprint: doc.review_fingerprint }
      : { choice: text, review_fingerprint: doc.review_fingerprint }),
    failed: (error) => changed(error, doc, () => read(at(pathOf(doc.kind), doc.id))),
  });
  if (done) decided("It is answered.");
}

async function decline(doc) {
  const done = await ask({
    title: "Reject this checkpoint?",
    body: [h("p", { class: "question" }, shown(doc.text))],
    field: { label: "Reason", required: true },
    yes: "Reject",
    act: (reason) => send(at("/api/checkpoints", doc.id, "/reject"), { reason, review_fingerprint: doc.review_fingerprint }),
    failed: (error) => changed(error, doc, () => read(at("/api/checkpoints", doc.id))),
  });
  if (done) decided("It is rejected.");
}
