//! Runs the cargo that runs this task.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use crate::repository::{Failure, Repository};

/// Prepares a cargo command in the root of the repository.
pub fn cargo<S: AsRef<OsStr>>(repository: &Repository, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(repository.root()).stdin(Stdio::null());
    command
}

/// Runs a command, and fails if it does.
pub fn run_command(command: &mut Command) -> Result<(), Failure> {
    let status = command
        .status()
        .map_err(|error| Failure::new(format!("cannot run {}: {error}", command.get_program().display())))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("{} ended with {status}", line(command))))
    }
}

/// Runs a command and returns its output, which must be UTF-8.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::new(format!("cannot run {}: {error}", command.get_program().display())))?;
    if !output.status.success() {
        return Err(Failure::new(format!("{} ended with {}", line(command), output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| Failure::new(format!("{} wrote no UTF-8", line(command))))
}

fn line(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    format!("`cargo {}`", words.collect::<Vec<_>>().join(" "))
}
