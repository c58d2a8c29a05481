//! `brigade tools state check`

use brigade::Error;
use brigade::report::StateReport;
use clap::Args;

use crate::session::Session;

/// Check that every call and receipt can be read
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &CheckArgs) -> Result<StateReport, Error> {
    session.workspace()?.state().check()
}
