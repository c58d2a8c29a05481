//! Compares the MCP servers that agent programs list with those that `tools discover` reads.
//!
//! Each program adds servers to its files, in a temporary home and without an account. Both its own list and `discover`
//! must then show exactly these servers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::install::quiet;
use crate::cargo::run_command;
use crate::repository::Failure;

/// The npm packages with their versions.
const NPM: &[&str] = &[
    "@openai/codex@0.171.0",
    "@anthropic-ai/claude-code@2.1.197",
    "@google/gemini-cli@0.61.0",
    "@qwen-code/qwen-code@0.15.10",
    "opencode-ai@1.18.33",
];

/// Scripts that complete the installation of packages.
const SCRIPTS: &[&str] =
    &["node_modules/@anthropic-ai/claude-code/install.cjs", "node_modules/opencode-ai/postinstall.mjs"];

/// An address that does not answer.
const URL: &str = "http://127.0.0.1:9/mcp";

/// A program, and how it adds and lists servers.
struct Program {
    label: &'static str,
    adds: &'static [&'static [&'static str]],
    list: &'static [&'static str],
    servers: &'static [Server],
}

/// A server as it was added.
struct Server {
    name: &'static str,
    scope: &'static str,
    transport: &'static str,
    /// The words of its command, or its address.
    words: &'static [&'static str],
    env_labels: &'static [&'static str],
    header_names: &'static [&'static str],
    timeout: Option<f64>,
}

const fn local(name: &'static str, scope: &'static str) -> Server {
    Server {
        name,
        scope,
        transport: "stdio",
        words: &["no-such-server", "--root", "."],
        env_labels: &[],
        header_names: &[],
        timeout: None,
    }
}

const fn remote(name: &'static str, scope: &'static str, transport: &'static str) -> Server {
    Server { transport, words: &[URL], ..local(name, scope) }
}

const PROGRAMS: &[Program] = &[
    Program {
        label: "codex",
        adds: &[
            &["mcp", "add", "one", "--env", "ONE_KEY=v", "--", "no-such-server", "--root", "."],
            &["mcp", "add", "far", "--url", URL, "--bearer-token-env-var", "FAR_TOKEN"],
        ],
        list: &["mcp", "list", "--json"],
        servers: &[
            Server { env_labels: &["ONE_KEY"], ..local("one", "user") },
            Server {
                env_labels: &["FAR_TOKEN"],
                header_names: &["Authorization"],
                ..remote("far", "user", "http")
            },
        ],
    },
    Program {
        label: "claude",
        adds: &[
            &["mcp", "add", "one", "-s", "user", "-e", "ONE_KEY=v", "--", "no-such-server", "--root", "."],
            &["mcp", "add", "two", "-s", "project", "--", "no-such-server", "--root", "."],
            &["mcp", "add", "own", "-s", "local", "--", "no-such-server", "--root", "."],
            &["mcp", "add", "-t", "http", "far", "-s", "user", URL, "-H", "X-Team: a"],
            &["mcp", "add", "-t", "sse", "old", "-s", "project", URL],
        ],
        list: &["mcp", "list"],
        servers: &[
            Server { env_labels: &["ONE_KEY"], ..local("one", "user") },
            local("two", "project"),
            local("own", "local"),
            Server { header_names: &["X-Team"], ..remote("far", "user", "http") },
            remote("old", "project", "sse"),
        ],
    },
    Program {
        label: "gemini",
        adds: &[
            &["mcp", "add", "-s", "user", "-e", "ONE_KEY=v", "one", "no-such-server", "--", "--root", "."],
            &["mcp", "add", "-s", "project", "-t", "sse", "--timeout", "2500", "old", URL],
        ],
        list: &["mcp", "list"],
        servers: &[
            Server { env_labels: &["ONE_KEY"], ..local("one", "user") },
            Server { timeout: Some(2.5), ..remote("old", "project", "sse") },
        ],
    },
    Program {
        label: "qwen",
        adds: &[
            &["mcp", "add", "-s", "user", "-e", "ONE_KEY=v", "one", "no-such-server", "--", "--root", "."],
            &[
                "mcp",
                "add",
                "-s",
                "project",
                "-t",
                "http",
                "-H",
                "X-Team: a",
                "--timeout",
                "2500",
                "far",
                URL,
            ],
        ],
        list: &["mcp", "list"],
        servers: &[
            Server { env_labels: &["ONE_KEY"], ..local("one", "user") },
            Server { header_names: &["X-Team"], timeout: Some(2.5), ..remote("far", "project", "http") },
        ],
    },
    Program {
        label: "opencode",
        adds: &[
            &["mcp", "add", "one", "--env", "ONE_KEY=v", "--", "no-such-server", "--root", "."],
            &["mcp", "add", "far", "--url", URL, "--header", "X-Team=a"],
        ],
        list: &["mcp", "list"],
        servers: &[
            Server { env_labels: &["ONE_KEY"], ..local("one", "user") },
            Server { header_names: &["X-Team"], ..remote("far", "user", "http") },
        ],
    },
];

