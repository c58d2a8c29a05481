//! `brigade tools call list`

use std::ops::ControlFlow;

use brigade::core::{Clock as _, SystemClock};
use brigade::{CallFilter, Error, Exit, Workspace};
use clap::Args;

use crate::output::Output;
use crate::render::calls::{CallList, CallRows};
use crate::session::Session;

/// List the queued calls, oldest first
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only calls of this status, such as pending or approved
    #[arg(long)]
    status: Option<String>,

    /// Only calls of this tool
    #[arg(long, value_name = "ID")]
    tool: Option<String>,

    /// Only the newest so many
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
}

/// Shows calls while they are read, because there may be many.
pub(crate) fn run(session: &Session<'_>, arguments: &ListArgs, output: &mut Output<'_, '_>) -> Exit {
    let filter =
        CallFilter { status: arguments.status.clone(), tool: arguments.tool.clone(), limit: arguments.limit };
    let shown = session.workspace().and_then(|workspace| show(&workspace, &filter, output));
    shown.unwrap_or_else(|error| output.fail(&error))
}

fn show(workspace: &Workspace, filter: &CallFilter, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    // What cannot be read at all fails here, before anything is written.
    let counts = workspace.call_counts()?;
    if output.is_json() {
        let list = CallList::new(workspace, filter, &counts);
        let exit = output.document(&list, Exit::Done);
        return Ok(list.failure().map_or(exit, |error| exit.max(error.exit())));
    }
    let now = SystemClock.now();
    let mut rows = CallRows::new(&counts);
    let mut exit = Exit::Done;
    workspace.for_each_call(filter, &mut |call| {
        rows.add(&workspace.call_json(call), now);
        if rows.is_full() {
            exit = exit.max(output.page(&rows.part(now), Exit::Done));
        }
        if exit == Exit::Done { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(exit.max(output.page(&rows.last(now), Exit::Done)))
}
