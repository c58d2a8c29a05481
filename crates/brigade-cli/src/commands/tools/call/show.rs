//! `brigade tools call show`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::report::CallReport;
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Show a call, its arguments and its blockers
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id of the call, or a unique prefix
    call: IdPrefix,

    /// Show every detail
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ShowArgs,
    output: &mut Output<'_, '_>,
) -> Result<CallReport, Error> {
    output.set_full(arguments.full);
    session.workspace()?.calls().show(&arguments.call)
}
