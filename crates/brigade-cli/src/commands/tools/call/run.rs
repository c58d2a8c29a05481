//! `brigade tools call run`

use brigade::core::IdPrefix;
use brigade::report::RunReport;
use brigade::{Error, RunTarget, Step};
use clap::Args;

use crate::session::Session;

/// Run an approved call
///
/// Checks arguments, contract, source, projections, policy and the bytes of the program again before the run. Ctrl-C
/// ends the program and every process that it started.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct RunArgs {
    /// Id of the call, or a unique prefix
    call: Option<IdPrefix>,

    /// Run the oldest approved call that can still run
    #[arg(long)]
    next: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RunArgs) -> Result<RunReport, Error> {
    let calls = session.workspace_to_run()?.calls();
    let target = match &arguments.call {
        Some(call) => RunTarget::Call(calls.find(call, Step::Claim)?),
        None => RunTarget::Next,
    };
    calls.run(target)
}
