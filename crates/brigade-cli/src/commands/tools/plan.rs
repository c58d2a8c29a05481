//! `brigade tools plan`

use brigade::{Error, ProjectionPlanReport};
use clap::Args;

use crate::session::Session;

/// Say which projections would be written; writes nothing
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Only this tool
    id: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &PlanArgs) -> Result<ProjectionPlanReport, Error> {
    session.workspace()?.projections().plan(arguments.id.as_deref())
}
