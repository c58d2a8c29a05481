//! `brigade tools call run`

use brigade::core::IdPrefix;
use brigade::{Error, RunReport, RunTarget};
use clap::Args;

use crate::session::Session;

/// Run an approved call, exactly as it was approved
///
/// Everything is checked again first: arguments, contract, source, projections, policy, and the bytes of the program.
/// Ctrl-C ends the program and everything it started.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct RunArgs {
    /// Id of the call, or any prefix of it that no other call has
    call: Option<IdPrefix>,

    /// Run the oldest approved call that can run
    #[arg(long)]
    next: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RunArgs) -> Result<RunReport, Error> {
    let target = match &arguments.call {
        Some(call) => RunTarget::Call(call.clone()),
        None => RunTarget::Next,
    };
    session.workspace_to_run()?.calls().run(target)
}
