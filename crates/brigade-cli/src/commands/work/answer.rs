//! `brigade work answer`

use brigade::Error;
use brigade::core::IdPrefix;
use brigade::daily::WorkAnswer;
use brigade::report::WorkAnswerReport;
use clap::Args;

use crate::session::Session;

/// Answer an approval, a checkpoint, a decision of the kitchen or a question of an agent
///
/// Does the same as the specific command, such as `tools call approve` or `kitchen answer`.
#[derive(Args, Debug)]
pub(crate) struct AnswerArgs {
    /// Id from the brief, or a unique prefix
    #[arg(value_name = "WAITING")]
    id: IdPrefix,

    /// One of its choices, such as approve; with several questions ID=CHOICE, once for each
    #[arg(long, value_name = "CHOICE")]
    choice: Vec<String>,

    /// A text: the answer, or the reason of a rejection
    #[arg(long)]
    text: Option<String>,

    /// Decline to answer, or reject
    #[arg(long, conflicts_with = "choice")]
    decline: bool,
}

pub(crate) fn run(session: &Session<'_>, arguments: &AnswerArgs) -> Result<WorkAnswerReport, Error> {
    let AnswerArgs { id, choice, text, decline } = arguments;
    let answer = WorkAnswer { choices: choice.clone(), text: text.clone(), is_declined: *decline };
    session.workspace()?.work().answer(id, &answer)
}