/// Compares all programs whose label contains the text.
pub fn compare_all(brigade: &Path, folder: &Path, only: Option<&str>) -> Result<(), Failure> {
    let programs = install(folder)?;
    let mut wrong = Vec::new();
    for program in PROGRAMS.iter().filter(|program| only.is_none_or(|text| program.label.contains(text))) {
        let found = compare(brigade, &programs, program)?;
        println!("{}: {} servers, {} not as expected", program.label, program.servers.len(), found.len());
        wrong.extend(found.into_iter().map(|found| format!("{}: {found}", program.label)));
    }
    for finding in &wrong {
        eprintln!("  {finding}");
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::new("the lists of agent programs differ from `discover`"))
    }
}

/// Installs the programs that are missing, and returns their directory.
fn install(folder: &Path) -> Result<PathBuf, Failure> {
    let (bin, mark) = (folder.join("node_modules/.bin"), folder.join("installed.txt"));
    let wanted = NPM.join("\n");
    if fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
        return Ok(bin);
    }
    fs::create_dir_all(folder).map_err(Failure::at(folder))?;
    let manifest = folder.join("package.json");
    fs::write(&manifest, "{\"private\": true}\n").map_err(Failure::at(&manifest))?;
    println!("installing {}", NPM.join(" "));
    let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    run_command(quiet(Command::new("npm").args(words).args(NPM).current_dir(folder)))?;
    for script in SCRIPTS {
        run_command(quiet(Command::new("node").arg(script).current_dir(folder)))?;
    }
    fs::write(&mark, wanted).map_err(Failure::at(&mark))?;
    Ok(bin)
}

