//! `brigade tools sync plan`

use brigade::{Error, SyncPlanReport};
use clap::Args;

use crate::session::Session;

/// Say which projections a sync would write; writes nothing
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Only this tool
    id: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &PlanArgs) -> Result<SyncPlanReport, Error> {
    session.workspace()?.projections().sync_plan(arguments.id.as_deref())
}
