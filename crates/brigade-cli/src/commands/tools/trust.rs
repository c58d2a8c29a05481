//! `brigade tools trust`

use brigade::report::{TrustReport, TrustState};
use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
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
    let may_ask = output.may_ask(session.surroundings);
    let report = match shown {
        Ok(report) if may_ask && !report.things.iter().all(|thing| is_settled(thing.state)) => report,
        shown => return output.finish(shown),
    };
    if !output.confirm(&report, "Did you review this?") {
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
