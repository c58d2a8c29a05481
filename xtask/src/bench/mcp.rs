//! Measures calls of MCP tools, compared with a bare client of the same server, and the status of many runtimes.
//!
//! The whole command is measured, including the server. The bare client starts the server, performs the handshake,
//! lists the tools, calls one, closes the server's input and waits until it ends. The difference is the cost of
//! Brigade.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::measure::{Measurer, Process};
use super::program::Program;
use super::table::{Row, Table, Target};
use crate::mcp_client::Client;
use crate::repository::{Failure, Repository};
use crate::workspace::Workspace;

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
    let args: Value =
        serde_json::from_str(&arguments.args).map_err(|error| Failure::new(error.to_string()))?;
    let mut command = Command::new(&arguments.server[0]);
    command.args(&arguments.server[1..]);
    let mut client = Client::start(command, Path::new("."))?;
    client.ask("tools/list", &json!({}))?;
    client.ask("tools/call", &json!({"name": arguments.tool, "arguments": args}))?;
    client.end()
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
    );
    for server in servers(repository) {
        let place = workspace(brigade)?;
        write_server(&place, &server)?;
        let call = |number: usize| {
            place.approved("say", &json!({server.argument: format!("hello {number}")}).to_string())
        };
        let calls = (0..=turns).map(call).collect::<Result<Vec<_>, _>>()?;
        let bare = |_| {
            let mut arguments = vec!["mcp-client".to_owned(), server.tool.to_owned()];
            arguments.push(json!({server.argument: "hello"}).to_string());
            arguments.extend(server.command.iter().cloned());
            Process { arguments, ..Process::new(measurer.program(), &place.root()) }
        };
        let run = |turn: usize| brigade.process(&place.root(), words(&["call", "run", &calls[turn]]));
        let figures = measurer.compare(turns, &bare, &run)?;
        table
            .rows
            .push(Row::new(&format!("call run, {}", server.name), figures).targets([Target::More(MORE)]));
    }
    let place = workspace(brigade)?;
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

/// Makes an empty workspace with a policy.
fn workspace(brigade: &Program) -> Result<Workspace, Failure> {
    let workspace = Workspace::new(brigade.path())?;
    workspace.write(".brigade/tools.toml", "")?;
    workspace.write(
        ".brigade/tools/policy.toml",
        "allowed_families = [\"mcp\"]\nallowed_effects = [\"local-read\"]\nrequired_approval_modes = [\"on-request\", \"always\"]\n\
         max_timeout = 60\n",
    )?;
    Ok(workspace)
}

/// Writes the entry of a tool, and starts its runtime.
fn write_server(place: &Workspace, server: &Server) -> Result<(), Failure> {
    let command = server.command.join(" ");
    let entry = format!(
        "[[tool]]\nid = \"say\"\nname = \"Say\"\nfamily = \"mcp\"\ncommand = {command:?}\nruntime_id = \"voice\"\n\
             mcp_tool_name = \"{}\"\ninput_schema_path = \"say.json\"\ntimeout = 30\npermissions = [\"speak\"]\n\
             effects = [\"local-read\"]\napproval_mode = \"always\"\n",
        server.tool
    );
    place.write(".brigade/tools.toml", &entry)?;
    place.write("say.json", r#"{"type": "object"}"#)?;
    place.write(".brigade/tools/runtimes.toml", &runtime("voice"))?;
    place.start("voice")
}
