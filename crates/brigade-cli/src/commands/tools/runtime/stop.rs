//! `brigade tools runtime stop`

use brigade::{Error, RuntimeStopReport};
use clap::Args;

use crate::session::Session;

/// Stop a runtime and everything it started
///
/// Only a process that is proved to be the runtime is signalled, by its number, start time and boot.
#[derive(Args, Debug)]
pub(crate) struct StopArgs {
    /// Id of the runtime
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &StopArgs) -> Result<RuntimeStopReport, Error> {
    session.workspace()?.runtimes().stop(&arguments.id)
}
