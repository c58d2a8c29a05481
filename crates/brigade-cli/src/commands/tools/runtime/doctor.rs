//! `brigade tools runtime doctor`

use brigade::Error;
use brigade::report::{RuntimeHealthReport, Strictness};
use clap::Args;

use crate::session::Session;

/// Check the runtimes
///
/// Runs the health commands of running runtimes. Exits with 0 even if there are issues, unless runtimes.toml is missing
/// or invalid. Use --strict to exit with 1.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Exit with 1 if there are issues
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &DoctorArgs) -> Result<RuntimeHealthReport, Error> {
    let strictness = if arguments.strict { Strictness::Strict } else { Strictness::Lenient };
    session.workspace_to_run()?.runtimes().doctor(strictness)
}
