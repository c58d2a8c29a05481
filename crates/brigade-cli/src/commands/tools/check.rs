//! `brigade tools check`

use brigade::{CheckReport, CheckSelection, Error, RunChecks};
use clap::Args;

use crate::session::Session;

/// Look whether tools are there, without starting anything unless asked to
///
/// Looks for programs on PATH, scripts, skills, runtimes and the programs of agents, and answers install checks of the
/// forms `which X`, `command -v X` and `test -x|-f|-d P`. What only a start tells is what `--run-checks` saw last,
/// until the program changes, or unknown. Exits with 1 unless all are available.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Ids of the tools
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// Look for all enabled tools
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Start other install checks and version commands: read-only, 10 s each, with PATH and HOME alone
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
