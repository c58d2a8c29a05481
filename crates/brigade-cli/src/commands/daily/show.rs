//! `brigade show`

use std::path::PathBuf;

use brigade::core::text::escape_terminal;
use brigade::core::{IdPrefix, NextStep};
use brigade::daily::NamedThing;
use brigade::{Error, ErrorCode, ErrorKind, Exit, Workspace};
use clap::Args;

use super::explain;
use crate::commands::kitchen::log::{self as kitchen_log, LogArgs};
use crate::commands::kitchen::status;
use crate::output::Output;
use crate::render::{Escalations, show_task};
use crate::session::Session;

/// Show anything: a call, run, tool, agent, server, checkpoint, PRD, task or issue
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id, prefix or name, TASK or PRD/TASK, a code, or a number of the last list
    #[arg(value_name = "ANYTHING")]
    what: String,

    /// Show every detail of a call
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ShowArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    output.set_full(arguments.full);
    let what = arguments.what.trim();
    let workspace = session.workspace()?;
    let found = workspace.daily().look_up(what)?;
    // A bare number is one of the last list, not an exit code.
    if found.is_empty() && !is_number(what) {
        if let Some(explained) = explain::explanation(what, output) {
            return Ok(output.finish(explained));
        }
        let prds = workspace.kitchen().names().unwrap_or_default();
        if prds.iter().flat_map(|prd| &prd.tasks).any(|(task, _)| task.as_str() == what) {
            return show_kitchen_task(session, &workspace, None, what, output);
        }
    }
    show(session, &workspace, &only_one(what, found)?, output)
}

fn show(
    session: &Session<'_>,
    workspace: &Workspace,
    thing: &NamedThing,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match thing {
        NamedThing::Call(id) => output.finish(workspace.calls().show(id.as_str())?),
        NamedThing::Run(id) => output.finish(workspace.runs().show(&IdPrefix::new(id.as_str()))?),
        NamedThing::Checkpoint(id) => {
            output.finish(workspace.checkpoints().show(&IdPrefix::new(id.as_str()))?)
        }
        NamedThing::Tool(id) => output.finish(workspace.catalog().show(id)?),
        NamedThing::Runtime(id) => output.finish(workspace.runtimes().show(id)?),
        NamedThing::Agent(name) => output.finish(workspace.agents().shown(name)?),
        NamedThing::InboxRow(id) => output.finish(workspace.inbox().show(&IdPrefix::new(id))?),
        NamedThing::Waiting(id) => output.finish(workspace.daily().review_question(id)?),
        NamedThing::Prd(path) => {
            let report = workspace.kitchen().status(Some(&workspace.root().join(path)))?;
            status::show(&report, Escalations::Newest, output)
        }
        NamedThing::Task(path, task) => {
            show_kitchen_task(session, workspace, Some(workspace.root().join(path)), task, output)?
        }
        other => output.text(&format!("{}\n", other.describe())),
    })
}

/// Shows a task, and what its newest attempt printed if there is one.
fn show_kitchen_task(
    session: &Session<'_>,
    workspace: &Workspace,
    prd: Option<PathBuf>,
    task: &str,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let report = workspace.kitchen().task(prd.as_deref(), task)?;
    let was_tried = report.tasks.iter().any(|row| 0 < row.attempts);
    let log = LogArgs::newest(prd, task.to_owned());
    match output.is_json() {
        true if was_tried => return kitchen_log::run(session, &log, output),
        true => return Ok(output.document(&report, Exit::Done)),
        false => {}
    }
    let mut page = output.new_page();
    report.tasks.iter().for_each(|row| show_task(&report, row, &mut page));
    if was_tried {
        page.data.gap();
    }
    let exit = output.page(&page, Exit::Done);
    Ok(if was_tried { exit.max(kitchen_log::run(session, &log, output)?) } else { exit })
}

fn is_number(what: &str) -> bool {
    !what.is_empty() && what.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the only thing that a word means.
pub(super) fn only_one(what: &str, mut found: Vec<NamedThing>) -> Result<NamedThing, Error> {
    let shown = escape_terminal(what);
    match found.len() {
        0 if is_number(what) => {
            let message = format!("the last list of what waits has no number {shown}");
            let error = Error::new(ErrorKind::NotFound, message);
            Err(error.coded(ErrorCode::WaitingMissing).hint(NextStep::ListPending))
        }
        1 => Ok(found.remove(0)),
        0 => {
            let error = Error::new(ErrorKind::NotFound, format!("nothing has the id or name `{shown}`"));
            Err(error.coded(ErrorCode::NotFound).hint(NextStep::ListPending).hint(NextStep::ShowHistory))
        }
        _ => {
            let candidates: Vec<String> = found.iter().map(NamedThing::describe).collect();
            let message = format!("`{shown}` could be {}", candidates.join(", "));
            Err(Error::new(ErrorKind::Ambiguous, message))
        }
    }
}
