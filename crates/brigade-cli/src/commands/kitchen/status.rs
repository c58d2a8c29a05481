//! `brigade kitchen status`

use std::ops::ControlFlow;
use std::path::PathBuf;

use brigade::{Exit, Report as _, StatusReport};
use clap::Args;

use crate::output::Output;
use crate::render::{Escalations, show_status};
use crate::session::Session;

/// Show where the tasks of a PRD stand
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// File of the PRD; by default the one that somebody works on
    prd: Option<PathBuf>,

    /// Print one line of JSON: how many are done, what runs, whether somebody should look
    #[arg(long, conflicts_with_all = ["watch", "all"])]
    brief: bool,

    /// Print that line only if somebody should look
    #[arg(long, conflicts_with_all = ["watch", "all"])]
    alert_only: bool,

    /// Show it again at every change, until no service runs
    #[arg(long)]
    watch: bool,

    /// Show all escalations
    #[arg(long)]
    all: bool,
}

/// Clears a terminal and goes to its start.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

pub(crate) fn run(session: &Session<'_>, arguments: &StatusArgs, output: &mut Output<'_, '_>) -> Exit {
    let prd = arguments.prd.as_deref();
    if arguments.brief || arguments.alert_only {
        let brief = match session.workspace().and_then(|workspace| workspace.kitchen().brief(prd)) {
            Ok(brief) => brief,
            Err(error) => return output.fail(&error),
        };
        if arguments.alert_only && !brief.attention {
            return Exit::Done;
        }
        return line(&brief, output);
    }
    let escalations = if arguments.all { Escalations::All } else { Escalations::Newest };
    if arguments.watch {
        return watch(session, arguments, escalations, output);
    }
    match session.workspace().and_then(|workspace| workspace.kitchen().status(prd)) {
        Ok(report) => show(&report, escalations, output),
        Err(error) => output.fail(&error),
    }
}

/// Writes a document in one line.
fn line(document: &impl serde::Serialize, output: &mut Output<'_, '_>) -> Exit {
    output.write(Exit::Done, |out| {
        serde_json::to_writer(&mut *out, document)?;
        out.write_all(b"\n")
    })
}

fn show(report: &StatusReport, escalations: Escalations, output: &mut Output<'_, '_>) -> Exit {
    if output.is_json() {
        return output.document(report, report.exit());
    }
    let mut page = output.new_page();
    show_status(report, escalations, &mut page);
    output.page(&page, report.exit())
}

fn watch(
    session: &Session<'_>,
    arguments: &StatusArgs,
    escalations: Escalations,
    output: &mut Output<'_, '_>,
) -> Exit {
    let workspace = match session.workspace_to_run() {
        Ok(workspace) => workspace,
        Err(error) => return output.fail(&error),
    };
    let redraws = session.surroundings.output.is_some() && !session.surroundings.dumb && !output.is_json();
    let mut exit = Exit::Done;
    let watched = workspace.kitchen().watch(arguments.prd.as_deref(), &mut |report| {
        if redraws {
            output.text(CLEAR);
        }
        exit = if output.is_json() { line(&report, output) } else { show(&report, escalations, output) };
        // A closed pipe or a full disk ends it.
        if output.is_broken() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    match watched {
        Ok(()) => exit,
        Err(error) => output.fail(&error),
    }
}
