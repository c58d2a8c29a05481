//! `brigade tools runtime status`

use brigade::Error;
use brigade::report::RuntimeStatusReport;
use clap::Args;

use crate::session::Session;

/// Check which runtimes are running and healthy
///
/// Runs the health commands of running runtimes.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &StatusArgs) -> Result<RuntimeStatusReport, Error> {
    session.workspace_to_run()?.runtimes().status()
}
