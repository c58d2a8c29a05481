//! `brigade tools checkpoint resume`

use brigade::core::IdPrefix;
use brigade::report::ResumeReport;
use brigade::{CheckpointStep, Error};
use clap::Args;

use crate::session::Session;

/// Run the call of an answered checkpoint again
///
/// The program gets the checkpoint id in BRIGADE_TOOL_RESUME_CHECKPOINT_ID and the choice in
/// BRIGADE_TOOL_RESUME_CHOICE. BRIGADE_TOOL_RESUME_CHOICES holds the choices of all checkpoints of the previous run, as
/// a JSON object keyed by checkpoint id.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Id of the checkpoint, or a unique prefix
    checkpoint: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ResumeArgs) -> Result<ResumeReport, Error> {
    let checkpoints = session.workspace_to_run()?.checkpoints();
    checkpoints.resume(&checkpoints.find(&arguments.checkpoint, CheckpointStep::Resume)?)
}
