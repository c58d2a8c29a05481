//! `brigade tools plan`

use brigade::{Error, ProjectionPlanReport};
use clap::Args;

use crate::session::Session;

/// Show which projections would be written
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Id of the tool [default: all tools]
    id: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &PlanArgs) -> Result<ProjectionPlanReport, Error> {
    session.workspace()?.projections().plan(arguments.id.as_deref())
}
