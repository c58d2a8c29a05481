//! Writes the manual pages of all commands into a folder: `cargo run -p brigade-cli --example manual -- FOLDER`.
//!
//! `cargo xtask docs` keeps them under `docs/man/`.

#![allow(clippy::disallowed_methods, reason = "reads its one argument")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        return ExitCode::from(2);
    };
    // The version is left out of the pages, so that a release changes the changelog and not every page.
    let command = brigade_cli::command().version(None::<&str>).disable_version_flag(false);
    match clap_mangen::generate_to(command, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}
