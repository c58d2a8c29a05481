//! `brigade tools runtime start`

use brigade::{Error, RuntimeStartReport};
use clap::Args;

use super::progress::Waiting;
use crate::output::Output;
use crate::session::Session;

/// Start a runtime and wait until it is ready
///
/// Ready means that its health command succeeds and that it listens on its port, as far as these are configured. It has
/// the runtime's timeout for that, and is stopped again when it does not get ready. One that runs already is left
/// alone.
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
