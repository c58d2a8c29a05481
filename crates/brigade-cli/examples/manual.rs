//! Writes the manual pages of all commands to a directory: `cargo run -p brigade-cli --example manual -- DIRECTORY`.
//!
//! `cargo xtask docs` writes them to `docs/man/`.

#![allow(clippy::disallowed_methods, reason = "reads its one argument")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        return ExitCode::from(2);
    };
    // The pages do not contain the version, so that a release does not change every page.
    let command = brigade_cli::command().version(None::<&str>).disable_version_flag(false);
    match clap_mangen::generate_to(command, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}
