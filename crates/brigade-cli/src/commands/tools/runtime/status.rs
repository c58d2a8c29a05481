//! `brigade tools runtime status`

use brigade::{Error, RuntimeStatusReport};
use clap::Args;

use crate::session::Session;

/// Check which runtimes run and are healthy
///
/// Runs the health commands of the runtimes that run.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &StatusArgs) -> Result<RuntimeStatusReport, Error> {
    session.workspace_to_run()?.runtimes().status()
}
