//! `brigade tools run list`

use brigade::core::IdPrefix;
use brigade::{Error, RunFilter, RunListReport};
use clap::Args;

use crate::arguments::count;
use crate::session::Session;

/// List the runs, newest first
///
/// Shows the newest 50, or as many as --limit says; --all shows every one. With --json all are listed unless --limit is
/// given. The next page is that --before the last run of this one.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only runs of this status, such as completed or failed
    #[arg(long)]
    status: Option<String>,

    /// Only runs of this tool
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// Only the newest so many
    #[arg(long, value_name = "COUNT", conflicts_with = "all", value_parser = count, allow_hyphen_values = true)]
    limit: Option<usize>,

    /// Every run
    #[arg(long)]
    all: bool,

    /// Only runs that are older than this one
    #[arg(long, value_name = "RUN")]
    before: Option<String>,
}

/// How many runs a person is shown.
const SHOWN: usize = 50;

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ListArgs,
    is_json: bool,
) -> Result<RunListReport, Error> {
    let limit = arguments.limit.or((!arguments.all && !is_json).then_some(SHOWN));
    let filter = RunFilter {
        status: arguments.status.clone(),
        tool: arguments.tool.clone(),
        limit,
        before: arguments.before.as_deref().map(IdPrefix::new),
    };
    session.workspace()?.runs().list(&filter)
}
