//! `brigade team export`

use std::path::PathBuf;

use brigade::Error;
use brigade::report::TeamExportReport;
use clap::Args;

use crate::session::Session;

/// Write the calls, checkpoints and receipts of this workspace in the team as files
///
/// The directory then has an ordinary state, whose receipts can be verified without the database. Approvals do not
/// count there.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Directory without calls and receipts, made if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ExportArgs) -> Result<TeamExportReport, Error> {
    super::team(session)?.export(&arguments.directory)
}
