//! `brigade tools runtime restart`

use brigade::Error;
use brigade::report::RuntimeRestartReport;
use clap::Args;

use super::progress::ProgressPrinter;
use crate::arguments::Seconds;
use crate::output::Output;
use crate::session::Session;

/// Stop a runtime and start it again
///
/// A runtime whose configuration does not allow a start is not stopped.
#[derive(Args, Debug)]
pub(crate) struct RestartArgs {
    /// Id of the runtime
    id: String,
    /// Wait this long for the runtime to be ready, and fail when it is not
    #[arg(long, value_name = "SECONDS")]
    wait: Option<Seconds>,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &RestartArgs,
    output: &mut Output<'_, '_>,
) -> Result<RuntimeRestartReport, Error> {
    let mut waiting = ProgressPrinter::new(session, output, &arguments.id);
    session.workspace_to_run()?.runtimes().restart(
        &arguments.id,
        arguments.wait.map(|wait| wait.0),
        &mut |step| waiting.tell(&step),
    )
}
