//! `cargo deny`: checks licences, bans and sources of the dependencies against `deny.toml`.
//!
//! Advisories are not checked, because they need a database from the network and change on their own.

use std::process::{Command, Stdio};

use crate::cargo::{cargo, run_command};
use crate::repository::{Failure, Repository};

/// Checks the dependencies. If `cargo-deny` is not installed, prints a note and succeeds.
pub fn run_if_installed(repository: &Repository) -> Result<(), Failure> {
    let version =
        Command::new("cargo-deny").arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("dependencies were NOT checked: cargo-deny is not installed");
        return Ok(());
    }
    let words =
        ["deny", "--offline", "--locked", "--log-level", "error", "check", "licenses", "bans", "sources"];
    run_command(&mut cargo(repository, words))
}
