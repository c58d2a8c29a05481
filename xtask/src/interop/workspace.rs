//! A workspace for one server, and the binary that runs in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::install::{InstalledServers, NODE_MODULES};
use super::servers::{Server, Trial};
use crate::cargo::run_command;
use crate::repository::Failure;

/// An environment value that no server may see.
const CANARY: &str = "canary-EXAMPLE-4711";

/// A temporary workspace.
pub struct Workspace {
    folder: tempfile::TempDir,
    brigade: PathBuf,
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = self.command(&["tools", "runtime", "stop", "helper"]).output();
    }
}

impl Workspace {
    pub fn make(brigade: &Path, installed: &InstalledServers, server: &Server) -> Result<Workspace, Failure> {
        let folder = installed.place()?;
        let workspace = Workspace { folder, brigade: brigade.to_owned() };
        workspace.write("outside/secret.txt", "a secret\n")?;
        workspace.write("workspace/beside.txt", "not to be served\n")?;
        workspace.write("workspace/data/old.txt", "old\n")?;
        workspace.write("workspace/home/.keep", "")?;
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
        let python = fs::canonicalize(installed.python()).map_err(Failure::at(&installed.python()))?;
        let prefix = python.parent().and_then(Path::parent).unwrap_or(&python);
        workspace.write(
            "workspace/.brigade/tools/policy.toml",
            &format!(
                "allowed_families = [\"mcp\"]\nallowed_effects = [\"local-read\", \"local-write\"]\n\
                 required_approval_modes = [\"always\"]\nmax_timeout = 60\n\
                 env_bindings = {{ MEMORY_FILE_PATH = \"INTEROP_MEMORY\" }}\n\
                 [sandbox]\nmode = \"enforce\"\nread_paths = [{:?}, {:?}]\n",
                installed.venv().display().to_string(),
                prefix.display().to_string()
            ),
        )?;
        if server.command.contains(NODE_MODULES) {
            link_tree(&installed.node_modules(), &workspace.root().join(NODE_MODULES))?;
        }
        let command = workspace.fill(&server.command);
        workspace.runtime(&command)?;
        Ok(workspace)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Replaces the placeholders for directories.
    fn fill(&self, text: &str) -> String {
        let outside = self.folder.path().join("outside");
        text.replace("{workspace}", &self.root().display().to_string())
            .replace("{outside}", &outside.display().to_string())
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.path().join(path);
        let parent = path.parent().expect("paths in here have a folder");
        fs::create_dir_all(parent).map_err(Failure::at(parent))?;
        fs::write(&path, text).map_err(Failure::at(&path))
    }

    /// Writes the only runtime of the workspace, which is the server itself.
    fn runtime(&self, command: &str) -> Result<(), Failure> {
        let text =
            format!("[[runtime]]\nid = \"helper\"\nname = \"Helper\"\ncommand = {command:?}\ntimeout = 20\n");
        self.write("workspace/.brigade/tools/runtimes.toml", &text)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.brigade);
        command
            .args(words)
            .current_dir(self.root())
            .stdin(Stdio::null())
            .env("HOME", self.root().join("home"))
            .env("INTEROP_MEMORY", self.root().join("data/memory.jsonl"))
            .env("INTEROP_CANARY", CANARY);
        command
    }

    /// Runs a command of `tools` and returns its document, whatever its exit code.
    fn tools(&self, words: &[&str]) -> Result<Value, Failure> {
        let words = [&["tools"][..], words, &["--json"]].concat();
        let output = self
            .command(&words)
            .output()
            .map_err(|error| Failure::new(format!("cannot run {}: {error}", self.brigade.display())))?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let errors = String::from_utf8_lossy(&output.stderr);
            Failure::new(format!("`brigade {}` printed no document: {errors}", words.join(" ")))
        })
    }

    /// Lists the tools of the server whose input schemas are not supported.
    pub fn unsupported(&self) -> Result<Vec<String>, Failure> {
        let imported = self.tools(&["import", "mcp", "helper", "--dry-run"])?;
        let tools = imported["tools"].as_array().cloned().unwrap_or_default();
        if tools.is_empty() || imported["listed_count"] != tools.len() {
            return Err(Failure::new(format!("not every tool was listed: {imported}")));
        }
        let bad = tools.iter().filter(|tool| tool["schema_problems"] != Value::Array(Vec::new()));
        Ok(bad.map(|tool| format!("{}: {}", tool["mcp_tool_name"], tool["schema_problems"])).collect())
    }

    /// Imports the tools that are called, reviews their entries, and starts the runtime.
    pub fn import(&self, server: &Server) -> Result<(), Failure> {
        let mut words = vec!["import", "mcp", "helper"];
        for trial in &server.trials {
            if !words.contains(&trial.tool) {
                words.extend(["--tool", trial.tool]);
            }
        }
        let imported = self.tools(&words)?;
        if imported["added_count"].as_u64().is_none_or(|count| count == 0) {
            return Err(Failure::new(format!("nothing was imported: {imported}")));
        }
        let path = self.root().join(".brigade/tools.toml");
        let catalog = fs::read_to_string(&path).map_err(Failure::at(&path))?;
        let labels = if server.env_labels.is_empty() {
            String::new()
        } else {
            format!("env_labels = {:?}\n", server.env_labels)
        };
        let reviewed = format!(
            "approval_mode = \"always\"\npermissions = [\"interop\"]\neffects = {:?}\n{labels}",
            server.effects
        );
        let catalog = catalog
            .replace("enabled = false", "enabled = true")
            .replace("approval_mode = \"always\"\n", &reviewed);
        fs::write(&path, catalog).map_err(Failure::at(&path))?;
        let started = self.tools(&["runtime", "start", "helper"])?;
        if started["started"] == 1 { Ok(()) } else { Err(Failure::new(format!("no runtime: {started}"))) }
    }

    /// Queues, approves and runs a call, and returns its receipt.
    pub fn call(&self, server: &Server, trial: &Trial) -> Result<Value, Failure> {
        let path = self.root().join(".brigade/tools.toml");
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
        let queued = self.tools(&["call", "queue", &id, "--args", &args])?;
        let call = queued["call"]["id"].as_str().filter(|_| queued["created"] == 1).ok_or_else(|| {
            Failure::new(format!("not queued: {} {}", queued["reason"], queued["blockers"]))
        })?;
        let approved = self.tools(&["call", "approve", call])?;
        if approved["call"]["status"] != "approved" {
            return Err(Failure::new(format!("not approved: {}", approved["blockers"])));
        }
        let run = self.tools(&["call", "run", call])?;
        if run["receipt"].is_null() {
            return Err(Failure::new(format!("not run: {}", run["blockers"])));
        }
        Ok(run["receipt"].clone())
    }

    /// Returns the files that contain the canary, and files written outside the sandbox.
    pub fn leaks(&self) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
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
        if self.folder.path().join("outside/new.txt").exists() {
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
