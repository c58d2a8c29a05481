// The kitchen: PRDs, their tasks, cost, and when workers ran.

import { at, read } from "./api.js";
import { bars, timeline } from "./charts.js";
import { amount, chip, dollars, duration, empty, h, head, section, shown } from "./dom.js";

const COLUMNS = [
  ["To do", ["pending"]], ["Running", ["running"]], ["Waits for you", ["waiting"]],
  ["Done", ["complete", "already_done", "absorbed"]], ["Stuck", ["blocked", "failed", "skipped", "interrupted", "unreachable"]],
];

export const kitchenView = {
  title: "Kitchen",
  topics: ["task", "runner", "decision"],
  load: (_, signal) => read("/api/kitchen", signal),
  draw(doc) {
    if (doc.prds.length === 0) {
      return [head("Kitchen"), empty(doc.exists ? "No PRD yet" : "No kitchen yet",
        "The kitchen has several workers serve a list of tasks, and asks you where they disagree. Its boards appear here.",
        doc.exists ? "brigade plan FEATURE" : "brigade kitchen init")];
    }
    return [head("Kitchen", h("span", { class: "count" }, amount(doc.prds.length, "PRD"))),
      h("ul", { class: "cards" }, doc.prds.map((prd) => h("li", { class: "card" },
        h("h2", {}, h("a", { href: `#/kitchen/${encodeURIComponent(prd.name)}` }, shown(prd.status?.feature_name ?? prd.name))),
        prd.error ? h("p", { class: "warn" }, shown(prd.error)) : [
          h("p", {}, prd.status.running ? chip("running") : chip(prd.status.pending_tasks === 0 ? "complete" : "pending", prd.status.pending_tasks === 0 ? "complete" : "plain"),
            prd.status.needs_attention && chip("needs you", "waiting")),
          progress(prd.status),
          h("p", { class: "note" }, `${prd.status.completed_tasks} of ${prd.status.total_tasks} tasks`),
          prd.status.attention_reason && h("p", { class: "note" }, shown(prd.status.attention_reason)),
        ])))];
  },
};

function progress(status) {
  return h("progress", { max: String(Math.max(status.total_tasks, 1)), value: String(status.completed_tasks), "aria-label": "Tasks that are done" });
}

export const boardView = {
  title: "Board",
  topics: ["task", "runner", "decision"],
  load: ([name], signal) => read(at("/api/kitchen", name), signal),
  draw({ status, cost, receipts }) {
    const waves = Map.groupBy(status.tasks, (row) => row.wave);
    const columns = COLUMNS.map(([title, states]) => [title, status.tasks.filter((task) => states.includes(task.status))]);
    return [head(status.feature_name, h("a", { href: "#/kitchen" }, "All PRDs")),
      h("p", { class: "note" }, status.running ? chip("running") : chip("no service", "plain"), " ",
        `${status.completed_tasks} of ${status.total_tasks} tasks · ${cost.attempts} attempts · ${dollars(cost.cost_usd)}`,
        status.branch && [" · ", h("code", {}, shown(status.branch))]),
      status.attention_reason && h("div", { class: "notice", "data-state": "waiting" }, h("p", { class: "notice-title" }, "It needs you"), h("p", {}, shown(status.attention_reason))),
      status.decisions.length > 0 && section("Decisions", h("ul", { class: "lines" }, status.decisions.map((decision) =>
        h("li", {}, h("a", { href: `#/waiting/${encodeURIComponent(decision.id)}` }, shown(decision.kind)), " ", shown(decision.context))))),
      waves.size > 1 && section("Waves", h("p", { class: "note" }, "A wave depends only on the waves before it."),
        h("ol", { class: "waves" }, [...waves].sort(([left], [right]) => left - right).map(([wave, tasks]) =>
          h("li", {}, h("span", { class: "wave-name" }, `Wave ${wave}`), tasks.map((row) => chip(row.id, row.status)))))),
      h("div", { class: "board", role: "group", "aria-label": "Tasks by state" }, columns.map(([title, tasks]) => h("section", { class: "column" },
        h("h2", {}, title, " ", h("span", { class: "count" }, String(tasks.length))),
        tasks.length ? h("ul", {}, tasks.map(task)) : h("p", { class: "note" }, "none")))),
      cost.tasks.length > 0 && bars({ title: "Cost of each task", unit: dollars,
        rows: cost.tasks.map((row) => ({ name: row.id, value: row.cost_usd })) }),
      cost.tasks.length > 0 && bars({ title: "Attempts of each task", unit: String,
        rows: cost.tasks.map((row) => ({ name: row.id, value: row.attempts })) }),
      timeline({ title: "When workers ran", rows: receipts.receipts.map((receipt) => ({
        name: receipt.task ?? receipt.kind, detail: [receipt.kind, receipt.tier].filter(Boolean).join(", "),
        from: receipt.started_at, to: receipt.completed_at, status: receipt.status })) })];
  },
};

function task(row) {
  return h("li", { class: "task" },
    h("p", {}, chip(row.status), row.escalated && chip("escalated", "held")),
    h("h3", {}, shown(row.title)),
    h("p", { class: "note" }, h("span", { class: "mono" }, shown(row.id)), " · ", shown(row.tier), ` · wave ${row.wave} · `,
      `${row.attempts} ${row.attempts === 1 ? "attempt" : "attempts"}`,
      row.elapsed ? ` · ${duration(row.elapsed)}` : "", row.cost_usd ? ` · ${dollars(row.cost_usd)}` : ""),
    row.last_error && h("p", { class: "warn" }, shown(row.last_error)),
    row.decision && h("p", {}, h("a", { href: `#/waiting/${encodeURIComponent(row.decision)}` }, "Decide")));
}
