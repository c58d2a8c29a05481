//! The measured programs, and how they are called outside the measurements.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::measure::Process;
use crate::repository::Failure;

/// A program with the command `tools`.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// Names the program under development.
    pub fn new(path: PathBuf) -> Program {
        Program { path }
    }

    /// Returns the path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the process of `tools` with more arguments.
    pub fn process(&self, folder: &Path, words: Vec<String>) -> Process {
        let arguments = ["tools".to_owned()].into_iter().chain(words).collect();
        Process { arguments, ..Process::new(&self.path, folder) }
    }

    /// Returns whether the program has a command.
    pub fn knows(&self, command: &[String]) -> bool {
        self.help(command).is_some()
    }

    /// Returns whether a command has a flag.
    pub fn has_flag(&self, command: &[String], flag: &str) -> bool {
        self.help(command).is_some_and(|help| help.contains(flag))
    }

    fn help(&self, command: &[String]) -> Option<String> {
        let output =
            Command::new(&self.path).arg("tools").args(command).arg("--help").stdin(Stdio::null()).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a command and returns its output, whatever its exit code.
    pub fn output(&self, folder: &Path, words: &[String]) -> Result<Vec<u8>, Failure> {
        let process = self.process(folder, words.to_vec());
        let output = Command::new(&process.program)
            .args(&process.arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .map_err(Failure::at(&self.path))?;
        Ok(output.stdout)
    }

    /// Runs a command and returns the length of its output in bytes.
    pub fn output_length(&self, folder: &Path, words: &[String]) -> Result<u64, Failure> {
        let process = self.process(folder, words.to_vec());
        let mut child = Command::new(&process.program)
            .args(&process.arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::at(&self.path))?;
        let mut output = child.stdout.take().expect("was piped");
        let length = std::io::copy(&mut output, &mut std::io::sink()).map_err(Failure::at(&self.path))?;
        child.wait().map_err(Failure::at(&self.path))?;
        Ok(length)
    }

    /// Returns the ids of the calls with a status.
    pub fn ids(&self, folder: &Path, status: &str) -> Result<Vec<String>, Failure> {
        let mut words = ["call", "list", "--json"].map(str::to_owned).to_vec();
        if self.has_flag(&words[..2], "--status") {
            words.extend(["--status".to_owned(), status.to_owned()]);
        }
        let list = self.output(folder, &words)?;
        let list: Value = serde_json::from_slice(&list)
            .map_err(|_| Failure::new(format!("{} lists no calls", self.path.display())))?;
        let calls = list["calls"].as_array().cloned().unwrap_or_default();
        let of_status = calls.iter().filter(|call| call["status"] == status);
        Ok(of_status.filter_map(|call| call["id"].as_str().map(str::to_owned)).collect())
    }
}
