//! `brigade team roster`

use brigade::team::JoinStep;
use brigade::{Error, TeamRosterReport};
use clap::{Args, Subcommand};

use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Roster {
    List(ListArgs),
    Accept(AcceptArgs),
}

/// Show the reviewers and rules, and what changed since they were accepted here
///
/// Exits with 1 if something has changed.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

/// Let the current keys of the reviewers and the current rules count here
#[derive(Args, Debug)]
pub(crate) struct AcceptArgs {}

pub(crate) fn run(command: &Roster, session: &Session<'_>) -> Result<TeamRosterReport, Error> {
    let step = match command {
        Roster::List(_) => JoinStep::Show,
        Roster::Accept(_) => JoinStep::Accept,
    };
    super::team(session)?.roster(step)
}
