//! `brigade tools trust`

use std::io::{BufRead as _, BufReader};

use brigade::{Error, Exit, TrustReport, TrustState};
use clap::Args;

use crate::output::Output;
use crate::render::View as _;
use crate::session::Session;

/// Show what a tool or program runs, and record that you reviewed it
///
/// A rule of the policy approves calls of a tool only while its contract, schemas and files are those that a person
/// reviewed; approving a call of the tool is a review, too. Judges, workers and health commands start only as reviewed.
/// On a terminal it asks; elsewhere it needs --yes.
#[derive(Args, Debug)]
pub(crate) struct TrustArgs {
    /// Ids of tools, runtime:ID, worker:ID or judge
    #[arg(required = true, value_name = "TOOL")]
    tools: Vec<String>,

    /// Record it without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &TrustArgs, output: &mut Output<'_, '_>) -> Exit {
    let calls = match session.workspace() {
        Ok(workspace) => workspace.calls(),
        Err(error) => return output.fail(&error),
    };
    let names = &arguments.tools;
    let shown: Result<TrustReport, Error> = calls.show_trust(names);
    if arguments.yes {
        return output.finish(shown.and_then(|shown| calls.trust(names, &shown)));
    }
    let is_settled = |state: TrustState| matches!(state, TrustState::Reviewed | TrustState::NotNeeded);
    let surroundings = session.surroundings;
    let may_ask = surroundings.typed && surroundings.error.is_some() && !output.is_json();
    let report = match shown {
        Ok(report) if may_ask && !report.things.iter().all(|thing| is_settled(thing.state)) => report,
        shown => return output.finish(shown),
    };
    let mut page = output.new_page();
    report.show(&mut page);
    let exit = output.page(&page, Exit::Done);
    if exit != Exit::Done {
        return exit;
    }
    let mut question = output.new_page();
    question.notes.line("Did you review this? Type yes:");
    output.aside(&question.notes);
    let mut answer = String::new();
    let is_read = BufReader::new(output.input()).read_line(&mut answer).is_ok();
    if !is_read || !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        output.note("nothing was recorded");
        return Exit::Refused;
    }
    match calls.trust(names, &report) {
        Ok(_) => {
            output.note("recorded");
            Exit::Done
        }
        Err(error) => output.fail(&error),
    }
}
