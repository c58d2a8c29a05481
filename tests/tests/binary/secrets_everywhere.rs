//! A bound value in any text of entries, runtimes, schemas and files of agent programs is never shown or stored, but
//! programs get it unchanged.

use brigade_tests::Site;
use serde_json::{Value, json};

use crate::secrets_canaries::forms;

const VALUE: &str = "Zq7tail-EXAMPLE";

/// The files into which a person wrote the value.
const WRITTEN: &[&str] = &[
    ".brigade/tools.toml",
    ".brigade/tools/runtimes.toml",
    ".mcp.json",
    ".claude/",
    "schemas/",
    "examples/",
    "new.toml",
];

struct SecretsSite {
    site: Site,
}

impl Drop for SecretsSite {
    fn drop(&mut self) {
        let _ = self.site.brigade.command(["tools", "runtime", "stop", "helper"]).output();
    }
}

impl SecretsSite {
    fn new() -> SecretsSite {
        let site = Site::script("").env("CANARY", VALUE);
        site.workspace.replace(".brigade/tools/policy.toml", "[\"script\"]", "[\"script\", \"mcp\"]");
        let write = |path: &str, text: &str| site.workspace.write(path, text.replace("VALUE", VALUE));
        let folder = |path: &str| path.replace("VALUE", VALUE);
        site.workspace.write("bin/run.sh", "printf '%s\n' \"${PWD##*/}\"\n");
        site.workspace.write("bin/wait.sh", "exec sleep 600\n");
        write(&folder("VALUE/health.json"), "{}");
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string", "description": "as VALUE says", "enum": ["VALUE", "x"]},
            "VALUE": {"type": "string"},
        }});
        write(&folder("schemas/VALUE.json"), &schema.to_string());
        write("examples/tool.json", r#"[{"a": "VALUE", "VALUE": "x"}]"#);
        let lines = r#"env_labels = ["GITHUB_TOKEN"]
description = "Tries VALUE"
cwd = "VALUE"
input_schema_path = "schemas/VALUE.json"
health_path = "VALUE/health.json"
permissions = ["read-files", "read:VALUE"]
aliases = ["tool-VALUE"]
categories = ["things of VALUE"]
capabilities = ["try things", "try VALUE"]
capability = ["old VALUE"]
domain = "about VALUE"
data = ["VALUE/*.txt"]
version_command = "true VALUE"
version = ">=1"
"#;
        let tables = r#"[tool.argument_template]
a = "{a}VALUE"
[tool.source]
provider = "VALUE"
path = "VALUE/x"
[tool.install]
check = "sh bin/run.sh VALUE"
command = ["sh bin/run.sh VALUE", "true VALUE"]
docs = "https://VALUE.example"
[tool.cost]
per_call = 1
unit = "VALUE"
"#;
        let tool = Site::entry("tool", "sh ../bin/run.sh", lines) + tables;
        let absent = Site::entry(
            "absent",
            "bin/VALUE x",
            "cwd = \"no/VALUE\"\ninput_schema_path = \"no/VALUE\"\nsource_path = \"no/VALUE.md\"\nsupported_harnesses = [\"claude\"]\n",
        );
        let remote = "family = \"mcp\"\nruntime_id = \"gone\"\nruntime_health_path = \"VALUE/health.json\"\nmcp_tool_name = \"echo\"\n";
        let remote = Site::entry("say", "python3 VALUE.py", remote);
        let lines = "description = \"Of VALUE\"\nsupported_harnesses = [\"claude\"]\nprojections = { claude = \".claude/commands/p.md\" }\n";
        let projected = Site::entry("projected", "sh bin/run.sh", lines);
        write(".brigade/tools.toml", &[tool, absent, remote, projected].join("\n"));
        write("new.toml", "[[tool]]\nid = 'new'\nname = 'New'\nfamily = 'script'\ncommand = 'x VALUE'\n");
        let helper = "[[runtime]]\nid = 'helper'\nname = 'Of VALUE'\ncommand = 'sh ../bin/wait.sh'\ncwd = 'VALUE'\n\
                      health_command = 'true VALUE'\nhealth_path = 'VALUE/health.json'\n\
                      timeout = 5\n";
        let gone = "[[runtime]]\nid = 'gone'\nname = 'Gone'\ncommand = 'bin/VALUE'\ncwd = 'no/VALUE'\n";
        write(".brigade/tools/runtimes.toml", &[helper, gone].join("\n"));
        let servers = json!({"mcpServers": {
            "local": {"command": "npx", "args": ["-y", "thing", "VALUE", "--x=VALUE"], "cwd": "VALUE"},
            "remote": {"type": "http", "url": "https://VALUE.example/mcp", "headers": {"X-VALUE": "${T}"}},
            "plain": {"command": "npx", "args": ["-y", "thing"]},
        }});
        write(".mcp.json", &servers.to_string());
        write(".claude/skills/skilled/SKILL.md", "---\nname: skilled\ndescription: Tries VALUE\n---\nText\n");
        site.workspace.git_init();
        SecretsSite { site }
    }

    /// Runs a command as text and as JSON, and searches its output and its files for the value. Returns the lines that
    /// contain it.
    #[track_caller]
    fn leaks(&self, words: &[&str]) -> Vec<String> {
        let mut leaks = Vec::new();
        for more in [&[][..], &["--json"]] {
            let run = self.site.tools(words.iter().chain(more));
            assert_ne!(run.code(), Some(2), "no such command: {words:?}\n{run}");
            let said = run.stdout_text() + &run.stderr_text();
            let lines = said.lines().filter(|line| forms(VALUE).iter().any(|form| line.contains(form)));
            leaks.extend(lines.map(|line| format!("{}: {line}", words.join(" "))));
        }
        self.nowhere();
        leaks
    }

    #[track_caller]
    fn nowhere(&self) {
        let folder = format!("{VALUE}/");
        for form in forms(VALUE) {
            self.site.assert_nowhere(form.as_bytes(), &[WRITTEN, &[".git/", &folder]].concat());
        }
    }
}

