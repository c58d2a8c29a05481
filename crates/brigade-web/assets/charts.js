// Charts, each with a table of its numbers.

import { read } from "./api.js";
import { duration, empty, fold, h, head, s, shown, table, tone } from "./dom.js";
import { go } from "./app.js";

/** Puts a picture and its numbers together. */
function figure(title, note, picture, numbers) {
  return h("figure", { class: "chart" }, h("figcaption", {}, h("h2", {}, title), note && h("p", { class: "note" }, note)),
    picture, fold(`table-${title}`, "Numbers", numbers));
}

/** Calls of each day, one colour for each state. */
function stacked({ title, days, rows }) {
  const [width, height] = [720, 180];
  const totals = days.map((_, day) => rows.reduce((sum, row) => sum + row.counts[day], 0));
  const most = Math.max(1, ...totals);
  const step = width / days.length;
  const marks = days.flatMap((day, index) => {
    let below = 0;
    return rows.filter((row) => row.counts[index] > 0).map((row) => {
      const tall = (row.counts[index] / most) * (height - 8);
      below += tall;
      return s("rect", { class: "mark", "data-state": tone(row.name), x: index * step + step * 0.12, y: height - below,
        width: Math.max(step * 0.76, 1), height: Math.max(tall - 1, 1) }, s("title", {}, `${day}: ${row.counts[index]} ${row.name}`));
    });
  });
  const picture = h("div", { class: "picture" },
    s("svg", { class: "days", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: at most ${most} on a day` },
      s("line", { class: "axis", x1: 0, x2: width, y1: height, y2: height }), marks),
    h("p", { class: "ticks" }, h("span", {}, days[0]), h("span", {}, days.at(-1))),
    h("ul", { class: "legend" }, rows.map((row) => h("li", { "data-state": tone(row.name) }, shown(row.name), h("span", { class: "count" }, String(row.total))))));
  const shownDays = days.map((day, index) => [day, ...rows.map((row) => String(row.counts[index]))]).filter((row, index) => totals[index] > 0);
  return figure(title, undefined, picture, table(title, ["Day", ...rows.map((row) => ({ name: row.name, number: true }))], shownDays));
}

/** A small row of days for each name. */
function sparks({ title, days, rows }) {
  const [width, height] = [240, 28];
  const most = Math.max(1, ...rows.flatMap((row) => row.counts));
  const step = width / days.length;
  const spark = (row) => s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    s("line", { class: "axis", x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }),
    row.counts.map((count, index) => count > 0 && s("rect", { class: "mark", x: index * step + step * 0.1, width: Math.max(step * 0.8, 1),
      y: height - Math.max((count / most) * (height - 2), 2), height: Math.max((count / most) * (height - 2), 2) }, s("title", {}, `${days[index]}: ${count}`))));
  const picture = h("ul", { class: "sparks" }, rows.map((row) => h("li", {}, h("span", { class: "spark-name" }, shown(row.name)), spark(row),
    h("span", { class: "number" }, String(row.total)))));
  const last = days.slice(-7);
  return figure(title, undefined, picture, table(title, ["Name", { name: "All days", number: true }, ...last.map((day) => ({ name: day.slice(5), number: true }))],
    rows.map((row) => [shown(row.name), String(row.total), ...row.counts.slice(-7).map(String)])));
}

/** One bar for each name. A second value is drawn as a line behind it. */
export function bars({ title, note, rows, unit, second }) {
  const most = Math.max(Number.EPSILON, ...rows.map((row) => Math.max(row.value, row.second ?? 0)));
  const bar = (row) => s("svg", { class: "bar-mark", viewBox: "0 0 300 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "track", x: 0, y: 5, width: 300, height: 6 }),
    row.second !== undefined && s("rect", { class: "mark soft", x: 0, y: 5, width: (row.second / most) * 300, height: 6 }),
    s("rect", { class: "mark", "data-state": row.state, x: 0, y: 3, width: Math.max((row.value / most) * 300, row.value ? 2 : 0), height: 10 }));
  const picture = h("ul", { class: "sparks" }, rows.map((row) => h("li", {}, h("span", { class: "spark-name" }, shown(row.name)), bar(row),
    h("span", { class: "number" }, unit(row.value), row.second !== undefined && h("span", { class: "note" }, ` / ${unit(row.second)}`)))));
  return figure(title, note, picture, table(title, ["Name", { name: second ? "Median" : "Value", number: true }, ...(second ? [{ name: second, number: true }] : [])],
    rows.map((row) => [shown(row.name), unit(row.value), ...(second ? [unit(row.second)] : [])])));
}

/** When things began and ended, one line for each name. */
export function timeline({ title, rows }) {
  const known = rows.map((row) => ({ ...row, start: Date.parse(row.from), end: Date.parse(row.to) })).filter((row) => row.start <= row.end);
  if (known.length === 0) return null;
  const [from, to] = [Math.min(...known.map((row) => row.start)), Math.max(...known.map((row) => row.end))];
  const names = [...new Set(known.sort((left, right) => left.start - right.start).map((row) => row.name))];
  const x = (time) => ((time - from) / Math.max(to - from, 1)) * 600;
  const line = (name) => s("svg", { class: "spark wide", viewBox: "0 0 600 20", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("line", { class: "axis", x1: 0, x2: 600, y1: 10, y2: 10 }),
    known.filter((row) => row.name === name).map((row) => s("rect", { class: "mark", "data-state": tone(row.status), x: x(row.start), y: 4,
      width: Math.max(x(row.end) - x(row.start), 3), height: 12 }, s("title", {}, `${row.detail}: ${duration((row.end - row.start) / 1000)}`))));
  const picture = h("ul", { class: "sparks timeline" }, names.map((name) => h("li", {}, h("span", { class: "spark-name" }, shown(name)), line(name))));
  return figure(title, `${new Date(from).toLocaleString()} to ${new Date(to).toLocaleString()}`, picture,
    table(title, ["Task", "What", "Ended", "Began", { name: "Took", number: true }],
      known.map((row) => [shown(row.name), shown(row.detail), shown(row.status), new Date(row.start).toLocaleString(), duration((row.end - row.start) / 1000)])));
}

const DAYS = [7, 30, 90, 365];

export const chartsView = {
  title: "Charts",
  topics: ["call"],
  load: (_, signal, query) => read(`/api/stats?days=${encodeURIComponent(query.get("days") ?? "30")}`, signal),
  draw(doc, _, query) {
    const chosen = query.get("days") ?? "30";
    const days = h("p", { class: "field inline" }, h("label", { for: "days" }, "Days"),
      h("select", { id: "days", "data-key": "days", onchange: (event) => go(`#/charts?days=${event.target.value}`, "days") },
        DAYS.map((each) => h("option", { value: String(each), selected: String(each) === chosen }, String(each)))));
    if (doc.call_count === 0) {
      return [head("Charts", days), empty("No call in these days", "Charts show who asked for what, how it ended, and how long it waited for you.", "brigade log --stat")];
    }
    const wait = (row) => (row.up_to_seconds === null ? "longer" : `up to ${words(row.up_to_seconds)}`);
    return [head("Charts", days),
      doc.more && h("p", { class: "note" }, `Only the newest ${doc.call_count} calls were read.`),
      h("div", { class: "charts" },
        stacked({ title: "Calls a day by outcome", days: doc.days, rows: doc.outcomes }),
        sparks({ title: "Calls a day by agent", days: doc.days, rows: doc.agents }),
        sparks({ title: "Calls a day by tool", days: doc.days, rows: doc.tools }),
        doc.durations.length > 0 && bars({ title: "How long runs took", note: "Median, and behind it what 95 % of the runs stay below", unit: duration, second: "95 %",
          rows: doc.durations.map((row) => ({ name: row.tool_id, value: row.median_seconds, second: row.p95_seconds })) }),
        doc.decisions.length > 0 && bars({ title: "Decisions by rule and by person", unit: String,
          rows: doc.decisions.map((row) => ({ name: row.by, value: row.approved + row.rejected })) }),
        bars({ title: "How long calls waited for a person", unit: String, rows: doc.waited.map((row) => ({ name: wait(row), value: row.calls, state: "waiting" })) }))];
  },
};

function words(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${seconds / 60} min`;
  return seconds < 86400 ? `${seconds / 3600} h` : `${seconds / 86400} d`;
}
