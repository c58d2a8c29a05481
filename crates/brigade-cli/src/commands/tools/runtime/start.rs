//! `brigade tools runtime start`

use brigade::Error;
use brigade::report::RuntimeStartReport;
use clap::Args;

use super::progress::ProgressPrinter;
use crate::arguments::Seconds;
use crate::output::Output;
use crate::session::Session;

/// Start a runtime and see whether it is ready
///
/// A runtime is ready when its health command succeeds and it listens on its port, if these are configured. The command
/// looks for 2 seconds, or as long as --wait says. A runtime that is not ready by then keeps running as `starting`;
/// only --wait makes that a failure. A runtime that already runs is not started again.
#[derive(Args, Debug)]
pub(crate) struct StartArgs {
    /// Id of the runtime
    id: String,
    /// Wait this long for the runtime to be ready, and fail when it is not
    #[arg(long, value_name = "SECONDS")]
    wait: Option<Seconds>,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &StartArgs,
    output: &mut Output<'_, '_>,
) -> Result<RuntimeStartReport, Error> {
    let mut waiting = ProgressPrinter::new(session, output, &arguments.id);
    session.workspace_to_run()?.runtimes().start(
        &arguments.id,
        arguments.wait.map(|wait| wait.0),
        &mut |step| waiting.tell(&step),
    )
}
