//! `brigade tools checkpoint`

use brigade::core::IdPrefix;
use brigade::{CheckpointStep, Error, Exit};
use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Checkpoint {
    /// List checkpoints, newest first
    List,
    /// Show a checkpoint: what the program asks, and the choices
    Show {
        /// Id of the checkpoint, or a unique prefix
        checkpoint: IdPrefix,
    },
    /// Answer a checkpoint, so that its call can be resumed
    Approve {
        /// Id of the checkpoint, or a unique prefix
        checkpoint: IdPrefix,

        /// The answer, one of the checkpoint's choices
        #[arg(long, value_parser = NonEmptyStringValueParser::new())]
        choice: String,
    },
    /// Reject a checkpoint, so that its call cannot continue
    Reject {
        /// Id of the checkpoint, or a unique prefix
        checkpoint: IdPrefix,

        /// Reason for the decision
        #[arg(long, value_parser = NonEmptyStringValueParser::new())]
        reason: String,
    },
    /// Run the call of an answered checkpoint again
    ///
    /// The program gets the checkpoint id in BRIGADE_TOOL_RESUME_CHECKPOINT_ID and the choice in
    /// BRIGADE_TOOL_RESUME_CHOICE. BRIGADE_TOOL_RESUME_CHOICES holds the choices of all checkpoints of the previous
    /// run, as a JSON object keyed by checkpoint id.
    Resume {
        /// Id of the checkpoint, or a unique prefix
        checkpoint: IdPrefix,
    },
}

pub(crate) fn run(
    command: &Checkpoint,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    Ok(match command {
        Checkpoint::List => output.finish(session.workspace()?.checkpoints().list()?),
        Checkpoint::Show { checkpoint } => {
            output.finish(session.workspace()?.checkpoints().show(checkpoint)?)
        }
        Checkpoint::Approve { checkpoint, choice } => {
            let checkpoints = session.workspace()?.checkpoints();
            output
                .finish(checkpoints.approve(&checkpoints.find(checkpoint, CheckpointStep::Answer)?, choice)?)
        }
        Checkpoint::Reject { checkpoint, reason } => {
            let checkpoints = session.workspace()?.checkpoints();
            output.finish(checkpoints.reject(&checkpoints.find(checkpoint, CheckpointStep::Answer)?, reason)?)
        }
        Checkpoint::Resume { checkpoint } => {
            let checkpoints = session.workspace_to_run()?.checkpoints();
            output.finish(checkpoints.resume(&checkpoints.find(checkpoint, CheckpointStep::Resume)?)?)
        }
    })
}
