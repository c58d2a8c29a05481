//! `brigade team join`

use std::io::{BufRead as _, BufReader};

use brigade::team::{JoinStep, TeamPlace};
use brigade::{Error, Exit, TeamJoinReport};
use clap::Args;

use crate::output::Output;
use crate::render::View as _;
use crate::session::Session;

/// Let the workspace use the queue of a team
///
/// Shows the keys of the reviewers. On a terminal it asks; elsewhere it needs --accept-roster. Then only approvals that
/// are signed with these keys count here.
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
    /// Accept the keys of the reviewers without asking
    #[arg(long)]
    accept_roster: bool,
}

impl JoinArgs {
    fn join(&self, session: &Session<'_>, step: JoinStep) -> Result<TeamJoinReport, Error> {
        let place = TeamPlace { url: Some(&self.url), schema: self.schema.as_deref() };
        super::team(session)?.join(place, &self.workspace, step)
    }
}

pub(crate) fn run(session: &Session<'_>, arguments: &JoinArgs, output: &mut Output<'_, '_>) -> Exit {
    if arguments.accept_roster {
        return output.finish(arguments.join(session, JoinStep::Accept));
    }
    let shown = arguments.join(session, JoinStep::Show);
    let surroundings = session.surroundings;
    let may_ask = surroundings.typed && surroundings.error.is_some() && !output.is_json();
    let report = match &shown {
        Ok(report) if may_ask => report,
        _ => return output.finish(shown),
    };
    let mut page = output.new_page();
    report.show(&mut page);
    let exit = output.page(&page, Exit::Done);
    if exit != Exit::Done {
        return exit;
    }
    let mut question = output.new_page();
    question.notes.line("Let approvals with these keys count here? Type yes:");
    output.aside(&question.notes);
    let mut answer = String::new();
    let is_read = BufReader::new(output.input()).read_line(&mut answer).is_ok();
    if !is_read || !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        output.note("the workspace has not joined");
        return Exit::Refused;
    }
    match arguments.join(session, JoinStep::Accept) {
        Ok(_) => {
            output.note("joined");
            Exit::Done
        }
        Err(error) => output.fail(&error),
    }
}
