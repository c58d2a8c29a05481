//! `brigade work inbox`

use brigade::core::IdPrefix;
use brigade::health::{InboxStatus, InboxStep};
use brigade::{Error, Exit, InboxFilter};
use clap::{Args, Subcommand};

use crate::output::Output;
use crate::session::Session;

/// Review findings
///
/// Without a subcommand, lists the rows.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    pub(crate) command: Option<Inbox>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only list rows with this status, such as pending
    #[arg(long)]
    status: Option<String>,

    /// Only list rows from this source, such as tool-catalog
    #[arg(long)]
    source: Option<String>,
}

impl ListArgs {
    fn filter(&self) -> InboxFilter {
        InboxFilter {
            status: self.status.as_deref().map(InboxStatus::from_word),
            source: self.source.clone(),
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Inbox {
    /// List the rows of the inbox
    List(ListArgs),
    /// Show a row of the inbox
    Show {
        /// Id of the row, or a unique prefix
        row: IdPrefix,
    },
    /// Promote a row to a work item
    Promote {
        /// Id of the row, or a unique prefix
        row: IdPrefix,

        /// Reason for the decision
        #[arg(long)]
        reason: Option<String>,
    },
    /// Dismiss a row until it changes
    Dismiss {
        /// Id of the row, or a unique prefix
        row: IdPrefix,

        /// Reason for the decision
        #[arg(long)]
        reason: Option<String>,
    },
    /// Mark a row as done
    Done {
        /// Id of the row, or a unique prefix
        row: IdPrefix,

        /// Reason for the decision
        #[arg(long)]
        reason: Option<String>,
    },
}

pub(crate) fn run(
    arguments: &InboxArgs,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let inbox = session.workspace()?.inbox();
    let (row, step, reason) = match &arguments.command {
        None => return Ok(output.finish(inbox.list(&arguments.list.filter())?)),
        Some(Inbox::List(list)) => return Ok(output.finish(inbox.list(&list.filter())?)),
        Some(Inbox::Show { row }) => return Ok(output.finish(inbox.show(row)?)),
        Some(Inbox::Promote { row, reason }) => (row, InboxStep::Promote, reason),
        Some(Inbox::Dismiss { row, reason }) => (row, InboxStep::Dismiss, reason),
        Some(Inbox::Done { row, reason }) => (row, InboxStep::Done, reason),
    };
    Ok(output.finish(inbox.decide(row, step, reason.as_deref())?))
}
