//! Temporary workspaces, and the binary that runs in them.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::repository::{Failure, write_file};

/// A temporary workspace. The runtimes that are started in it are stopped when it is dropped.
#[derive(Debug)]
pub struct Workspace {
    folder: tempfile::TempDir,
    brigade: PathBuf,
    variables: Vec<(String, String)>,
    started: RefCell<Vec<String>>,
}

impl Drop for Workspace {
    fn drop(&mut self) {
        for id in self.started.take() {
            let _ = self.command(&["tools", "runtime", "stop", &id]).output();
        }
    }
}

impl Workspace {
    /// Makes an empty workspace.
    pub fn new(brigade: &Path) -> Result<Workspace, Failure> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))?;
        Workspace::within(folder, brigade)
    }

    /// Makes an empty workspace in a directory.
    pub fn within(folder: tempfile::TempDir, brigade: &Path) -> Result<Workspace, Failure> {
        let (brigade, variables) = (brigade.to_owned(), Vec::new());
        let workspace = Workspace { folder, brigade, variables, started: RefCell::default() };
        let root = workspace.root();
        std::fs::create_dir(&root).map_err(Failure::at(&root))?;
        Ok(workspace)
    }

    /// Sets a variable of every command.
    pub fn variable(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.variables.push((name.into(), value.into()));
    }

    /// Returns the directory around the workspace, which is removed with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the directory of the workspace.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Writes a file, by its path below the workspace.
    pub fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        write_file(&self.root().join(path), text)
    }

    /// Prepares a command of the binary.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.brigade);
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.args(words).current_dir(self.root()).stdin(Stdio::null()).envs(variables);
        command
    }

    /// Runs a command of `tools` and returns its document, whatever its exit code.
    pub fn tools(&self, words: &[&str]) -> Result<Value, Failure> {
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

    /// Imports the tools of a runtime that is an MCP server, and returns the document.
    pub fn import(&self, words: &[&str]) -> Result<Value, Failure> {
        let imported = self.tools(&[&["import", "mcp"], words].concat())?;
        match imported["added_count"].as_u64().is_some_and(|count| 0 < count) {
            true => Ok(imported),
            false => Err(Failure::new(format!("nothing was imported: {imported}"))),
        }
    }

    /// Starts a runtime.
    pub fn start(&self, id: &str) -> Result<(), Failure> {
        self.started.borrow_mut().push(id.to_owned());
        let started = self.tools(&["runtime", "start", id])?;
        if started["started"] == 1 { Ok(()) } else { Err(Failure::new(format!("no runtime: {started}"))) }
    }

    /// Queues and approves a call, and returns its id.
    pub fn approved(&self, tool: &str, args: &str) -> Result<String, Failure> {
        let queued = self.tools(&["call", "queue", tool, "--args", args])?;
        let call = queued["call"]["id"].as_str().filter(|_| queued["created"] == 1).ok_or_else(|| {
            Failure::new(format!("not queued: {} {}", queued["reason"], queued["blockers"]))
        })?;
        let approved = self.tools(&["call", "approve", call])?;
        match approved["call"]["status"] == "approved" {
            true => Ok(call.to_owned()),
            false => Err(Failure::new(format!("not approved: {}", approved["blockers"]))),
        }
    }
}
