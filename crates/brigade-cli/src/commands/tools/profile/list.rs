//! `brigade tools profile list`

use brigade::Error;
use brigade::report::ProfileListReport;
use clap::Args;

use crate::session::Session;

/// List the profiles that agents can have, by slot
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ListArgs) -> Result<ProfileListReport, Error> {
    session.workspace()?.agents().profiles()
}
