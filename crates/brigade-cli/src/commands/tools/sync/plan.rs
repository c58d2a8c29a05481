//! `brigade tools sync plan`

use brigade::Error;
use brigade::report::SyncPlanReport;
use clap::Args;

use crate::session::Session;

/// Show which projections a sync would write
///
/// Concerns projections only; `brigade tools sync` without more remembers the tools of agent programs.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Id of the tool [default: all tools]
    id: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &PlanArgs) -> Result<SyncPlanReport, Error> {
    session.workspace()?.projections().sync_plan(arguments.id.as_deref())
}
