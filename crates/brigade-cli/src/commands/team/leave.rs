//! `brigade team leave`

use brigade::Error;
use brigade::report::TeamLeaveReport;
use clap::Args;

use crate::session::Session;

/// Use the queue in the files of the workspace again
///
/// Calls and receipts in the database stay there.
#[derive(Args, Debug)]
pub(crate) struct LeaveArgs {}

pub(crate) fn run(session: &Session<'_>, _: &LeaveArgs) -> Result<TeamLeaveReport, Error> {
    super::team(session)?.leave()
}
