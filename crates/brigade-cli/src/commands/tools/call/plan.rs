//! `brigade tools call plan`

use brigade::report::PlanReport;
use brigade::{Error, Request};
use clap::Args;

use super::arguments::CallArguments;
use crate::output::Output;
use crate::session::Session;

/// Check a call and show every blocker, without running or storing it
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Id of the tool
    id: String,

    #[command(flatten)]
    arguments: CallArguments,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &PlanArgs,
    output: &mut Output<'_, '_>,
) -> Result<PlanReport, Error> {
    let source = arguments.arguments.source(output)?;
    session.workspace()?.calls().plan(Request::new(&arguments.id).args(source))
}
