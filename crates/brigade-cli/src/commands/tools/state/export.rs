//! `brigade tools state export`

use brigade::{CallFilter, Error, Exit};
use clap::Args;

use crate::output::Output;
use crate::render::export;
use crate::session::Session;

/// Print every call and receipt as JSON, one per line
///
/// With --json, prints one document instead.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {}

pub(crate) fn run(session: &Session<'_>, _: &ExportArgs, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    let workspace = session.workspace()?;
    // An unreadable queue fails here, before anything is written.
    workspace.calls().list(CallFilter::default())?;
    let is_json = output.is_json();
    let mut failure = None;
    let exit = output.write(Exit::Done, |out| {
        let write = if is_json { export::write_document } else { export::write_lines };
        failure = write(&workspace, out)?;
        Ok(())
    });
    match failure {
        // The document already reports the error.
        Some(error) if is_json => Ok(exit.max(error.exit())),
        Some(error) => Err(error),
        None => Ok(exit),
    }
}
