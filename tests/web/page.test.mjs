// The page in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { HOSTILE } from "./hostile.mjs";
import { Site, close, open, visit } from "./site.mjs";

const VIEWS = ["waiting", "history", "runs", "kitchen", "kitchen/greeting", "charts", "agents", "servers", "issues", "verify"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let site;
const ids = {};

before(async () => {
  site = new Site().fill();
  for (const [name, text] of [["first", "world"], ["second", "again"]]) ids[name] = site.queue("greet", text);
  ids.risky = site.queue("deploy", "main");
  const ran = site.queue("greet", "everyone");
  site.run(["tools", "call", "approve", ran]);
  site.run(["tools", "call", "run", ran]);
  ids.ran = ran;
  await site.serve();
});

after(async () => {
  await close();
  site.end();
});

function nothingHappened({ seen }, allowed = []) {
  const problems = seen.problems.filter((problem) => !allowed.some((text) => problem.includes(text)));
  assert.deepEqual({ ...seen, problems }, { dialogs: [], requests: [], problems: [] });
}

test("the riskiest call is first, and a call is approved by keyboard alone", async () => {
  const tab = await open(site);
  const { page } = tab;
  assert.match(await page.title(), /^\(3\) Waiting/);
  assert.match(await page.locator(".item").first().innerText(), /deploy/);
  await page.keyboard.press("j");
  await page.waitForSelector(`[aria-current=true][data-key="item-${ids.first}"]`);
  await page.waitForSelector(".argv >> text=world");
  await page.keyboard.press("a");
  await page.waitForSelector("dialog[open] .argv >> text=world");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  assert.equal(site.status(ids.first), "approved");
  await page.waitForFunction(() => document.querySelectorAll(".item").length === 2);
  assert.match(await page.locator("#live").textContent(), /greet is approved/);
  assert.equal(await page.evaluate(() => document.activeElement.className), "item", "the next thing has the focus");
  nothingHappened(tab);
});

test("what is longer than the question is approved only after its end was seen", async () => {
  const id = site.queue("greet", Array.from({ length: 300 }, (_, line) => `line ${line}`).join("\n"));
  const tab = await open(site);
  const { page } = tab;
  await visit(page, `#/waiting/${id}`);
  await page.keyboard.press("a");
  const yes = page.locator("dialog button.primary");
  await yes.waitFor();
  assert.equal(await yes.isDisabled(), true);
  await page.keyboard.press("End");
  await page.waitForFunction(() => !document.querySelector("dialog button.primary").disabled);
  await page.keyboard.press("Escape");
  assert.equal(site.status(id), "pending");
  site.run(["tools", "call", "reject", id, "--reason", "long"]);
  nothingHappened(tab);
});

test("a rejection needs a reason", async () => {
  const id = site.queue("note", "for nobody");
  const tab = await open(site);
  const { page } = tab;
  await visit(page, `#/waiting/${id}`);
  await page.keyboard.press("r");
  await page.locator("dialog textarea").waitFor();
  await page.locator("dialog button.primary").click();
  assert.equal(site.status(id), "pending");
  await page.locator("dialog textarea").fill("not today");
  await page.locator("dialog button.primary").click();
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  assert.equal(site.status(id), "rejected");
  nothingHappened(tab);
});

test("receipts are checked when someone asks for it", async () => {
  const tab = await open(site);
  const { page } = tab;
  await visit(page, "#/verify");
  await page.locator("main button").press("Enter");
  await page.waitForSelector(".notice >> text=1 receipt in the chain");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Check again");
  nothingHappened(tab);
});

test("what another process changed is there at once", async () => {
  const tab = await open(site);
  const { page } = tab;
  const waited = [];
  for (let number = 0; number < 8; number += 1) {
    const text = `live-${number}`;
    const seen = page.waitForFunction((wanted) => {
      const found = document.querySelector(".list")?.innerText.includes(wanted);
      return found && performance.timeOrigin + performance.now();
    }, text, { polling: 10 });
    const id = site.queue("greet", text);
    const asked = Date.parse(site.json(["tools", "call", "show", id]).call.created_at);
    waited.push(Math.max(0, (await (await seen).jsonValue()) - asked));
    site.run(["tools", "call", "reject", id, "--reason", "seen"]);
  }
  waited.sort((left, right) => left - right);
  console.log(`visible after ${waited.map(Math.round).join(", ")} ms`);
  assert.ok(waited.at(-2) < 1000, "300 ms are promised; a busy machine gets more");
  nothingHappened(tab);
});

test("a call that changed since it was shown is not approved", async () => {
  const id = site.queue("note", "careful");
  const tab = await open(site);
  const { page } = tab;
  await visit(page, `#/waiting/${id}`);
  await page.waitForSelector(".argv >> text=careful");
  await page.keyboard.press("a");
  await page.waitForSelector("dialog[open]");
  const policy = site.read(".brigade/tools/policy.toml");
  site.write(".brigade/tools/policy.toml", policy.replace('"local-write", ', ""));
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog >> text=Nothing was decided");
  assert.equal(await page.locator("dialog button.primary").isVisible(), false);
  assert.equal(site.status(id), "pending");
  await page.keyboard.press("Escape");
  site.write(".brigade/tools/policy.toml", policy);
  site.run(["tools", "call", "reject", id, "--reason", "over"]);
  nothingHappened(tab, ["409"]);
});

test("pages of other sites change and read nothing", async () => {
  const tab = await open(site);
  const { context, seen } = tab;
  const target = `${site.served.url}/api/calls/${ids.second}/hold`;
  const html = `<!doctype html><form id=f method=post action="${target}" enctype="text/plain"><input name='{"reason":"' value='"}'></form>
    <iframe id=frame src="${site.served.url}/"></iframe>`;
  const other = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end(html)).listen(0, "127.0.0.1");
  await new Promise((ready) => other.once("listening", ready));
  const evil = await context.newPage();
  await evil.goto(`http://127.0.0.1:${other.address().port}/`);
  const read = await evil.evaluate(async (url) => {
    const results = [];
    for (const [mode, headers] of [["cors", { "Content-Type": "application/json" }], ["cors", { "Content-Type": "text/plain" }], ["no-cors", { "Content-Type": "text/plain" }]]) {
      const answer = await fetch(url, { method: "POST", mode, credentials: "include", headers, body: '{"reason":"x"}' }).catch((error) => error.name);
      results.push(typeof answer === "string" ? answer : answer.type);
    }
    const answer = await fetch(url.replace(/api.*/, "api/waiting"), { credentials: "include" }).then((each) => each.text()).catch((error) => error.name);
    return [...results, answer];
  }, target);
  assert.deepEqual(read, ["TypeError", "TypeError", "opaque", "TypeError"]);
  assert.equal(await evil.evaluate(() => document.getElementById("frame").contentDocument), null);
  await Promise.all([evil.waitForNavigation(), evil.evaluate(() => document.getElementById("f").submit())]);
  assert.match(await evil.textContent("body"), /brigade.error.v1/);
  assert.equal(site.status(ids.second), "pending");
  other.close();
  assert.deepEqual(seen.dialogs, []);
});

