//! `brigade tools run export`

use brigade::Exit;
use brigade::core::{IdPrefix, Json};
use clap::Args;

use crate::output::Output;
use crate::session::Session;

/// Write the receipt of a run as a DSSE envelope, signed if this host has a key
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Id of the run, or any prefix of it that no other run has
    run: IdPrefix,
}

/// The schema id of an envelope.
const ENVELOPE: &str = "brigade.run-export.v1";

pub(crate) fn run(session: &Session<'_>, arguments: &ExportArgs, output: &mut Output<'_, '_>) -> Exit {
    match session.workspace().and_then(|workspace| workspace.run_export(&arguments.run)) {
        Ok(mut envelope) => {
            // The envelope as it is, for other programs; with `--json`, the same as a document of ours.
            if output.is_json()
                && let Json::Object(members) = &mut envelope
            {
                members.insert("schema".to_owned(), Json::from(ENVELOPE));
            }
            output.document(&envelope, Exit::Done)
        }
        Err(error) => output.fail(&error),
    }
}
