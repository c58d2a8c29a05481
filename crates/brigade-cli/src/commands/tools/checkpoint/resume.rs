//! `brigade tools checkpoint resume`

use brigade::core::IdPrefix;
use brigade::{Error, ResumeReport};
use clap::Args;

use crate::session::Session;

/// Run the call of an approved checkpoint once more, with the answer
///
/// The script finds the id of the checkpoint in BRIGADE_TOOL_RESUME_CHECKPOINT_ID, the choice in
/// BRIGADE_TOOL_RESUME_CHOICE, and the choices of all checkpoints that the run before left, which are approved
/// together, in BRIGADE_TOOL_RESUME_CHOICES: a JSON object by checkpoint id.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Id of the checkpoint, or any prefix of it that no other checkpoint has
    checkpoint: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ResumeArgs) -> Result<ResumeReport, Error> {
    session.workspace_to_run()?.checkpoints().resume(&arguments.checkpoint)
}