test("a name that leads to this machine is not served", async () => {
  const { hostname, port } = new URL(site.served.url);
  const status = await new Promise((done) => {
    request({ hostname, port, path: "/login", headers: { Host: `rebound.example:${port}` } }, (answer) => done(answer.statusCode)).end();
  });
  assert.equal(status, 421);
});

test("hostile text stays text in every field", async () => {
  const evil = new Site().fill(HOSTILE[2]);
  try {
    const prd = JSON.parse(evil.read("brigade/tasks/prd-greeting.json"));
    prd.featureName = `${HOSTILE[0]} ${HOSTILE[33]}`;
    (prd.tasks ?? prd.userStories).forEach((task, index) => { task.title = HOSTILE[index + 2]; });
    evil.write("brigade/tasks/prd-evil.json", JSON.stringify(prd));
    const calls = HOSTILE.map((text) => evil.queue("greet", text));
    const ran = evil.queue("greet", `${HOSTILE[0]} ${HOSTILE[2]}`);
    evil.run(["tools", "call", "approve", ran]);
    evil.run(["tools", "call", "run", ran]);
    const runs = evil.json(["tools", "run", "list"]).runs.map((run) => run.id);
    const held = evil.queue("note", "held");
    evil.run(["tools", "call", "hold", held, "--reason", HOSTILE[4]]);
    await evil.serve();
    const tab = await open(evil);
    const { page } = tab;
    const places = [...VIEWS.filter((view) => view !== "kitchen/greeting"), "kitchen/evil", ...calls.map((id) => `waiting/${id}`), `waiting/${held}`,
      ...runs.map((id) => `runs/${id}`), ...calls.slice(0, 5).map((id) => `calls/${id}`), ...HOSTILE.map((text) => `waiting/${encodeURIComponent(text)}`)];
    for (const place of places) {
      await page.evaluate((to) => { location.hash = to; }, `#/${place}`);
      await page.waitForTimeout(60);
      const found = await page.evaluate(() => ({
        nodes: [...document.querySelectorAll("main script, main img, main iframe, main object, main embed, main video, main link, main style, main base, main meta, main math, main template, [onerror], [onload], [onclick], [onfocus], a[href^='javascript:'], a[href^='data:']")].map((node) => node.outerHTML),
        pwned: window.pwned ?? null, wide: document.documentElement.scrollWidth > window.innerWidth,
        unseen: [document.title, document.body.textContent, ...[...document.querySelectorAll("[title], [aria-label]")]
          .flatMap((node) => [node.title, node.getAttribute("aria-label")])].filter((text) => /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e0fff}]/u.test(text ?? "")).length,
      }));
      assert.deepEqual(found, { nodes: [], pwned: null, wide: false, unseen: 0 }, place);
    }
    await visit(page, `#/waiting/${calls[33]}`);
    assert.match(await page.locator(".detail .argv").innerText(), /202E/i, "what changes the direction of text is visible");
    nothingHappened(tab, ["404", "409"]);
  } finally {
    evil.end();
  }
});

