//! `brigade tools check`

use brigade::Error;
use brigade::report::CheckReport;
use brigade::tools::{CheckSelection, RunChecks};
use clap::Args;

use crate::session::Session;

/// Check whether tools are installed, without starting anything unless asked to
///
/// Looks for programs on PATH, scripts, skills, runtimes and the programs of agents, and answers install checks of the
/// forms `which X`, `command -v X` and `test -x|-f|-d P`. Other checks keep their last result of `--run-checks` until
/// the program changes, and are unknown without one. Exits with 1 unless all are available.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Ids of the tools
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// Check all enabled tools
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Start other install checks and version commands: read-only, 10 s each, with only PATH and HOME
    #[arg(long)]
    run_checks: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &CheckArgs) -> Result<CheckReport, Error> {
    let what = match arguments.all {
        true => CheckSelection::All,
        false => CheckSelection::Named(arguments.ids.clone()),
    };
    let checks = if arguments.run_checks { RunChecks::Yes } else { RunChecks::No };
    session.workspace()?.catalog().check(&what, checks)
}
