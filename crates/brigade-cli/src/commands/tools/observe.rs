//! `brigade tools observe`

use brigade::Error;
use brigade::report::ObserveReport;
use brigade::tools::Declare;
use clap::Args;

use crate::session::Session;

/// Show what the last runs of a tool used, and what its entry should declare
///
/// Lists files that were read or executed and that nothing covers, with patterns for `code` and `data` that would cover
/// them, effects that were used but not declared, and declared effects that were not used. Only observed runs provide
/// this: runs in a sandbox on Linux.
#[derive(Args, Debug)]
pub(crate) struct ObserveArgs {
    /// Id of the tool
    id: String,

    /// Look at this many of the last runs
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,

    /// Write it into the entry in tools.toml; this ends approvals of the tool's calls
    #[arg(long)]
    write: bool,

    /// Forget what earlier runs used as code, so that the next approval does not bind it
    #[arg(long, conflicts_with = "write")]
    forget: bool,

    /// Declare this file of `code` as data, because the tool writes it; no approval binds it then
    #[arg(long, value_name = "PATH", requires = "write")]
    as_data: Vec<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ObserveArgs) -> Result<ObserveReport, Error> {
    let declare = match (arguments.write, arguments.forget) {
        (true, _) => Declare::Write { as_data: arguments.as_data.clone() },
        (false, true) => Declare::Forget,
        (false, false) => Declare::Show,
    };
    session.workspace()?.catalog().observe(&arguments.id, usize::from(arguments.runs), declare)
}
