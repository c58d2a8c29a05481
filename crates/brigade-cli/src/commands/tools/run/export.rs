//! `brigade tools run export`

use brigade::Exit;
use brigade::core::IdPrefix;
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Write the receipt of a run as a DSSE envelope, signed if this host has a key
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Id of the run, or any prefix of it that no other run has
    run: IdPrefix,
}

pub(crate) fn run(session: &Session<'_>, arguments: &ExportArgs, output: &mut Output<'_, '_>) -> Exit {
    match session.workspace().and_then(|workspace| workspace.run_export(&arguments.run)) {
        Ok(envelope) => output.document(&envelope, Exit::Done),
        Err(error) => output.fail(&error),
    }
}
