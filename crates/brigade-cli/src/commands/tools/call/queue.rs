//! `brigade tools call queue`

use brigade::{Error, Exit, OnBlocked, Request};
use clap::Args;

use super::arguments::CallArguments;
use crate::output::Output;
use crate::render::batch::Batch;
use crate::session::Session;

/// Queue a call for approval, without running it
///
/// A duplicate of a pending or approved call is not stored again.
#[derive(Args, Debug)]
pub(crate) struct QueueArgs {
    /// Id of the tool
    #[arg(required_unless_present = "stdin")]
    id: Option<String>,

    #[command(flatten)]
    arguments: CallArguments,

    /// Queue the call even if it is blocked; a blocked call cannot be approved
    #[arg(long)]
    include_blocked: bool,

    /// Read many calls from standard input, one {"tool": ID, "args": {…}} per line
    #[arg(long, conflicts_with_all = ["id", "args", "args_json"])]
    stdin: bool,
}

impl QueueArgs {
    fn blocked(&self) -> OnBlocked {
        if self.include_blocked { OnBlocked::Include } else { OnBlocked::Refuse }
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &QueueArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let Some(id) = &arguments.id else { return many(session, arguments, output) };
    let request = Request::new(id).args(arguments.arguments.source(output)?).blocked(arguments.blocked());
    Ok(output.finish(session.workspace()?.calls().queue(request)?))
}

/// Prints the answer to each line as soon as its call is stored, because there may be many.
fn many(session: &Session<'_>, arguments: &QueueArgs, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    let workspace = session.workspace()?;
    let (is_json, colour) = (output.is_json(), output.colour());
    let mut result = None;
    let written = output.exchange(|input, out| {
        let mut batch = Batch::new(&workspace, arguments.blocked(), input);
        result = Some(if is_json { batch.write_document(out) } else { batch.write_lines(colour, out) }?);
        Ok(())
    });
    match result {
        Some(Ok(report)) => Ok(written.max(brigade::Report::exit(&report))),
        // The document already reports the error.
        Some(Err(error)) if is_json => Ok(written.max(error.exit())),
        Some(Err(error)) => Err(error),
        None => Ok(written),
    }
}
