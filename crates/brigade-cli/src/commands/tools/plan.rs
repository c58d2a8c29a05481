//! `brigade tools plan`

use brigade::Error;
use brigade::report::ProjectionPlanReport;
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Show which projections would be written
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Id of the tool [default: all tools]
    id: Option<String>,

    /// List current projections and notes, too
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &PlanArgs,
    output: &mut Output<'_, '_>,
) -> Result<ProjectionPlanReport, Error> {
    output.set_full(arguments.full);
    session.workspace()?.projections().plan(arguments.id.as_deref())
}