test("axe finds nothing in any view, in light and dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const tab = await open(site, { colorScheme });
    const { page } = tab;
    const places = [...VIEWS, `calls/${ids.ran}`, "history?status=rejected", "dialog"];
    for (const place of places) {
      if (place === "dialog") {
        await visit(page, "#/waiting");
        await page.keyboard.press("r");
        await page.waitForSelector("dialog[open]");
      } else {
        await visit(page, `#/${place}`);
      }
      // The page lets no other script in, so it is added by the debugger.
      await page.evaluate(AXE);
      const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
      const texts = found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3).join("\n")}`);
      assert.deepEqual(texts, [], `${place} ${colorScheme}`);
    }
    await tab.context.close();
  }
});

test("everything fits from 320 pixels up", async () => {
  const folder = process.env.BRIGADE_SCREENSHOTS;
  for (const [width, colorScheme] of [[320, "light"], [768, "dark"], [1440, "light"]]) {
    const tab = await open(site, { viewport: { width, height: width === 320 ? 640 : 900 }, colorScheme });
    for (const view of [...VIEWS, `calls/${ids.ran}`]) {
      await visit(tab.page, `#/${view}`);
      const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert.ok(wide <= 0, `${view} is ${wide} pixels too wide at ${width}`);
      if (folder) await tab.page.screenshot({ path: `${folder}/${view.replace("/", "-").slice(0, 24)}-${width}.png`, fullPage: true });
    }
    nothingHappened(tab);
    await tab.context.close();
  }
});

test("the first view of a long history is fast", async () => {
  const tab = await open(site);
  const started = Date.now();
  await tab.page.goto(`${site.served.url}/#/history`);
  await tab.page.waitForSelector("main table, main .empty");
  console.log(`history after ${Date.now() - started} ms`);
  await tab.context.close();
});

test("empty views say how something comes there", async () => {
  const bare = new Site().clear();
  try {
    await bare.serve("--no-review");
    const tab = await open(bare);
    for (const view of ["waiting", "history", "runs", "kitchen", "charts", "servers"]) {
      await visit(tab.page, `#/${view}`);
      assert.equal(await tab.page.locator("main .empty code").count(), 1, view);
      if (process.env.BRIGADE_SCREENSHOTS) await tab.page.screenshot({ path: `${process.env.BRIGADE_SCREENSHOTS}/empty-${view}.png` });
    }
    nothingHappened(tab);
    const folder = process.env.BRIGADE_SCREENSHOTS;
    if (folder) {
      await tab.page.goto(`${bare.served.url}/login`);
      await tab.page.screenshot({ path: `${folder}/login.png` });
    }
  } finally {
    bare.end();
  }
});
