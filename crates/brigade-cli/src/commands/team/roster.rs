//! `brigade team roster`

use brigade::Exit;
use brigade::team::JoinStep;
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
    Accept(AcceptArgs),
}

/// Let the present keys of the reviewers and the present rules count here
///
/// Shows the difference. On a terminal it asks; elsewhere it needs --yes.
#[derive(Args, Debug)]
#[command(after_help = examples::help_text("roster", "accept").unwrap_or_default())]
pub(crate) struct AcceptArgs {
    /// Accept them without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &RosterArgs, output: &mut Output<'_, '_>) -> Exit {
    let roster = |step| super::team(session).and_then(|team| team.roster(step));
    let shown = roster(JoinStep::Show);
    let (Some(RosterStep::Accept(arguments)), Ok(report)) = (&arguments.step, &shown) else {
        return output.finish(shown);
    };
    if report.accepted {
        return output.finish(shown);
    }
    let question = "Let these keys and rules count here?";
    match output.confirm_or(session.surroundings, arguments.yes, report, question) {
        Ok(true) => output.finish(roster(JoinStep::Accept)),
        Ok(false) => {
            output.note("nothing was accepted");
            Exit::Refused
        }
        Err(error) => output.fail(&error),
    }
}
