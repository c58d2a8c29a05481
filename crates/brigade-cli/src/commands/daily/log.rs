//! `brigade log`

use std::collections::HashSet;
use std::time::Duration;

use brigade::core::Timestamp;
use brigade::{Error, Exit, HistoryFilter, Workspace};
use clap::Args;

use super::moment;
use crate::arguments::count;
use crate::output::Output;
use crate::render::views::daily::{history_row, history_table};
use crate::session::Session;

/// Show what ran: when, for whom, what, who or which rule approved, and how it ended
///
/// Shows the newest runs last. Times are `yesterday`, `today`, `2h`, `3d`, `14:30`, or a date with or without a time.
#[derive(Args, Debug)]
pub(crate) struct LogArgs {
    /// Only show runs since this time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only show runs before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Only show runs for this agent; `you` for the command line
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Only show runs of this tool
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// Only show runs that failed
    #[arg(long)]
    failed: bool,

    /// Show at most this many of the newest runs; by default 30, with --since 1000
    #[arg(long, value_name = "COUNT", value_parser = count)]
    limit: Option<usize>,

    /// Show new runs as they end, until Ctrl-C
    #[arg(long, short, conflicts_with_all = ["json", "stat", "until"])]
    follow: bool,

    /// Show sums by tool and agent
    #[arg(long)]
    stat: bool,
}

/// How many runs are shown by default.
const DEFAULT_ROWS: usize = 30;

/// How many runs of a period are shown by default.
const DEFAULT_ROWS_OF_PERIOD: usize = 1_000;

/// How long a follower waits before it looks again.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// How long before a follower the runs may have started that it still shows, in microseconds.
const LONGEST_FOLLOWED: i64 = 3_600_000_000;

/// How many of the newest runs a follower looks at.
const FOLLOWED_ROWS: usize = 200;

impl LogArgs {
    fn filter(&self, session: &Session<'_>, now: Timestamp) -> Result<HistoryFilter, Error> {
        let offset = session.surroundings.local_offset_minutes;
        let time = |option: &str, text: &Option<String>| {
            text.as_ref().map(|text| moment::of_option(option, text, now, offset)).transpose()
        };
        let since = time("--since", &self.since)?;
        let usual = if since.is_some() { DEFAULT_ROWS_OF_PERIOD } else { DEFAULT_ROWS };
        Ok(HistoryFilter {
            until: time("--until", &self.until)?,
            agent: self.agent.clone(),
            tool: self.tool.clone(),
            failed: self.failed,
            limit: self.limit.unwrap_or(usual),
            statistics: self.stat,
            since,
        })
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &LogArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let filter = arguments.filter(session, output.now())?;
    let workspace = session.workspace()?;
    if arguments.follow {
        return follow(session, &workspace, filter, output);
    }
    Ok(output.finish(workspace.daily().history(&filter)?))
}

/// Prints the runs so far, and then each as it ends.
fn follow(
    session: &Session<'_>,
    workspace: &Workspace,
    mut filter: HistoryFilter,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let cancel = session.cancel()?;
    let first = filter.clone();
    // What ends from now on began from now on, or ran already.
    let begun = output.now().unix_micros() - LONGEST_FOLLOWED;
    filter.since = filter.since.max(Some(Timestamp::from_unix_micros(begun)));
    filter.limit = filter.limit.max(FOLLOWED_ROWS);
    let daily = workspace.daily();
    let mut known: HashSet<_> = daily.history(&filter)?.runs.into_iter().map(|row| row.run_id).collect();
    let mut rows = daily.history(&first)?.runs;
    known.extend(rows.iter().map(|row| row.run_id.clone()));
    let mut table = history_table("call");
    let mut is_first = true;
    loop {
        rows.iter().for_each(|row| history_row(row, output.shown_now(), &mut table));
        if !rows.is_empty() || std::mem::take(&mut is_first) {
            let mut page = output.new_page();
            page.data.table(table.part());
            let exit = output.page(&page, Exit::Done);
            if exit != Exit::Done || output.is_broken() {
                return Ok(exit);
            }
        }
        if cancel.wait(LOOK_INTERVAL) {
            return Ok(Exit::Done);
        }
        rows = daily.history(&filter)?.runs;
        rows.retain(|row| known.insert(row.run_id.clone()));
    }
}
