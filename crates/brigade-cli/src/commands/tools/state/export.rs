//! `brigade tools state export`

use brigade::{Error, Exit, Workspace};
use clap::Args;

use crate::output::Output;
use crate::render::export::Export;
use crate::session::Session;

/// Print every call and receipt as JSON, one per line
///
/// With --json, prints one document instead.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {}

pub(crate) fn run(session: &Session<'_>, _arguments: &ExportArgs, output: &mut Output<'_, '_>) -> Exit {
    let shown = session.workspace().and_then(|workspace| show(&workspace, output));
    shown.unwrap_or_else(|error| output.fail(&error))
}

fn show(workspace: &Workspace, output: &mut Output<'_, '_>) -> Result<Exit, Error> {
    // An unreadable queue fails here, before anything is written.
    workspace.calls().counts()?;
    let export = Export::new(workspace);
    let is_json = output.is_json();
    let exit = if is_json {
        output.document(&export, Exit::Done)
    } else {
        output.write(Exit::Done, |out| export.write_lines(out))
    };
    match export.failure() {
        // The document already reports the error.
        Some(error) if is_json => Ok(exit.max(error.exit())),
        Some(error) => Err(error),
        None => Ok(exit),
    }
}
