// A workspace with a served page, and a browser that is logged in.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { chromium } from "playwright-core";

const BRIGADE = process.env.BRIGADE_BINARY;
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

const POLICY = `allowed_families = ["script"]
allowed_effects = ["local-read", "local-write", "network"]
denied_effects = ["secret-read"]
required_approval_modes = ["on-request", "always"]
max_timeout = 60
`;

const SCHEMA = JSON.stringify({ type: "object", properties: { text: { type: "string" }, branch: { type: "string" } }, additionalProperties: false });

function tool(id, name, effects, more = "") {
  more += 'allow_option_values = ["text"]\n';
  return `[[tool]]\nid = ${JSON.stringify(id)}\nname = ${JSON.stringify(name)}\ndescription = ${JSON.stringify(name)}\nfamily = "script"\n` +
    `command = "sh bin/${id}.sh"\ninput_schema_path = "schemas/text.json"\nargument_template = { text = "{text}" }\n` +
    `approval_mode = "on-request"\neffects = ${JSON.stringify(effects)}\ntimeout = 60\n${more}\n`;
}

/** A workspace below a temporary directory. */
export class Site {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "brigade-web-"));
    [this.root, this.home] = [join(this.folder, "work"), join(this.folder, "home")];
    mkdirSync(this.home);
    this.environment = { PATH: process.env.PATH, HOME: this.home, LANG: "C.UTF-8" };
  }

  /** Makes the repository of the kitchen's demo, which was served, with tools beside it. */
  fill(hostile = "Greets someone") {
    this.run(["kitchen", "demo", "--in", this.root], this.folder);
    this.write("bin/greet.sh", "printf 'hello %s\\n' \"$1\"\n");
    this.write("bin/deploy.sh", "printf 'deployed %s\\n' \"$1\"\nexit 3\n");
    this.write("bin/note.sh", "printf '%s' \"$1\" >> notes.txt\n");
    this.write("schemas/text.json", SCHEMA);
    this.write(".brigade/tools/policy.toml", POLICY);
    this.write(".brigade/tools.toml", tool("greet", hostile, ["local-read"]) +
      tool("deploy", "Deploys a branch", ["network", "local-write"]) + tool("note", "Adds a note", ["local-write"]));
    this.write(".brigade/tools/gateway.toml", "[[agent]]\nname = \"local\"\n\n[[agent]]\nname = \"codex\"\n");
    return this;
  }

  /** Makes an empty workspace. */
  clear() {
    mkdirSync(join(this.root, ".brigade"), { recursive: true });
    return this;
  }

  write(path, text) {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  read(path) {
    return readFileSync(join(this.root, path), "utf8");
  }

  run(words, cwd = this.root) {
    try {
      return execFileSync(BRIGADE, words, { cwd, env: this.environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    } catch (error) {
      throw new Error(`brigade ${words.join(" ")}: ${error.stdout}${error.stderr}`);
    }
  }

  json(words) {
    return JSON.parse(this.run([...words, "--json"]));
  }

  /** Asks for a call, and returns its id. */
  queue(id, text) {
    return this.json(["tools", "call", "queue", id, "--args", JSON.stringify({ text })]).call.id;
  }

  status(id) {
    return this.json(["tools", "call", "show", id]).call.status;
  }

  async serve(...options) {
    this.server = spawn(BRIGADE, ["serve", "--web", "--listen", "127.0.0.1:0", ...options],
      { cwd: this.root, env: this.environment, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    this.server.stderr.on("data", (data) => { this.errors = `${this.errors ?? ""}${data}`; });
    for await (const data of this.server.stdout) {
      text += data;
      if (text.includes("\n")) break;
    }
    this.served = JSON.parse(text).web;
    return this;
  }

  /** Returns a new link that logs in. */
  link() {
    const { url, login_token } = JSON.parse(this.run(["serve", "--web", "--new-token"])).web;
    return `${url}/login#${login_token}`;
  }

  end() {
    this.server?.kill("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

let browser;

/** Opens a browser context, and a page that is logged in. Whatever should never happen is collected. */
export async function open(site, options = {}) {
  browser ??= await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const seen = { dialogs: [], requests: [], problems: [] };
  page.on("dialog", (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
  page.on("request", (request) => { if (!request.url().startsWith(`${site.served.url}/`)) seen.requests.push(request.url()); });
  page.on("pageerror", (error) => seen.problems.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") seen.problems.push(message.text()); });
  await page.goto(site.link());
  await page.waitForSelector("#link[data-state=good]");
  return { context, page, seen };
}

export async function close() {
  await browser?.close();
}

/** Opens a view of the page, and waits until it is drawn. */
export async function visit(page, hash) {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.waitForFunction(() => !document.querySelector(".loading"));
  await page.waitForTimeout(150);
}
