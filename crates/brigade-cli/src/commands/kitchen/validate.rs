//! `brigade kitchen validate`

use std::path::PathBuf;

use brigade::Error;
use brigade::kitchen::{FailOn, ValidationReport};
use clap::Args;

use crate::session::Session;

/// Check a PRD, and show the first tier of each task
///
/// Exits with 1 if the PRD has errors. A person approves the fingerprint.
#[derive(Args, Debug)]
pub(crate) struct ValidateArgs {
    /// File of the PRD; by default the one of latest.json, an interrupted one, or the newest with pending tasks
    prd: Option<PathBuf>,

    /// Also exit with 1 if there are warnings
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ValidateArgs) -> Result<ValidationReport, Error> {
    let fail_on = if arguments.strict { FailOn::Warnings } else { FailOn::Errors };
    session.workspace()?.kitchen().validate(arguments.prd.as_deref(), fail_on)
}
