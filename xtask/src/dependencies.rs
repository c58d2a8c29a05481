//! `cargo deny`: licences, bans and sources of the dependencies, by `deny.toml`.
//!
//! Advisories are left out: they need a database from the network, and change without a change here.

use std::process::{Command, Stdio};

use crate::cargo::{cargo, done};
use crate::repository::{Failure, Repository};

/// Checks the dependencies, but says so and goes on where `cargo-deny` is not installed.
pub fn run_if_installed(repository: &Repository) -> Result<(), Failure> {
    let version =
        Command::new("cargo-deny").arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        println!("dependencies were NOT checked: cargo-deny is not installed");
        return Ok(());
    }
    let words =
        ["deny", "--offline", "--locked", "--log-level", "error", "check", "licenses", "bans", "sources"];
    done(&mut cargo(repository, words))
}
