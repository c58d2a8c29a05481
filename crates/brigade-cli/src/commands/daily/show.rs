//! `brigade show`

use brigade::core::text::escape_terminal;
use brigade::core::{IdPrefix, NextStep};
use brigade::daily::NamedThing;
use brigade::kitchen::LogRequest;
use brigade::{Error, ErrorCode, ErrorKind, Exit, Report as _, Workspace};
use clap::Args;

use super::explain;
use crate::output::Output;
use crate::render::{Escalations, show_status};
use crate::session::Session;

/// Show anything: a call, run, tool, agent, server, checkpoint, PRD, task or issue
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Id, prefix or name, PRD/TASK, a code, or a number of the last list
    #[arg(value_name = "ANYTHING")]
    what: String,

    /// Show every detail of a call
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ShowArgs, output: &mut Output<'_, '_>) -> Exit {
    output.set_full(arguments.full);
    let what = arguments.what.trim();
    let found = session.workspace().and_then(|workspace| Ok((workspace.daily().look_up(what)?, workspace)));
    let (found, workspace) = match found {
        Ok(found) => found,
        Err(error) => return output.fail(&error),
    };
    if found.is_empty()
        && let Some(explained) = explain::explanation(what, output)
    {
        return output.finish(Ok(explained));
    }
    match only_one(what, found) {
        Ok(thing) => show(&workspace, &thing, output),
        Err(error) => output.fail(&error),
    }
}

fn show(workspace: &Workspace, thing: &NamedThing, output: &mut Output<'_, '_>) -> Exit {
    match thing {
        NamedThing::Call(id) => output.finish(workspace.calls().show(id.as_str())),
        NamedThing::Run(id) => output.finish(workspace.runs().show(&IdPrefix::new(id.as_str()))),
        NamedThing::Checkpoint(id) => {
            output.finish(workspace.checkpoints().show(&IdPrefix::new(id.as_str())))
        }
        NamedThing::Tool(id) => output.finish(workspace.catalog().show(id)),
        NamedThing::Runtime(id) => output.finish(workspace.runtimes().show(id)),
        NamedThing::Agent(name) => output.finish(workspace.agents().shown(name)),
        NamedThing::InboxRow(id) => output.finish(workspace.inbox().show(&IdPrefix::new(id))),
        NamedThing::Waiting(_) => output.finish(workspace.daily().pending()),
        NamedThing::Prd(path) => match workspace.kitchen().status(Some(&workspace.root().join(path))) {
            Ok(report) if output.is_json() => output.document(&report, report.exit()),
            Ok(report) => {
                let mut page = output.new_page();
                show_status(&report, Escalations::Newest, &mut page);
                output.page(&page, report.exit())
            }
            Err(error) => output.fail(&error),
        },
        NamedThing::Task(path, task) => {
            let request = LogRequest { task, attempt: None };
            match workspace.kitchen().log(Some(&workspace.root().join(path)), request) {
                Ok(report) => output.document(&report, Exit::Done),
                Err(error) => output.fail(&error),
            }
        }
        other => output.text(&format!("{}\n", other.describe())),
    }
}

/// Returns the only thing that a word means.
pub(super) fn only_one(what: &str, mut found: Vec<NamedThing>) -> Result<NamedThing, Error> {
    let shown = escape_terminal(what);
    match found.len() {
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
