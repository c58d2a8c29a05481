//! `brigade team status`

use brigade::Error;
use brigade::report::TeamStatusReport;
use clap::Args;

use crate::session::Session;

/// Show the team of the workspace: database, runners, calls and what needs attention
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {}

pub(crate) fn run(session: &Session<'_>, _: &StatusArgs) -> Result<TeamStatusReport, Error> {
    super::team(session)?.status()
}
