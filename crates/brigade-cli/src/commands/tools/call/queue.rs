//! `brigade tools call queue`

use brigade::{Blocked, Error, QueueReport};
use clap::Args;

use super::arguments::CallArguments;
use crate::output::Output;
use crate::session::Session;

/// Plan a call and store it for a person to decide on; runs nothing
///
/// A call that asks for the same as one that is pending or approved is not stored twice.
#[derive(Args, Debug)]
pub(crate) struct QueueArgs {
    /// Id of the tool
    id: String,

    #[command(flatten)]
    arguments: CallArguments,

    /// Store the call although something speaks against it; it cannot be approved then
    #[arg(long)]
    include_blocked: bool,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &QueueArgs,
    output: &mut Output<'_, '_>,
) -> Result<QueueReport, Error> {
    let source = arguments.arguments.source(output)?;
    let blocked = if arguments.include_blocked { Blocked::Include } else { Blocked::Refuse };
    session.workspace()?.queue_call(&arguments.id, &source, blocked)
}
