//! The served workspace.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::repository::{Failure, Repository};

/// The MCP server that the gateway serves.
const SERVER: &str = "fixtures/mcp/conformance.py";

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

/// A temporary workspace.
#[derive(Debug)]
pub struct Workspace {
    folder: tempfile::TempDir,
    brigade: PathBuf,
}

/// A running server. Dropping it ends the server.
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

impl Drop for Workspace {
    fn drop(&mut self) {
        for runtime in SERVERS {
            let _ = self.command(&["tools", "runtime", "stop", runtime]).output();
        }
    }
}

impl Workspace {
    /// Imports and enables the tools, and starts their runtime.
    pub fn make(repository: &Repository) -> Result<Workspace, Failure> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))?;
        let workspace = Workspace { folder, brigade: repository.root().join("target/debug/brigade") };
        let server = repository.root().join(SERVER);
        workspace.write("server.py", &fs::read_to_string(&server).map_err(Failure::at(&server))?)?;
        workspace.write(".brigade/tools/policy.toml", POLICY)?;
        workspace.write(".brigade/tools/runtimes.toml", RUNTIMES)?;
        for runtime in SERVERS {
            workspace.tools(&["import", "mcp", runtime])?;
        }
        let path = workspace.folder.path().join(".brigade/tools.toml");
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
        for runtime in SERVERS {
            workspace.tools(&["runtime", "start", runtime])?;
        }
        Ok(workspace)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.path().join(path);
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(Failure::at(parent))?;
        fs::write(&path, text).map_err(Failure::at(&path))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.brigade);
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn tools(&self, words: &[&str]) -> Result<(), Failure> {
        let output = self.command(&[&["tools"], words].concat()).output();
        let output = output
            .map_err(|error| Failure::new(format!("cannot run {}: {error}", self.brigade.display())))?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                Err(Failure::new(format!("`brigade tools {}` failed: {said}", words.join(" "))))
            }
        }
    }

    /// Serves the workspace to the agent `local`, without a token.
    pub fn serve(&self) -> Result<Server, Failure> {
        // The configuration must allow the origin of the suite, which contains the port.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = port.map_err(|error| Failure::new(format!("no port is free: {error}")))?.port();
        let config = format!(
            "[http]\nallowed_origins = [\"http://127.0.0.1:{port}\", \"http://localhost:{port}\"]\n\n\
             [[agent]]\nname = \"local\"\nconfirm = \"elicitation\"\nconfirm_risk = \"low\"\n{UPSTREAM}"
        );
        self.write(".brigade/tools/gateway.toml", &config)?;
        let address = format!("127.0.0.1:{port}");
        let mut command = self.command(&["serve", "--http", &address, "--no-token", "--as", "local"]);
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
            _ => line.replace("enabled = false", "enabled = true").replace(
                "approval_mode = \"always\"",
                "approval_mode = \"on-request\"\npermissions = [\"suite\"]\neffects = [\"local-read\"]",
            ),
        };
        catalog.push_str(&line);
        catalog.push('\n');
    }
    (catalog, names)
}
