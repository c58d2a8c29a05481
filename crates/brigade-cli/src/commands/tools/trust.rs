//! `brigade tools trust`

use brigade::report::{TrustRow, TrustState};
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

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &TrustArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let calls = session.workspace()?.calls();
    let names = &arguments.tools;
    let report = calls.show_trust(names)?;
    if arguments.yes {
        return Ok(output.finish(calls.trust(names, &report)?));
    }
    let is_settled = |thing: &TrustRow| matches!(thing.state, TrustState::Reviewed | TrustState::NotNeeded);
    if !output.may_ask(session.surroundings) || report.things.iter().all(is_settled) {
        return Ok(output.finish(report));
    }
    if !output.confirm(&report, "Did you review this?") {
        output.note("nothing was recorded");
        return Ok(Exit::Refused);
    }
    calls.trust(names, &report)?;
    output.note("recorded");
    Ok(Exit::Done)
}
