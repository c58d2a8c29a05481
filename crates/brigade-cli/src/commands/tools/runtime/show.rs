//! `brigade tools runtime show`

use brigade::Error;
use brigade::report::RuntimeReport;
use clap::Args;

use crate::session::Session;

/// Show a runtime's configuration, process and files
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the runtime
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs) -> Result<RuntimeReport, Error> {
    session.workspace()?.runtimes().show(&arguments.id)
}
