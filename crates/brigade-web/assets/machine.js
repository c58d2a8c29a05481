// Agents, servers, issues, and the check of receipts.

import { read } from "./api.js";
import { announce, refresh } from "./app.js";
import { amount, chip, empty, h, head, section, shown, table, when } from "./dom.js";

function size(bytes) {
  return bytes < 1 << 20 ? `${Math.round(bytes / 1024)} KiB` : `${Math.round(bytes / 1048576)} MiB`;
}

export const agentsView = {
  title: "Agents",
  topics: [],
  load: (_, signal) => read("/api/agents", signal),
  draw(doc) {
    const limits = (agent) => Object.entries(agent.limits).filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => h("li", {}, `${name.replaceAll("_", " ")}: `, name.endsWith("_bytes") ? size(value) : shown(value)));
    const card = (agent) => h("li", { class: "card" }, h("h2", {}, shown(agent.name)),
      h("p", {}, agent.has_token ? chip("has a token", "ok") : chip("no token", "plain"),
        chip(agent.confirm === "none" ? "you decide" : `its client asks, up to ${agent.confirm_risk} risk`, agent.confirm === "none" ? "plain" : "held")),
      agent.profiles.length > 0 && h("p", { class: "note" }, "Profiles: ", shown(agent.profiles.join(", "))),
      h("h3", {}, "Limits"), limits(agent).length ? h("ul", { class: "lines" }, limits(agent)) : h("p", { class: "note" }, "none"));
    return [head("Agents", h("span", { class: "count" }, String(doc.agent_count))),
      !doc.exists && h("p", { class: "note" }, "Without gateway.toml there is only the agent ", h("code", {}, "local"), ". ",
        "Add others with ", h("code", {}, "brigade tools agent add NAME"), "."),
      h("ul", { class: "cards" }, doc.agents.map(card))];
  },
};

export const serversView = {
  title: "Servers",
  topics: ["runner"],
  async load(_, signal) {
    const [servers, runtimes] = await Promise.all([read("/api/servers", signal), read("/api/runtimes", signal)]);
    return { servers, runtimes };
  },
  draw({ servers, runtimes }) {
    const pins = servers.pins.map((pin) => [chip(pin.state), shown(pin.server), h("code", {}, shown(pin.tool)),
      pin.changes.length ? h("ul", { class: "lines" }, pin.changes.map((text) => h("li", {}, shown(text)))) : h("span", { class: "note" }, "as pinned"),
      when(pin.pinned_at)]);
    const rows = servers.servers.map((server) => [shown(server.server), chip(server.state), String(server.tool_count),
      shown([...server.appeared.map((name) => `+ ${name}`), ...server.vanished.map((name) => `- ${name}`)].join(", ")), when(server.listed_at)]);
    const running = runtimes.runtimes.map((runtime) => [chip(runtime.state), shown(runtime.id),
      h("code", { class: "wrap" }, shown(runtime.command)), runtime.port ? String(runtime.port) : "", when(runtime.started_at)]);
    const nothing = rows.length + pins.length + running.length === 0;
    return [head("Servers"),
      nothing && empty("No server is known yet", "MCP servers appear here with their tools, and with each change of a tool since you pinned it.", "brigade discover"),
      rows.length > 0 && section("MCP servers", table("MCP servers", ["Server", "List", { name: "Tools", number: true }, "Changes", "Listed"], rows)),
      pins.length > 0 && section("Pins", servers.changed_count > 0 && h("p", { class: "warn" }, `${servers.changed_count} tools differ from their pins. Look at each with brigade tools pins show.`),
        table("Pins", ["State", "Server", "Tool", "Changes", "Pinned"], pins)),
      running.length > 0 && section("Local runtimes", table("Local runtimes", ["State", "Runtime", "Command", { name: "Port", number: true }, "Started"], running))];
  },
};

export const issuesView = {
  title: "Issues",
  topics: [],
  load: (_, signal) => read("/api/issues", signal),
  draw(doc) {
    const issue = (row) => h("li", { class: "notice", "data-state": row.severity === "error" ? "bad" : "waiting" },
      h("p", { class: "notice-title" }, shown(row.detail)),
      h("p", { class: "note" }, shown(row.issue_type), row.tool_id && [" · ", shown(row.tool_id)],
        row.file && [" · ", h("span", { class: "mono" }, shown(`${row.file}${row.line ? `:${row.line}` : ""}`))]),
      row.fix && h("p", {}, h("code", { class: "wrap" }, shown(row.fix))),
      row.call_id && h("p", {}, h("a", { href: `#/calls/${encodeURIComponent(row.call_id)}` }, "Look at the call")));
    return [head("Issues", h("span", { class: "count" }, String(doc.issue_count))),
      doc.issues.length ? h("ul", { class: "stack" }, doc.issues.map(issue))
        : empty("No issues", "Brigade checks tools, policy, projections, calls, runs and the kitchen each time you open this view.", "brigade doctor"),
      ...(doc.notes ?? []).map((note) => h("p", { class: "note" }, shown(note), ": ", h("code", {}, "brigade doctor"), " looks at all")),
      doc.raw_issue_count > doc.issue_count && h("p", { class: "note" }, `${doc.raw_issue_count - doc.issue_count} more were accepted.`)];
  },
};

/** The last check. It reads every receipt, so it runs only when someone asks for it. */
let check;

async function verify({ currentTarget: button }) {
  if (button.ariaDisabled) return;
  // A disabled button would lose the focus.
  button.ariaDisabled = "true";
  button.textContent = "Reading …";
  const result = await read("/api/verify").then((doc) => ({ doc }), (error) => ({ error }));
  check = { ...result, at: new Date().toISOString() };
  announce(result.error ? result.error.message : result.doc.valid ? "The receipts are whole" : "Receipts were changed");
  await refresh();
}

function outcome({ doc, error, at }) {
  const age = h("p", { class: "note" }, "checked ", when(at));
  if (error) return h("div", { class: "notice", "data-state": "bad" }, h("p", { class: "notice-title" }, "Not checked"), h("p", {}, shown(error.message)), age);
  const words = doc.checked === 0 ? "There is no receipt to check yet." : `${amount(doc.checked, "receipt")} in the chain, none changed.`;
  return doc.valid ? h("div", { class: "notice", "data-state": "good" }, h("p", { class: "notice-title" }, "The receipts are whole"), h("p", {}, words), age)
    : h("div", { class: "notice", "data-state": "bad" }, h("p", { class: "notice-title" }, "Receipts were changed, removed or added"),
      h("ul", { class: "lines" }, doc.findings.map((finding) => h("li", {}, shown(finding.message ?? finding.detail ?? JSON.stringify(finding))))), age);
}

export const verifyView = {
  title: "Verification",
  topics: [],
  load: () => check,
  draw: (last) => [head("Verification"),
    h("p", {}, "Each receipt names the sha256 of the one before it, so nobody changes the past without a trace. A check reads every receipt, ",
      "as ", h("code", {}, "brigade tools run verify"), " does."),
    h("p", {}, h("button", { type: "button", class: last ? "" : "primary", "data-key": "verify", onclick: verify }, last ? "Check again" : "Check all receipts")),
    last && outcome(last)],
};
