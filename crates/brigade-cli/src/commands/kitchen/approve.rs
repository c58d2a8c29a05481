//! `brigade kitchen approve`

use std::path::PathBuf;

use brigade::kitchen::{ApprovalReport, ApproveStep};
use brigade::{Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::render::next_of_approval;
use crate::session::Session;

/// Show what a PRD would execute, and approve it
///
/// Nothing is started that a person has not approved. On a terminal it asks; elsewhere it needs --fingerprint, as
/// validate printed it. Any change of what was approved needs a new approval.
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// File of the PRD; by default the PRD in progress
    prd: Option<PathBuf>,

    /// Approve this fingerprint, or one with this prefix, without asking
    #[arg(long, value_name = "FINGERPRINT")]
    fingerprint: Option<String>,

    /// Approve only the commands of the tiers, which planning starts
    #[arg(long, conflicts_with = "prd")]
    workers: bool,

    /// Revoke the approval
    #[arg(long, conflicts_with = "fingerprint")]
    revoke: bool,
}

fn approve(
    session: &Session<'_>,
    arguments: &ApproveArgs,
    step: &ApproveStep,
) -> Result<ApprovalReport, Error> {
    let kitchen = session.workspace()?.kitchen();
    if arguments.workers {
        return kitchen.approve_workers(step);
    }
    kitchen.approve(arguments.prd.as_deref(), step)
}

pub(crate) fn run(session: &Session<'_>, arguments: &ApproveArgs, output: &mut Output<'_, '_>) -> Exit {
    let step = match (&arguments.fingerprint, arguments.revoke) {
        (_, true) => ApproveStep::Revoke,
        (Some(fingerprint), false) => ApproveStep::Approve(fingerprint.clone()),
        (None, false) => ApproveStep::Show,
    };
    let shown = approve(session, arguments, &step);
    let may_ask = output.may_ask(session.surroundings);
    let fingerprint = match &shown {
        Ok(report) if step == ApproveStep::Show && may_ask && !report.approved => report.fingerprint,
        _ => None,
    };
    let (Some(fingerprint), Ok(report)) = (fingerprint, &shown) else { return output.finish(shown) };
    if !output.confirm(report, "Approve this?") {
        output.note("nothing was approved");
        return Exit::Refused;
    }
    let step = ApproveStep::Approve(fingerprint.to_string());
    match approve(session, arguments, &step) {
        Ok(report) => {
            let mut page = output.new_page();
            page.note("approved");
            next_of_approval(&report, &mut page);
            output.page(&page, Exit::Done)
        }
        Err(error) => output.fail(&error),
    }
}
