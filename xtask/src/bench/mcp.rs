//! Measures calls of MCP tools, compared with a bare client of the same server, and the status of many runtimes.
//!
//! The whole command is measured, including the server. The bare client starts the server, performs the handshake,
//! lists the tools, calls one, closes the server's input and waits until it ends. The difference is the cost of
//! Brigade.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::measure::{Measurer, Process};
use super::program::Program;
use super::table::{Row, Table, Target};
use crate::repository::{Failure, Repository};

/// How much longer a call may take than the bare client.
const MORE: Duration = Duration::from_millis(15);

/// How long the status of many runtimes may take, and their number.
const STATUS: Duration = Duration::from_millis(200);
const RUNTIMES: usize = 50;

/// Call a tool of an MCP server, as a reference for comparisons
#[derive(Debug, clap::Args)]
pub struct McpClientArguments {
    /// Name of the tool
    tool: String,
    /// Arguments of the call, as JSON
    args: String,
    /// Command line of the server
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    server: Vec<String>,
}

/// Runs the bare client.
pub fn mcp_client(arguments: &McpClientArguments) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(error.to_string());
    let args: Value =
        serde_json::from_str(&arguments.args).map_err(|error| Failure::new(error.to_string()))?;
    let mut server = Command::new(&arguments.server[0])
        .args(&arguments.server[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let mut input = server.stdin.take().expect("was piped");
    let mut lines = BufReader::new(server.stdout.take().expect("was piped")).lines();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "0"}});
    let requests = [
        ("initialize", hello),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": arguments.tool, "arguments": args})),
    ];
    for (id, (method, params)) in (1..).zip(requests) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").map_err(failed)?;
        loop {
            let line = lines.next().ok_or_else(|| Failure::new("the server ended"))?.map_err(failed)?;
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == id {
                break;
            }
        }
        if id == 1 {
            writeln!(input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).map_err(failed)?;
        }
    }
    drop(input);
    server.wait().map_err(failed)?;
    Ok(())
}

/// A server to call.
struct Server {
    name: &'static str,
    command: Vec<String>,
    tool: &'static str,
    argument: &'static str,
}

/// Returns the available servers: our own, and a published one if `cargo xtask interop` has installed it.
fn servers(repository: &Repository) -> Vec<Server> {
    let fixture = repository.root().join("fixtures/mcp/server.py").display().to_string();
    let python = ["/usr/bin/python3", "-S", "-E", &fixture].map(str::to_owned).to_vec();
    let mut servers =
        vec![Server { name: "ours, in Python", command: python, tool: "echo", argument: "text" }];
    let modules = repository.root().join("target/interop/npm/node_modules");
    let script = modules.join("@modelcontextprotocol/server-everything/dist/index.js");
    if script.exists() {
        let command = vec!["node".to_owned(), script.display().to_string()];
        servers.push(Server { name: "server-everything", command, tool: "echo", argument: "message" });
    }
    servers
}

