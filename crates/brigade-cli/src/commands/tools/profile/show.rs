//! `brigade tools profile show`

use brigade::Error;
use brigade::report::ProfileReport;
use clap::Args;

use crate::session::Session;

/// Show what a profile shows, hides and says about calls
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Name of the profile, such as `permission.plan`
    name: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<ProfileReport, Error> {
    session.workspace()?.agents().profile(&arguments.name)
}
