//! `brigade tools call plan`

use brigade::{Error, PlanReport};
use clap::Args;

use super::arguments::CallArguments;
use crate::output::Output;
use crate::session::Session;

/// Plan a call and say everything that speaks against it; runs and stores nothing
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanArgs {
    /// Id of the tool
    id: String,

    #[command(flatten)]
    arguments: CallArguments,
}

const EXAMPLES: &str = "\
Examples:
  brigade tools call plan count-words --args '{\"paths\": [\"README.md\"]}'
  brigade tools call plan count-words --args-json args.json --json";

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &PlanArgs,
    output: &mut Output<'_, '_>,
) -> Result<PlanReport, Error> {
    let source = arguments.arguments.source(output)?;
    session.workspace()?.plan_call(&arguments.id, &source)
}
