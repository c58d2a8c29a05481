//! `brigade team roster`

use brigade::team::JoinStep;
use brigade::{Error, Exit};
use clap::{Args, Subcommand};

use crate::examples;
use crate::output::Output;
use crate::session::Session;

/// Compare the reviewers and rules of the team with those that were accepted here
#[derive(Args, Debug)]
pub(crate) struct RosterArgs {
    #[command(subcommand)]
    step: Option<RosterStep>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RosterStep {
    /// Let the present keys of the reviewers and the present rules count here
    ///
    /// Shows the difference. On a terminal it asks; elsewhere it needs --yes.
    #[command(after_help = examples::help_text("roster", "accept").unwrap_or_default())]
    Accept {
        /// Accept them without asking
        #[arg(long)]
        yes: bool,
    },
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &RosterArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let roster = |step| super::team(session).and_then(|team| team.roster(step));
    let report = roster(JoinStep::Show)?;
    let Some(RosterStep::Accept { yes }) = arguments.step.as_ref().filter(|_| !report.accepted) else {
        return Ok(output.finish(report));
    };
    let question = "Let these keys and rules count here?";
    if output.confirm_or(session.surroundings, *yes, &report, question)? {
        return Ok(output.finish(roster(JoinStep::Accept)?));
    }
    output.note("nothing was accepted");
    Ok(Exit::Refused)
}
