//! `brigade kitchen answer`

use brigade::Error;
use brigade::kitchen::{AnswerReport, AnswerRequest};
use clap::Args;

use crate::session::Session;

/// Answer a waiting question
#[derive(Args, Debug)]
pub(crate) struct AnswerArgs {
    /// Id of the decision, or any unique prefix of it
    id: String,

    /// One of its choices, or any text if it has none
    choice: String,

    /// Reason for the answer
    #[arg(long)]
    reason: Option<String>,

    /// Guidance for the next attempt
    #[arg(long)]
    guidance: Option<String>,
}

pub(crate) fn run(session: &Session<'_>, arguments: &AnswerArgs) -> Result<AnswerReport, Error> {
    let AnswerArgs { id, choice, reason, guidance } = arguments;
    let request = AnswerRequest {
        id: id.clone(),
        choice: choice.clone(),
        reason: reason.clone(),
        guidance: guidance.clone(),
    };
    session.workspace()?.kitchen().answer(&request)
}
