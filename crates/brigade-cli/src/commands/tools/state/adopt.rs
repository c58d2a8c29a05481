//! `brigade state adopt`

use brigade::records::AdoptStep;
use brigade::report::AdoptReport;
use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Accept approvals that another host gave
///
/// After a workspace was moved or copied, nothing runs or resumes because of what was approved elsewhere. Shows these
/// records. On a terminal it asks; elsewhere it needs --yes. Of what git tracks, it accepts policy.toml, gateway.toml
/// and profiles.toml as they are, and no other file.
#[derive(Args, Debug)]
pub(crate) struct AdoptArgs {
    /// Accept the records without asking
    #[arg(long)]
    yes: bool,
}

fn adopt(session: &Session<'_>, step: AdoptStep) -> Result<AdoptReport, Error> {
    session.workspace()?.state().adopt(step)
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &AdoptArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    if arguments.yes {
        return Ok(output.finish(adopt(session, AdoptStep::Adopt)?));
    }
    let report = adopt(session, AdoptStep::Show)?;
    if !output.may_ask(session.surroundings) || report.records.is_empty() {
        return Ok(output.finish(report));
    }
    if !output.confirm(&report, "Accept these on this host?") {
        output.note("nothing was accepted");
        return Ok(Exit::Refused);
    }
    adopt(session, AdoptStep::Adopt)?;
    output.note("accepted");
    Ok(Exit::Done)
}
