//! `brigade team verify`

use brigade::Error;
use brigade::report::TeamVerifyReport;
use clap::Args;

use crate::session::Session;

/// Verify the receipts of all hosts, and the approvals of each call that ran
///
/// Exits with 1 if something was found. A late report alone does not count.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {}

pub(crate) fn run(session: &Session<'_>, _: &VerifyArgs) -> Result<TeamVerifyReport, Error> {
    super::team(session)?.verify()
}
