//! `brigade tools run list`

use brigade::core::IdPrefix;
use brigade::{Error, Exit, Report as _, RunFilter, RunStatus};
use clap::Args;

use crate::arguments::count;
use crate::output::Output;
use crate::render::views::runs::{show_run_list, write_run_list};
use crate::session::Session;

/// List runs, newest first
///
/// Lists the newest 50 runs. Use --limit to change the number, or --all to list every run. With --json, every run is
/// listed unless --limit is given. For the next page, pass the last run of this one to --before.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only list runs with this status, such as completed or failed
    #[arg(long)]
    status: Option<String>,

    /// Only list runs of this tool
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// List at most this many of the newest runs
    #[arg(long, value_name = "COUNT", conflicts_with = "all", value_parser = count, allow_hyphen_values = true)]
    limit: Option<usize>,

    /// List every run
    #[arg(long)]
    all: bool,

    /// Only list runs older than this one
    #[arg(long, value_name = "RUN")]
    before: Option<String>,
}

/// How many runs are shown as text by default.
const DEFAULT_ROWS: usize = 50;

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ListArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let limit = arguments.limit.or((!arguments.all && !output.is_json()).then_some(DEFAULT_ROWS));
    let filter = RunFilter {
        status: arguments.status.as_deref().map(RunStatus::from_word),
        tool: arguments.tool.clone(),
        limit,
        before: arguments.before.as_deref().map(IdPrefix::new),
        ..RunFilter::default()
    };
    let workspace = session.workspace()?;
    let list = workspace.runs().list(&filter)?;
    if output.is_json() {
        return Ok(output.write(list.exit(), |out| write_run_list(&list, out)));
    }
    let rows = workspace.daily().run_rows(&list)?;
    let mut page = output.new_page();
    show_run_list(&list, &rows, &mut page);
    Ok(output.page(&page, list.exit()))
}
