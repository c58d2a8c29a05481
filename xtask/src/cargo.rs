//! Runs the cargo that runs this task.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::repository::{Failure, Repository};

/// Prepares a cargo command in the root of the repository.
pub fn cargo<S: AsRef<OsStr>>(repository: &Repository, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(repository.root()).stdin(Stdio::null());
    command
}

/// Builds the binary and the examples that generate files, and returns the path of the binary. The examples are in
/// `examples` beside it.
///
/// The packages, targets and features are those of the tests in CI, so what the tests have compiled is used again.
pub fn build(repository: &Repository) -> Result<PathBuf, Failure> {
    let words = "build --workspace --features brigade-cli/schemas --locked --quiet --bin brigade \
                 --example schemas --example issues --example errors --example manual";
    run_command(&mut cargo(repository, words.split_ascii_whitespace()))?;
    let this = std::env::current_exe().map_err(|error| Failure::new(error.to_string()))?;
    Ok(this.with_file_name("brigade"))
}

/// Builds an example of the command line, and prepares its command.
pub fn example(repository: &Repository, name: &str) -> Result<Command, Failure> {
    let mut command = Command::new(build(repository)?.with_file_name("examples").join(name));
    command.current_dir(repository.root()).stdin(Stdio::null());
    Ok(command)
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
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    format!("`{}`", words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
}
