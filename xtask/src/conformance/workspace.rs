//! The served workspace.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::repository::{Failure, Repository};
use crate::workspace::Workspace;

/// The MCP server that the gateway serves.
const SERVER: &str = "fixtures/mcp/conformance.py";

/// The configuration of the gateway.
const GATEWAY: &str = ".brigade/tools/gateway.toml";

const POLICY: &str = r#"allowed_families = ["mcp"]
allowed_effects = ["local-read"]
required_approval_modes = ["on-request", "always"]
max_timeout = 60
[sandbox]
mode = "enforce"
observe = "never"
"#;

/// The server runs twice: with a handshake, and without.
const RUNTIMES: &str = r#"[[runtime]]
id = "server"
name = "Server"
command = "python3 -S -E server.py"
timeout = 20

[[runtime]]
id = "stateless"
name = "Server without a handshake"
command = "python3 -S -E server.py stateless"
timeout = 20
"#;

/// The runtimes, each of which is an MCP server.
const SERVERS: [&str; 2] = ["server", "stateless"];

/// Tools that no rule approves. The gateway asks the person at the client about them.
const CONFIRMED_TOOLS: [&str; 3] = [
    "test_streaming_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
];

/// Rules that approve reading resources and prompts, except the prompt that the gateway asks about.
const READS: &str = r#"
[[auto_approve]]
name = "resources"
effects = ["local-read"]
tools = ["resource.read"]

[[auto_approve]]
name = "prompts"
effects = ["local-read"]
tools = ["prompt.get"]
arguments = { name = "test_prompt_*" }
"#;

/// The resources and prompts of the server that the gateway offers.
const UPSTREAM: &str = r#"
[[upstream]]
id = "server"
resources = ["test://**"]
prompts = ["test_*"]
effects = ["local-read"]
sampling = true

[[upstream]]
id = "stateless"
sampling = true
"#;

/// A catalog text, which becomes a prompt.
const PROMPT: &str = r#"
[[tool]]
id = "test_simple_prompt"
name = "A simple prompt"
family = "slash-command"
description = "A text for testing."
source_path = "prompt.md"
"#;

/// A server of it. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    pub address: String,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Imports and enables the tools, and starts their runtime.
pub fn make(repository: &Repository, program: &Path) -> Result<Workspace, Failure> {
    let workspace = Workspace::new(program)?;
    let server = repository.root().join(SERVER);
    workspace.write("server.py", &fs::read_to_string(&server).map_err(Failure::at(&server))?)?;
    workspace.write(".brigade/tools/policy.toml", POLICY)?;
    workspace.write(".brigade/tools/runtimes.toml", RUNTIMES)?;
    for runtime in SERVERS {
        workspace.import(&[runtime])?;
    }
    let path = workspace.root().join(".brigade/tools.toml");
    let imported = fs::read_to_string(&path).map_err(Failure::at(&path))?;
    let (catalog, names) = reviewed(&imported);
    workspace.write(".brigade/tools.toml", &format!("{catalog}{PROMPT}"))?;
    workspace.write("prompt.md", "This is a simple prompt for testing.\n")?;
    let covered: Vec<&String> =
        names.iter().filter(|name| !CONFIRMED_TOOLS.contains(&name.as_str())).collect();
    let rule =
        format!("[[auto_approve]]\nname = \"suite\"\neffects = [\"local-read\"]\ntools = {covered:?}\n");
    let policy = format!("{POLICY}{rule}{READS}");
    workspace.write(".brigade/tools/policy.toml", &policy)?;
    // What the rules cover was reviewed.
    let mut words = vec!["trust", "--yes", "prompt.get", "resource.read"];
    words.extend(covered.iter().map(|name| name.as_str()));
    workspace.write(GATEWAY, UPSTREAM)?;
    let trusted = workspace.tools(&words)?;
    if trusted["trusted"] != true {
        return Err(Failure::new(format!("nothing was recorded as reviewed: {trusted}")));
    }
    for runtime in SERVERS {
        workspace.start(runtime)?;
    }
    Ok(workspace)
}

/// Serves the workspace to the agent `local`, without a token.
pub fn serve(workspace: &Workspace) -> Result<Server, Failure> {
    // The origin of the suite must stand in the configuration, and it has the port in it.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.map_err(|error| Failure::new(format!("no port is free: {error}")))?.port();
    let config = format!(
        "[http]\nallowed_origins = [\"http://127.0.0.1:{port}\", \"http://localhost:{port}\"]\n\n\
             [[agent]]\nname = \"local\"\nconfirm = \"elicitation\"\nconfirm_risk = \"low\"\n{UPSTREAM}"
    );
    workspace.write(GATEWAY, &config)?;
    let address = format!("127.0.0.1:{port}");
    let mut command = workspace.command(&["serve", "--http", &address, "--no-token", "--as", "local"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let child = child.map_err(|error| Failure::new(format!("the server does not start: {error}")))?;
    let mut server = Server { address: String::new(), child };
    let mut line = String::new();
    if let Some(output) = server.child.stdout.take() {
        let read = BufReader::new(output).read_line(&mut line);
        read.map_err(|error| Failure::new(format!("the server says nothing: {error}")))?;
    }
    let ready: Value = serde_json::from_str(&line)
        .map_err(|_| Failure::new("the server did not start; `brigade serve` says why"))?;
    server.address = ready["address"].as_str().unwrap_or_default().to_owned();
    Ok(server)
}

/// Enables imported entries and renames them to the names of the server. Also returns these names.
fn reviewed(imported: &str) -> (String, Vec<String>) {
    let mut names = Vec::new();
    let (mut catalog, mut lines) = (String::new(), imported.lines().peekable());
    while let Some(line) = lines.next() {
        let next = lines.peek().and_then(|next| next.strip_prefix("name = "));
        let line = match (line.starts_with("id = "), next) {
            (true, Some(name)) => {
                names.push(name.trim_matches('"').to_owned());
                format!("id = {name}")
            }
            _ => line.replace("enabled = false", "enabled = true\neffects = [\"local-read\"]"),
        };
        catalog.push_str(&line);
        catalog.push('\n');
    }
    (catalog, names)
}
