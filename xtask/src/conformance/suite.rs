//! Installs the suite for one run, and runs its scenarios.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{output, run_command};
use crate::repository::Failure;

/// The package with its version.
const PACKAGE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";

/// The program in it.
const PROGRAM: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// The oldest Node that the suite runs on.
const NODE: u32 = 22;

/// The installed suite.
#[derive(Debug)]
pub struct Suite {
    folder: tempfile::TempDir,
    node: PathBuf,
}

/// The result of a scenario.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// It failed for these reasons.
    Failed(Vec<String>),
}

impl Suite {
    /// Installs the suite. Fails if the node is too old or there is no npm.
    pub fn install(node: &Path) -> Result<Suite, Failure> {
        let version = Command::new(node).arg("--version").stdin(Stdio::null()).output();
        let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let version = version.map_err(|error| {
            Failure::new(format!("the suite needs Node {NODE}: {} cannot be run: {error}", node.display()))
        })?;
        if major(&version).is_none_or(|major| major < NODE) {
            return Err(Failure::new(format!(
                "the suite needs Node {NODE} or newer, and {} is {version}; `--node PATH` names another one",
                node.display()
            )));
        }
        let node =
            std::path::absolute(node).ok().filter(|path| path.exists()).unwrap_or_else(|| node.to_owned());
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))?;
        let manifest = folder.path().join("package.json");
        std::fs::write(&manifest, "{\"private\": true}\n").map_err(Failure::at(&manifest))?;
        println!("installing {PACKAGE}");
        let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", PACKAGE];
        let mut npm = Command::new("npm");
        npm.args(words).current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        run_command(&mut npm)
            .map_err(|failure| Failure::new(format!("npm did not install the suite: {failure}")))?;
        Ok(Suite { folder, node })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(PROGRAM).current_dir(self.folder.path()).stdin(Stdio::null()).env("NO_COLOR", "1");
        command
    }

    /// Returns the server scenarios of a revision; extensions belong to none.
    pub fn scenarios(&self, revision: &str) -> Result<Vec<String>, Failure> {
        let listed = output(self.command().args(["list", "--server"]))?;
        let scenarios = scenarios(&listed, revision);
        match scenarios.is_empty() {
            true => Err(Failure::new(format!("the suite lists no scenarios of {revision}"))),
            false => Ok(scenarios),
        }
    }

    /// Runs one scenario against a server.
    pub fn run(&self, address: &str, revision: &str, scenario: &str) -> Result<Verdict, Failure> {
        let words = ["server", "--url", address, "--scenario", scenario, "--spec-version", revision];
        let ran = self.command().args(words).output();
        let ran = ran.map_err(|error| Failure::new(format!("cannot run the suite: {error}")))?;
        let said = String::from_utf8_lossy(&ran.stdout);
        // A scenario that was not run has not passed.
        let is_run = said.lines().any(|line| line.starts_with("Passed: "));
        if ran.status.success() && is_run {
            return Ok(Verdict::Passed);
        }
        let mut reasons: Vec<String> = said
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Error: "))
            .map(|reason| reason.chars().take(300).collect())
            .collect();
        if reasons.is_empty() {
            reasons.push(format!("the suite ended with {}", ran.status));
        }
        Ok(Verdict::Failed(reasons))
    }
}

/// Reads the first number of a version such as `v22.1.0`.
fn major(version: &str) -> Option<u32> {
    version.trim_start_matches('v').split('.').next()?.parse().ok()
}

/// Reads the names of scenarios from lines such as `  - ping [2025-06-18,2025-11-25]`.
fn scenarios(listed: &str, revision: &str) -> Vec<String> {
    let read = |line: &str| {
        let (name, revisions) = line.trim().strip_prefix("- ")?.split_once(" [")?;
        let mut revisions = revisions.strip_suffix(']')?.split(',');
        revisions.any(|own| own == revision).then(|| name.to_owned())
    };
    listed.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_read_from_the_list_of_the_suite() {
        let listed = "Server scenarios:\n  - ping [2025-06-18,2025-11-25]\n  - caching [2026-07-28]\n  - skills [extension]\n";
        assert_eq!(scenarios(listed, "2025-11-25"), ["ping"]);
        assert_eq!(scenarios(listed, "2026-07-28"), ["caching"]);
    }

    #[test]
    fn a_version_has_a_first_number() {
        assert_eq!(major("v22.23.3"), Some(22));
        assert_eq!(major("sh: node: not found"), None);
    }
}
