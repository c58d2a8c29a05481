//! `brigade tools call list`

use std::ops::ControlFlow;

use brigade::{CallFilter, CallStatus, Error, Exit};
use clap::Args;

use crate::arguments::count;
use crate::output::Output;
use crate::render::calls::{CallRows, write_list};
use crate::session::Session;

/// List calls, oldest first
///
/// Lists the newest 50 calls. Use --limit to change the number, or --all to list every call. With --json, every call is
/// listed unless --limit is given.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only list calls with this status, such as pending or approved
    #[arg(long)]
    status: Option<String>,

    /// Only list calls of this tool
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// List at most this many of the newest calls
    #[arg(long, value_name = "COUNT", conflicts_with = "all", value_parser = count, allow_hyphen_values = true)]
    limit: Option<usize>,

    /// List every call
    #[arg(long)]
    all: bool,
}

/// How many calls are shown as text by default.
const DEFAULT_ROWS: usize = 50;

/// The maximum number of rows with short ids.
const MAX_SHORT_IDS: usize = 1_000;

/// Prints calls as they are read, because there may be many.
pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ListArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let limit = arguments.limit.or((!arguments.all && !output.is_json()).then_some(DEFAULT_ROWS));
    let status = arguments.status.as_deref().map(CallStatus::from_word);
    let filter = CallFilter { status, tool: arguments.tool.clone(), limit };
    // An unreadable queue fails here, before anything is written.
    let list = session.workspace()?.calls().list(filter)?;
    if output.is_json() {
        let mut failed = None;
        let exit = output.write(Exit::Done, |out| {
            failed = write_list(&list, out)?;
            Ok(())
        });
        return Ok(failed.map_or(exit, |error| exit.max(error.exit())));
    }
    let now = output.shown_now();
    let mut rows = CallRows::new(&list.counts);
    let mut exit = Exit::Done;
    // Each short id is a search among the others.
    let is_short = limit.is_some_and(|limit| limit <= MAX_SHORT_IDS);
    let mut unreadable = None;
    list.for_each(&mut |call| {
        let short = if is_short { list.short_id(call) } else { Ok(call.id.to_string()) };
        match short {
            Ok(id) => rows.add(call, &id, now),
            Err(error) => {
                unreadable = Some(error);
                return ControlFlow::Break(());
            }
        }
        if rows.is_full() {
            exit = exit.max(output.page(&rows.part(output.new_page()), Exit::Done));
        }
        if exit == Exit::Done { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if let Some(error) = unreadable {
        return Err(error);
    }
    let mut page = rows.last(output.new_page(), limit);
    if rows.is_empty() {
        page.notes(list.notes()?);
    }
    Ok(exit.max(output.page(&page, Exit::Done)))
}