/// Measures calls, and the status of many runtimes.
pub fn measure(
    repository: &Repository,
    brigade: &Program,
    measurer: &Measurer,
    turns: usize,
) -> Result<Table, Failure> {
    let mut table = Table::new(
        "MCP calls, beside a bare client of the same server; runtimes, beside /bin/true".to_owned(),
        false,
    );
    for server in servers(repository) {
        let place = Place::new(brigade)?;
        place.write_server(&server)?;
        let calls = place.approved(&server, turns + 1)?;
        let bare = |_| {
            let mut arguments = vec!["mcp-client".to_owned(), server.tool.to_owned()];
            arguments.push(json!({server.argument: "hello"}).to_string());
            arguments.extend(server.command.iter().cloned());
            Process {
                program: measurer.program().to_owned(),
                arguments,
                folder: place.root(),
                input: None,
                variables: None,
            }
        };
        let run = |turn: usize| brigade.process(&place.root(), words(&["call", "run", &calls[turn]]));
        let figures = measurer.compare(turns, &bare, &run)?;
        table
            .rows
            .push(Row::new(&format!("call run, {}", server.name), figures).targets([Target::More(MORE)]));
    }
    let place = Place::new(brigade)?;
    let entries = (0..RUNTIMES).map(|number| runtime(&format!("r{number}")) + "health_command = \"true\"\n");
    place.write(".brigade/tools/runtimes.toml", &entries.collect::<String>())?;
    for number in 0..RUNTIMES {
        place.start(&format!("r{number}"))?;
    }
    let nothing = |_| super::idle_process(&place.root());
    let status = |_| brigade.process(&place.root(), words(&["runtime", "status"]));
    let figures = measurer.compare(turns, &nothing, &status)?;
    let name = format!("runtime status, {RUNTIMES} that run");
    table.rows.push(Row::new(&name, figures).targets([Target::Within(STATUS)]));
    Ok(table)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn runtime(id: &str) -> String {
    format!("[[runtime]]\nid = \"{id}\"\nname = \"{id}\"\ncommand = \"sleep 600\"\ntimeout = 10\n")
}

/// A temporary workspace, whose runtimes are stopped when it is dropped.
struct Place<'a> {
    folder: tempfile::TempDir,
    brigade: &'a Program,
    started: std::cell::RefCell<Vec<String>>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        for id in self.started.take() {
            let _ = self.brigade.output(&self.root(), &words(&["runtime", "stop", &id]));
        }
    }
}

impl<'a> Place<'a> {
    fn new(brigade: &'a Program) -> Result<Place<'a>, Failure> {
        let folder = tempfile::tempdir().map_err(|error| Failure::new(error.to_string()))?;
        let place = Place { folder, brigade, started: Default::default() };
        place.write(".brigade/tools.toml", "")?;
        place.write(
            ".brigade/tools/policy.toml",
            "allowed_families = [\"mcp\"]\nallowed_effects = [\"local-read\"]\nrequired_approval_modes = [\"always\"]\n\
             max_timeout = 60\n",
        )?;
        Ok(place)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.path().join(path);
        let parent = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(parent).map_err(Failure::at(parent))?;
        std::fs::write(&path, text).map_err(Failure::at(&path))
    }

    fn start(&self, id: &str) -> Result<(), Failure> {
        self.started.borrow_mut().push(id.to_owned());
        let started = self.document(&["runtime", "start", id, "--json"])?;
        if started["started"] == 1 { Ok(()) } else { Err(Failure::new(format!("no runtime: {started}"))) }
    }

    fn document(&self, line: &[&str]) -> Result<Value, Failure> {
        let output = self.brigade.output(&self.root(), &words(line))?;
        serde_json::from_slice(&output)
            .map_err(|_| Failure::new(format!("{} printed no document", line.join(" "))))
    }

    /// Writes the entry of a tool, and starts its runtime.
    fn write_server(&self, server: &Server) -> Result<(), Failure> {
        let command = server.command.join(" ");
        let entry = format!(
            "[[tool]]\nid = \"say\"\nname = \"Say\"\nfamily = \"mcp\"\ncommand = {command:?}\nruntime_id = \"voice\"\n\
             mcp_tool_name = \"{}\"\ninput_schema_path = \"say.json\"\ntimeout = 30\npermissions = [\"speak\"]\n\
             effects = [\"local-read\"]\napproval_mode = \"always\"\n",
            server.tool
        );
        self.write(".brigade/tools.toml", &entry)?;
        self.write("say.json", r#"{"type": "object"}"#)?;
        self.write(".brigade/tools/runtimes.toml", &runtime("voice"))?;
        self.start("voice")
    }

    /// Queues and approves calls, and returns their ids.
    fn approved(&self, server: &Server, count: usize) -> Result<Vec<String>, Failure> {
        let call = |number: usize| {
            let args = json!({server.argument: format!("hello {number}")}).to_string();
            let queued = self.document(&["call", "queue", "say", "--args", &args, "--json"])?;
            let id = queued["call"]["id"].as_str().unwrap_or_default().to_owned();
            let approved = self.document(&["call", "approve", &id, "--json"])?;
            if approved["call"]["status"] == "approved" {
                Ok(id)
            } else {
                Err(Failure::new(format!("not approved: {queued} {approved}")))
            }
        };
        (0..count).map(call).collect()
    }
}
