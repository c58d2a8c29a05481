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

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ApproveArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let step = match (&arguments.fingerprint, arguments.revoke) {
        (_, true) => ApproveStep::Revoke,
        (Some(fingerprint), false) => ApproveStep::Approve(fingerprint.clone()),
        (None, false) => ApproveStep::Show,
    };
    let shown = approve(session, arguments, &step)?;
    let may_ask = step == ApproveStep::Show && output.may_ask(session.surroundings);
    let Some(fingerprint) = shown.fingerprint.filter(|_| may_ask && !shown.approved) else {
        return Ok(output.finish(shown));
    };
    if !output.confirm(&shown, "Approve this?") {
        output.note("nothing was approved");
        return Ok(Exit::Refused);
    }
    let report = approve(session, arguments, &ApproveStep::Approve(fingerprint.to_string()))?;
    let mut page = output.new_page();
    page.note("approved");
    next_of_approval(&report, &mut page);
    Ok(output.page(&page, Exit::Done))
}
