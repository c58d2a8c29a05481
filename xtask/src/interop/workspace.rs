//! A workspace for one server, and the binary that runs in it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::install::{InstalledServers, NODE_MODULES, python_prefix};
use super::servers::{Server, Trial};
use crate::cargo::run_command;
use crate::repository::Failure;
use crate::workspace::Workspace;

/// An environment value that no server may see.
const CANARY: &str = "canary-EXAMPLE-4711";

/// A workspace for one server.
pub struct ServerWorkspace(Workspace);

impl ServerWorkspace {
    pub fn make(
        brigade: &Path,
        installed: &InstalledServers,
        server: &Server,
    ) -> Result<ServerWorkspace, Failure> {
        let mut workspace = Workspace::within(installed.place()?, brigade)?;
        let root = workspace.root();
        workspace.variable("HOME", workspace.folder().join("home").display().to_string());
        workspace.variable("INTEROP_MEMORY", root.join("data/memory.jsonl").display().to_string());
        workspace.variable("INTEROP_CANARY", CANARY);
        workspace.write("../outside/secret.txt", "a secret\n")?;
        workspace.write("beside.txt", "not to be served\n")?;
        workspace.write("data/old.txt", "old\n")?;
        workspace.write("../home/.keep", "")?;
        for words in [
            &["init", "--quiet"][..],
            &["add", "beside.txt"],
            &[
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.org",
                "commit",
                "--quiet",
                "-m",
                "The first commit",
            ],
        ] {
            let mut git = Command::new("git");
            run_command(git.args(words).current_dir(workspace.root()).stdin(Stdio::null()))?;
        }
        let prefix = python_prefix(&installed.python())?;
        workspace.write(
            ".brigade/tools/policy.toml",
            &format!(
                "allowed_families = [\"mcp\"]\nallowed_effects = [\"local-read\", \"local-write\"]\n\
                 required_approval_modes = [\"on-request\", \"always\"]\nmax_timeout = 60\n\
                 env_bindings = {{ MEMORY_FILE_PATH = \"INTEROP_MEMORY\" }}\n\
                 [sandbox]\nmode = \"enforce\"\nread_paths = [{:?}, {:?}]\n",
                installed.venv().display().to_string(),
                prefix.display().to_string()
            ),
        )?;
        if server.command.contains(NODE_MODULES) {
            link_tree(&installed.node_modules(), &workspace.root().join(NODE_MODULES))?;
        }
        let workspace = ServerWorkspace(workspace);
        // The only runtime of the workspace is the server itself.
        let command = workspace.fill(&server.command);
        let runtime =
            format!("[[runtime]]\nid = \"helper\"\nname = \"Helper\"\ncommand = {command:?}\ntimeout = 20\n");
        workspace.0.write(".brigade/tools/runtimes.toml", &runtime)?;
        Ok(workspace)
    }

    /// Replaces the placeholders for directories.
    fn fill(&self, text: &str) -> String {
        let outside = self.0.folder().join("outside");
        text.replace("{workspace}", &self.0.root().display().to_string())
            .replace("{outside}", &outside.display().to_string())
    }

    /// Lists the tools of the server whose input schemas are not supported.
    pub fn unsupported(&self) -> Result<Vec<String>, Failure> {
        let imported = self.0.tools(&["import", "mcp", "helper", "--dry-run"])?;
        let tools = imported["tools"].as_array().cloned().unwrap_or_default();
        if tools.is_empty() || imported["listed_count"] != tools.len() {
            return Err(Failure::new(format!("not every tool was listed: {imported}")));
        }
        let bad = tools.iter().filter(|tool| tool["schema_problems"] != Value::Array(Vec::new()));
        Ok(bad.map(|tool| format!("{}: {}", tool["mcp_tool_name"], tool["schema_problems"])).collect())
    }

    /// Imports the tools that are called, reviews their entries, and starts the runtime.
    pub fn import(&self, server: &Server) -> Result<(), Failure> {
        let mut words = vec!["helper"];
        for trial in &server.trials {
            if !words.contains(&trial.tool) {
                words.extend(["--tool", trial.tool]);
            }
        }
        self.0.import(&words)?;
        let path = self.0.root().join(".brigade/tools.toml");
        let catalog = fs::read_to_string(&path).map_err(Failure::at(&path))?;
        let labels = if server.env_labels.is_empty() {
            String::new()
        } else {
            format!("env_labels = {:?}\n", server.env_labels)
        };
        let reviewed = format!("approval_mode = \"on-request\"\neffects = {:?}\n{labels}", server.effects);
        let catalog = catalog
            .replace("enabled = false", "enabled = true")
            .replace("approval_mode = \"on-request\"\n", &reviewed);
        fs::write(&path, catalog).map_err(Failure::at(&path))?;
        self.0.start("helper")
    }

    /// Queues, approves and runs a call, and returns its receipt.
    pub fn call(&self, server: &Server, trial: &Trial) -> Result<Value, Failure> {
        let path = self.0.root().join(".brigade/tools.toml");
        let catalog = fs::read_to_string(&path).map_err(Failure::at(&path))?;
        let timeouts = catalog.lines().map(|line| match line.strip_prefix("timeout = ") {
            Some(_) => format!("timeout = {}\n", trial.timeout),
            None => format!("{line}\n"),
        });
        let catalog: String = timeouts.collect();
        fs::write(&path, &catalog).map_err(Failure::at(&path))?;
        let id = tool_id(&catalog, trial.tool)
            .ok_or_else(|| Failure::new(format!("{} has no entry for {}", server.id, trial.tool)))?;
        let args = self.fill(&trial.args.to_string());
        let call = self.0.approved(&id, &args)?;
        let run = self.0.tools(&["call", "run", &call])?;
        if run["receipt"].is_null() {
            return Err(Failure::new(format!("not run: {}", run["blockers"])));
        }
        Ok(run["receipt"].clone())
    }

    /// Returns the files that contain the canary, and files written outside the sandbox.
    pub fn leaks(&self) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        let mut folders = vec![self.0.folder().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(Failure::at(&folder))? {
                let path = entry.map_err(Failure::at(&folder))?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = fs::read(&path)
                    && bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes())
                {
                    found.push(format!("{} holds a value of the environment", path.display()));
                }
            }
        }
        if self.0.folder().join("outside/new.txt").exists() {
            found.push("a server wrote outside of its sandbox".to_owned());
        }
        Ok(found)
    }
}

/// Creates a directory with hard links to the files of another one. Nothing writes to them.
fn link_tree(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(Failure::at(to))?;
    for entry in fs::read_dir(from).map_err(Failure::at(from))? {
        let entry = entry.map_err(Failure::at(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(Failure::at(&source))?;
        if kind.is_dir() {
            link_tree(&source, &target)?;
        } else if kind.is_file() {
            fs::hard_link(&source, &target).map_err(Failure::at(&source))?;
        }
    }
    Ok(())
}

/// Finds the id of a tool's entry.
fn tool_id(catalog: &str, tool: &str) -> Option<String> {
    let entry = catalog
        .split("[[tool]]")
        .find(|entry| entry.lines().any(|line| line == format!("mcp_tool_name = \"{tool}\"")))?;
    let line = entry.lines().find_map(|line| line.strip_prefix("id = "))?;
    Some(line.trim_matches('"').to_owned())
}