#[test]
fn a_bound_value_in_any_text_is_hidden() {
    let everywhere = SecretsSite::new();
    let site = &everywhere.site;
    let id = site.queue("tool", r#"{"a": "x"}"#);
    let of_call: [&[&str]; 3] = [&["call", "show", &id], &["call", "approve", &id], &["call", "run", &id]];
    let none: Vec<String> = Vec::new();
    assert_eq!(of_call.iter().flat_map(|words| everywhere.leaks(words)).collect::<Vec<_>>(), none);
    let run = site.tools(["run", "latest", "--json"]).json();
    assert_eq!(run["run"]["status"], "completed", "{run:#}");
    site.json(["runtime", "start", "helper"]).expect(0);
    let started = site.json(["runtime", "show", "helper"]).expect(0);
    assert!(!started.to_string().contains("runtime_outdated"), "{started:#}");
    let commands: &[&[&str]] = &[
        &["runtime", "show", "helper"],
        &["runtime", "list"],
        &["runtime", "status"],
        &["runtime", "doctor"],
        &["runtime", "logs", "helper"],
        &["runtime", "start", "gone"],
        &["discover"],
        &["sync", "--dry-run"],
        &["sync"],
        &["sync"],
        &["list"],
        &["list", "--level", "discovered"],
        &["list", "--category", "data"],
        &["register", "mcp:local", "--dry-run"],
        &["register", "mcp:local"],
        &["register", "mcp:remote", "mcp:plain", "skill:skilled", "--replace"],
        &["doctor"],
        &["show", "tool"],
        &["show", "remote"],
        &["show", "absent"],
        &["describe", "tool"],
        &["describe", "absent"],
        &["contracts"],
        &["search", "things"],
        &["search", "tries"],
        &["search", "thing"],
        &["find", "--capability", "try things"],
        &["find", "--capability", "tries"],
        &["find", "--source", "mcp"],
        &["stats"],
        &["check", "--all"],
        &["check", "--all", "--run-checks"],
        &["check", "tool"],
        &["install", "tool", "--dry-run"],
        &["call", "plan", "tool", "--args", r#"{"a": "x"}"#],
        &["call", "plan", "absent"],
        &["call", "plan", "say"],
        &["call", "list"],
        &["run", "latest"],
        &["run", "list"],
        &["run", "verify"],
        &["import-issues"],
        &["plan"],
        &["apply", "--all"],
        &["register", "new.toml"],
        &["policy", "explain", "tool"],
        &["state", "export"],
        &["state", "check"],
        &["pack", "list"],
        &["runtime", "stop", "helper"],
    ];
    for source in ["new.toml", "mcp:local"] {
        let refused = site.json(["register", source]).expect(1);
        assert_eq!(refused["errors"][0]["code"], "secret_in_entry", "{refused:#}");
    }
    let plan = site.json(["plan"]).json;
    let rows = plan["projections"].as_array().expect("a plan has projections");
    let row = rows.iter().find(|row| row["tool_id"] == "projected").expect("it is planned");
    assert_eq!((&row["status"], &row["reason"]), (&json!("invalid"), &json!("bound-value")), "{row:#}");
    let leaks: Vec<String> = commands.iter().flat_map(|words| everywhere.leaks(words)).collect();
    assert_eq!(leaks, none, "{leaks:#?}");
}

/// Discovery masks what `register` refuses in a file. Both treat ordinary words as not secret.
#[test]
fn a_file_is_judged_as_discovery_judges() {
    let secret = [
        "--pw V4bc12345x",
        "-basic u:V4bc12345x",
        "--pat V4bc12345x",
        "--jwt V4bc12345x --otp 123456",
        "--cookie V4bc12345x",
        "-u bob:V4bc12345x",
        "--hmac V4bc12345x",
    ];
    let plain = [
        "--private-key ~/.ssh/id",
        "--api-key YOUR_API_KEY",
        "--secret id=npm,src=.npmrc",
        "--token $TOKEN",
        "--token ${TOKEN}",
        "--bearer-token-env-var FOO",
        "--apikey-header X-Key",
        "--authorization enabled",
        "-u localhost:8080",
        "--session main",
    ];
    let site = Site::script("");
    let lines = || secret.iter().chain(&plain).enumerate();
    let tools: Vec<Value> = lines()
        .map(|(at, words)| {
            let install = json!({"check": format!("jq {words}"), "command": [format!("jq {words}")]});
            json!({"id": format!("k{at}"), "source": {"type": "cli", "command": format!("jq {words}")},
                "install": install})
        })
        .collect();
    site.workspace.write("tools.json", json!({"tools": tools}).to_string());
    let servers = lines().map(|(at, words)| {
        let args: Vec<&str> = words.split(' ').collect();
        (format!("k{at}"), json!({"command": "jq", "args": args}))
    });
    let servers: serde_json::Map<String, Value> = servers.collect();
    site.workspace.write(".mcp.json", json!({"mcpServers": servers}).to_string());
    let registered = site.json(["register", "tools.json", "--dry-run"]).expect(1);
    let fields: Vec<&str> = registered["errors"]
        .as_array()
        .expect("it is refused")
        .iter()
        .filter_map(|error| error["field"].as_str())
        .collect();
    let found = site.json(["discover", "--harness", "claude", "--scope", "project"]).expect(0);
    let entries = found["entries"].as_array().expect("a document has entries");
    for (at, words) in lines() {
        let is_secret = at < secret.len();
        for field in ["command", "install.check", "install.command"] {
            let field = format!("k{at}.{field}");
            assert_eq!(fields.contains(&&*field), is_secret, "{words}: {field} of {fields:?}");
        }
        let entry = entries.iter().find(|entry| entry["name"] == format!("k{at}")).expect("it is found");
        let command = entry["command"].to_string();
        assert_eq!(command.contains("[redacted]"), is_secret, "{words}: {command}");
        let code = site.json(["register", &format!("mcp:k{at}@claude/project"), "--dry-run"]).code;
        assert_eq!(code, i32::from(is_secret), "{words}");
    }
}
