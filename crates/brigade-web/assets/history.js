// Calls and runs of the past.

import { at, read } from "./api.js";
import { amount, asker, chip, duration, empty, h, head, section, shown, table, when } from "./dom.js";
import { callParts } from "./review.js";
import { go } from "./app.js";

const STATUSES = ["", "pending", "held", "approved", "running", "completed", "failed", "rejected"];

function select(id, label, values, value) {
  return h("p", { class: "field" }, h("label", { for: id }, label),
    h("select", { id, name: id, "data-key": id }, values.map((each) =>
      h("option", { value: each, selected: each === value }, each || "any"))));
}

function input(id, label, value) {
  return h("p", { class: "field" }, h("label", { for: id }, label),
    h("input", { id, name: id, value: value ?? "", "data-key": id, autocomplete: "off", spellcheck: "false" }));
}

/** Makes a form whose values become the query of the place. */
function filters(place, ...fields) {
  const submit = (event) => {
    event.preventDefault();
    const values = [...new FormData(event.target)].filter(([, value]) => value);
    const query = new URLSearchParams(values).toString();
    go(`#/${place}${query ? `?${query}` : ""}`);
  };
  return h("form", { class: "filters", role: "search", "aria-label": "Filter", onsubmit: submit,
    onchange: (event) => event.currentTarget.requestSubmit() }, fields, h("button", { type: "submit" }, "Filter"));
}

function older(place, query, before) {
  if (!before) return null;
  const next = new URLSearchParams(query);
  next.set("before", before);
  return h("p", { class: "older" }, h("a", { href: `#/${place}?${next}` }, "Older"));
}

export const historyView = {
  title: "History",
  topics: ["call"],
  load: (_, signal, query) => read(`/api/calls?${query}`, signal),
  draw(doc, _, query) {
    const calls = [...doc.calls].reverse();
    const rows = calls.map((call) => [
      chip(call.status), h("a", { href: `#/calls/${encodeURIComponent(call.id)}` }, shown(call.tool_id)),
      h("span", { class: "mono wrap clip" }, shown(argumentLine(call.args))), shown(asker(call.caller)), when(call.created_at)]);
    const total = Object.values(doc.counts).reduce((sum, count) => sum + count, 0);
    return [head("History", h("span", { class: "count" }, amount(total, "call"))),
      filters("history", select("status", "Status", STATUSES, query.get("status") ?? ""),
        input("tool", "Tool", query.get("tool")), input("agent", "Agent", query.get("agent"))),
      rows.length ? table("Calls", ["Status", "Tool", "Arguments", "Asked by", "When"], rows)
        : empty("No call fits", doc.next_before ? "None of the newest calls does. Older ones may." : total ? "Widen the filter to see more." : "Every call that was ever asked for is kept here, with what was decided.",
          total ? undefined : "brigade tools call queue TOOL"),
      older("history", query, doc.next_before)];
  },
};

function argumentLine(args) {
  return Object.entries(args ?? {}).map(([name, value]) =>
    `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ");
}

export const callView = {
  title: "Call",
  topics: ["call"],
  load: ([id], signal) => read(at("/api/calls", id), signal),
  draw: (doc) => [head("Call", h("a", { href: "#/history" }, "All calls")), h("article", { class: "detail alone" }, callParts(doc))],
  keys: Object.fromEntries([["a", "approve"], ["r", "reject"], ["h", "hold"]].map(([key, action]) =>
    [key, () => document.querySelector(`[data-action="${action}"]:not(:disabled)`)?.click()])),
};

export const runsView = {
  title: "Runs",
  topics: ["run"],
  load: (_, signal, query) => read(`/api/runs?${query}`, signal),
  draw(doc, _, query) {
    const rows = doc.runs.map((run) => [
      chip(run.status), h("a", { href: `#/runs/${encodeURIComponent(run.id)}` }, shown(run.tool_id)),
      h("span", { class: "mono wrap clip" }, shown(run.stdout_summary || run.stderr_summary)),
      duration(run.duration_seconds), when(run.started_at)]);
    const statuses = ["", ...Object.keys(doc.counts)];
    return [head("Runs", h("span", { class: "count" }, amount(doc.run_count, "run"))),
      filters("runs", select("status", "Status", statuses, query.get("status") ?? ""), input("tool", "Tool", query.get("tool")),
        input("agent", "Agent", query.get("agent"))),
      rows.length ? table("Runs", ["Status", "Tool", "Output", { name: "Time", number: true }, "When"], rows)
        : doc.run_count > 0 ? empty("No run fits", doc.next_before ? "None of the newest runs does. Older ones may." : "Widen the filter to see more.")
        : empty("Nothing ran", "A call runs after it was approved, and leaves a receipt here.", "brigade tools call run --next"),
      doc.errors.length > 0 && section("Receipts that cannot be read",
        h("ul", { class: "lines" }, doc.errors.map((error) => h("li", {}, shown(error.error ?? error))))),
      older("runs", query, doc.next_before)];
  },
};

export const runView = {
  title: "Run",
  topics: ["run"],
  async load([id], signal) {
    const doc = await read(at("/api/runs", id), signal);
    const log = (stream) => read(at("/api/runs", id, `/log?stream=${stream}`), signal).catch((error) => ({ text: "", error }));
    const [stdout, stderr] = await Promise.all([log("stdout"), log("stderr")]);
    return { run: doc.run, stdout, stderr };
  },
  draw({ run, stdout, stderr }) {
    const facts = [["Call", h("a", { href: `#/calls/${encodeURIComponent(run.call_id)}` }, shown(run.call_id))],
      ["Started", when(run.started_at)], ["Took", duration(run.duration_seconds)],
      ["Exit code", run.exit_code === null ? "" : String(run.exit_code)], ["Why it failed", shown(run.failure)],
      ["Approved by", shown(approvedBy(run.approval))], ["Sandbox", shown(run.sandbox?.mode ?? run.sandbox?.used)],
      ["Receipt", h("span", { class: "mono wrap" }, shown(run.receipt_path))]];
    return [head("Run", h("a", { href: "#/runs" }, "All runs")),
      h("article", { class: "detail alone" },
        h("header", { class: "thing-head" }, h("p", { class: "kicker" }, chip(run.status)), h("h2", {}, shown(run.tool_id)),
          h("p", { class: "note mono" }, shown(run.id))),
        h("dl", { class: "facts" }, facts.filter(([, value]) => value && value.length !== 0)
          .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
        run.argv?.length > 0 && section("What ran", h("ol", { class: "argv mono", tabindex: "0", "aria-label": "Command line, one word a line" },
          run.argv.map((word) => h("li", {}, h("code", {}, shown(word)))))),
        output("Output", stdout), output("Errors", stderr))];
  },
};

function approvedBy(approval) {
  if (!approval) return "";
  return approval.rule ? `rule ${approval.rule}` : approval.by ?? "a person";
}

function output(title, log) {
  if (!log.text) return section(title, h("p", { class: "note" }, log.error ? shown(log.error.message) : "nothing"));
  return section(title, log.omitted_bytes > 0 && h("p", { class: "note" }, `${log.omitted_bytes} bytes before this are left out`),
    h("pre", { class: "log", tabindex: "0", "aria-label": title }, shown(log.text)));
}
