//! `brigade tools runtime start`

use brigade::{Error, RuntimeStartReport};
use clap::Args;

use super::progress::Waiting;
use crate::output::Output;
use crate::session::Session;

/// Start a runtime and wait until it is ready
///
/// A runtime is ready when its health command succeeds and it listens on its port, if these are configured. It is
/// stopped again if it is not ready within its timeout. A runtime that already runs is not started again.
#[derive(Args, Debug)]
pub(crate) struct StartArgs {
    /// Id of the runtime
    id: String,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &StartArgs,
    output: &mut Output<'_, '_>,
) -> Result<RuntimeStartReport, Error> {
    let mut waiting = Waiting::new(session, output, &arguments.id);
    session.workspace_to_run()?.runtimes().start(&arguments.id, &mut |step| waiting.tell(&step))
}
