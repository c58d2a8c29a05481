//! `brigade team join`

use brigade::report::TeamJoinReport;
use brigade::team::{JoinStep, TeamPlace};
use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Let the workspace use the queue of a team
///
/// Shows the keys of the reviewers, and the rules about how many of them approve. On a terminal it asks; elsewhere it
/// needs --accept-roster. Then only approvals that are signed with these keys count here, and no call needs fewer.
#[derive(Args, Debug)]
pub(crate) struct JoinArgs {
    /// Address of the database, without a password
    #[arg(long)]
    url: String,
    /// Name of the workspace in the team
    #[arg(long)]
    workspace: String,
    /// Schema of the tables, `brigade` by default
    #[arg(long)]
    schema: Option<String>,
    /// Accept the keys of the reviewers and the rules without asking
    #[arg(long)]
    accept_roster: bool,
}

impl JoinArgs {
    fn join(&self, session: &Session<'_>, step: JoinStep) -> Result<TeamJoinReport, Error> {
        let place = TeamPlace { url: Some(&self.url), schema: self.schema.as_deref() };
        super::team(session)?.join(place, &self.workspace, step)
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &JoinArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    if arguments.accept_roster {
        return Ok(output.finish(arguments.join(session, JoinStep::Accept)?));
    }
    let report = arguments.join(session, JoinStep::Show)?;
    if !output.may_ask(session.surroundings) {
        return Ok(output.finish(report));
    }
    if !output.confirm(&report, "Let approvals with these keys and by these rules count here?") {
        output.note("the workspace has not joined");
        return Ok(Exit::Refused);
    }
    arguments.join(session, JoinStep::Accept)?;
    output.note("joined");
    Ok(Exit::Done)
}
