//! `brigade tools runtime doctor`

use brigade::{Error, RuntimeHealthReport, Strictness};
use clap::Args;

use crate::session::Session;

/// Look for trouble in the runtimes
///
/// Runs the health commands of the runtimes that run. Ends with 0 also when there are issues, unless the file of the
/// runtimes is missing or broken; --strict makes issues count.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// End with 1 when there are issues
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DoctorArgs) -> Result<RuntimeHealthReport, Error> {
    let strictness = if arguments.strict { Strictness::Strict } else { Strictness::Lenient };
    session.workspace_to_run()?.runtimes().doctor(strictness)
}
