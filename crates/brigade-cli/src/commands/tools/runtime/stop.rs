//! `brigade tools runtime stop`

use brigade::Error;
use brigade::report::RuntimeStopReport;
use clap::Args;

use crate::session::Session;

/// Stop a runtime and all processes that it started
///
/// Only signals a process whose pid, start time and boot id match the runtime.
#[derive(Args, Debug)]
pub(crate) struct StopArgs {
    /// Id of the runtime
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &StopArgs) -> Result<RuntimeStopReport, Error> {
    session.workspace()?.runtimes().stop(&arguments.id)
}