/// Lets a program add its servers, and returns the differences.
fn compare(brigade: &Path, programs: &Path, program: &Program) -> Result<Vec<String>, Failure> {
    let place = tempfile::tempdir()
        .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))?;
    let [home, workspace] = ["home", "workspace"].map(|name| place.path().join(name));
    for folder in [&home, &workspace] {
        fs::create_dir(folder).map_err(Failure::at(folder))?;
    }
    let run = |file: &Path, words: &[&str]| -> Result<String, Failure> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut command = Command::new(file);
        command.args(words).current_dir(&workspace).stdin(Stdio::null()).env_clear();
        let output = command.env("PATH", path).env("HOME", &home).output();
        let output =
            output.map_err(|error| Failure::new(format!("cannot run {}: {error}", file.display())))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::new(format!("{} {words:?}: {text}{errors}", file.display())));
        }
        // Some programs write their list to standard error.
        Ok(if text.trim().is_empty() { String::from_utf8_lossy(&output.stderr).into_owned() } else { text })
    };
    let file = programs.join(program.label);
    for words in program.adds {
        run(&file, words)?;
    }
    let words = ["tools", "discover", "--json", "--source", "mcp", "--harness", program.label];
    let found = run(brigade, &words)?;
    let found: Value = serde_json::from_str(&found)
        .map_err(|error| Failure::new(format!("`tools discover` wrote no JSON: {error}")))?;
    let entries = found["entries"].as_array().cloned().unwrap_or_default();
    let mut wrong = Vec::new();
    for server in program.servers {
        match entries.iter().find(|entry| entry["name"] == server.name) {
            Some(entry) => wrong.extend(server.differences(entry)),
            None => wrong.push(format!("discover does not find `{}`", server.name)),
        }
    }
    let names = |names: &mut dyn Iterator<Item = String>| names.collect::<BTreeSet<String>>();
    let of_discover =
        names(&mut entries.iter().filter_map(|entry| entry["name"].as_str().map(str::to_owned)));
    let list = run(&file, program.list)?;
    let own = parse_list(&list);
    let of_program = names(&mut own.iter().map(|(name, _)| name.clone()));
    if of_discover != of_program {
        wrong.push(format!("discover has {of_discover:?}, and its own list {of_program:?}: {list}"));
    }
    for server in program.servers {
        let line = server.words.join(" ");
        if !own.iter().any(|(name, text)| name == server.name && text.contains(&line)) {
            wrong.push(format!("its own list does not say `{line}` of `{}`: {list}", server.name));
        }
    }
    Ok(wrong)
}

impl Server {
    /// Returns the differences to an entry of `discover`.
    fn differences(&self, entry: &Value) -> Vec<String> {
        let is_local = self.transport == "stdio";
        let host = URL.split('/').nth(2);
        let expected = serde_json::json!({
            "transport": self.transport,
            "command": if is_local { self.words } else { &[] },
            "env_labels": self.env_labels,
            "header_names": self.header_names,
            "url_host": host.filter(|_| !is_local),
            "enabled": true,
        });
        let members = expected.as_object().into_iter().flatten();
        let mut wrong: Vec<String> = members
            .filter(|(key, value)| entry[key.as_str()] != **value)
            .map(|(key, value)| format!("`{}`: {key} is {}, not {value}", self.name, entry[key.as_str()]))
            .collect();
        if entry["timeout"].as_f64() != self.timeout {
            wrong.push(format!("`{}`: timeout is {}, not {:?}", self.name, entry["timeout"], self.timeout));
        }
        let origins = entry["origins"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !origins.iter().any(|origin| origin["scope"] == self.scope) {
            wrong.push(format!("`{}`: no origin has the scope {}", self.name, self.scope));
        }
        wrong
    }
}

/// Reads the list of a program: JSON, lines such as `✓ NAME: COMMAND - Connected`, or `● ✓ NAME connected` with its
/// command below. Returns names and texts.
fn parse_list(list: &str) -> Vec<(String, String)> {
    if let Ok(Value::Array(rows)) = serde_json::from_str(list) {
        let row = |row: &Value| {
            let transport = &row["transport"];
            let words = transport["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let first = transport["command"].as_str().or(transport["url"].as_str());
            let words: Vec<&str> = first.into_iter().chain(words).collect();
            (row["name"].as_str().unwrap_or_default().to_owned(), words.join(" "))
        };
        return rows.iter().map(row).collect();
    }
    if let Some((_, rows)) = list.split_once('●') {
        let name = |row: &str| row.split_whitespace().nth(1).unwrap_or_default().to_owned();
        return rows.split('●').map(|row| (name(row), row.to_owned())).collect();
    }
    let row = |line: &str| {
        let (name, text) = line.split_once(": ")?;
        let name = name.rsplit(' ').next()?;
        let is_server = text.contains("no-such-server") || text.contains(URL);
        is_server.then(|| (name.to_owned(), text.to_owned()))
    };
    list.lines().filter_map(row).collect()
}
