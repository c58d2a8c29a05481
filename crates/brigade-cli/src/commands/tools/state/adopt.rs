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

pub(crate) fn run(session: &Session<'_>, arguments: &AdoptArgs, output: &mut Output<'_, '_>) -> Exit {
    if arguments.yes {
        return output.finish(adopt(session, AdoptStep::Adopt));
    }
    let shown = adopt(session, AdoptStep::Show);
    let may_ask = output.may_ask(session.surroundings);
    let report = match &shown {
        Ok(report) if may_ask && !report.records.is_empty() => report,
        _ => return output.finish(shown),
    };
    if !output.confirm(report, "Accept these on this host?") {
        output.note("nothing was accepted");
        return Exit::Refused;
    }
    match adopt(session, AdoptStep::Adopt) {
        Ok(_) => {
            output.note("accepted");
            Exit::Done
        }
        Err(error) => output.fail(&error),
    }
}
