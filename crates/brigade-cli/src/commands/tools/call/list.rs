//! `brigade tools call list`

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use brigade::core::Json;
use brigade::core::json::to_json;
use brigade::{CallFilter, Error, Exit, Workspace};
use clap::Args;
use serde::Serialize;

use crate::arguments::count;
use crate::output::Output;
use crate::render::calls::{CALL_LIST, CallList, CallRows};
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
const SHOWN: usize = 50;

/// Prints calls as they are read, because there may be many.
pub(crate) fn run(session: &Session<'_>, arguments: &ListArgs, output: &mut Output<'_, '_>) -> Exit {
    let limit = arguments.limit.or((!arguments.all && !output.is_json()).then_some(SHOWN));
    let filter = CallFilter { status: arguments.status.clone(), tool: arguments.tool.clone(), limit };
    let shown = session.workspace().and_then(|workspace| show(&workspace, &filter, output));
    shown.unwrap_or_else(|error| output.fail(&error))
}

fn show(workspace: &Workspace, filter: &CallFilter, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    // An unreadable queue fails here, before anything is written.
    let counts = workspace.calls().counts()?;
    workspace.calls().check_filter(filter, &counts)?;
    if output.is_json() {
        if *filter == CallFilter::default() {
            return write_all(workspace, &counts, output);
        }
        let list = CallList::new(workspace, filter, &counts);
        let exit = output.document(&list, Exit::Done);
        return Ok(list.failure().map_or(exit, |error| exit.max(error.exit())));
    }
    let now = output.now();
    let mut rows = CallRows::new(&counts);
    let mut exit = Exit::Done;
    workspace.calls().for_each(filter, &mut |call| {
        rows.add(call, now);
        if rows.is_full() {
            exit = exit.max(output.page(&rows.part(now), Exit::Done));
        }
        if exit == Exit::Done { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let mut page = rows.last(now, filter);
    if let Some(tool) = filter.tool.as_ref().filter(|_| rows.is_empty())
        && let Some(note) = workspace.calls().note_on_tool(tool)?
    {
        page.note(&note);
    }
    Ok(exit.max(output.page(&page, Exit::Done)))
}

/// The members before `calls` in the document of all calls.
#[derive(Serialize)]
struct Head<'a> {
    calls_path: &'a str,
    counts: &'a BTreeMap<String, u64>,
    schema: &'static str,
    target: &'a str,
}

/// Writes the document of all calls as they are read.
fn write_all(
    workspace: &Workspace,
    counts: &BTreeMap<String, u64>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let (target, calls_path) = (workspace.root().display().to_string(), workspace.calls().path());
    let head = Head { calls_path: &calls_path, counts, schema: CALL_LIST, target: &target };
    let head = to_json(&head).unwrap_or_default().to_pretty();
    let head = head.trim_end().trim_end_matches('}').trim_end();
    let mut failed = None;
    let exit = output.write(Exit::Done, |out| {
        write!(out, "{head},\n  \"calls\": [")?;
        let mut unwritten = None;
        let mut separator = "\n    ";
        let read = workspace.calls().for_each_text(&mut |call| {
            let written = out.write_all(separator.as_bytes()).and_then(|()| out.write_all(call));
            separator = ",\n    ";
            unwritten = written.err();
            if unwritten.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if let Some(error) = unwritten {
            return Err(error);
        }
        let error = read.as_ref().err().map(|error| Json::from(error.to_string()).to_compact());
        failed = read.err();
        match error {
            Some(error) => write!(out, "\n  ],\n  \"error\": {error}\n}}\n"),
            None => write!(out, "\n  ]\n}}\n"),
        }
    });
    Ok(failed.map_or(exit, |error| exit.max(error.exit())))
}
