//! `brigade tools run export`

use brigade::Exit;
use brigade::core::{IdPrefix, Json};
use clap::{Args, ValueEnum};

use crate::output::Output;
use crate::session::Session;

/// Write the receipt of a run as a DSSE envelope, signed if this host has a key
///
/// A receipt that run verify rejects is not exported.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Id of the run, or any prefix of it that no other run has
    run: IdPrefix,

    /// How the receipt is wrapped: dsse is an envelope with an in-toto statement
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "dsse")]
    format: Format,
}

/// How a receipt is wrapped.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// An envelope with an in-toto statement
    Dsse,
}

/// The schema id of an envelope.
const ENVELOPE: &str = "brigade.run-export.v1";

pub(crate) fn run(session: &Session<'_>, arguments: &ExportArgs, output: &mut Output<'_, '_>) -> Exit {
    let exported = session.workspace().and_then(|workspace| match arguments.format {
        Format::Dsse => workspace.runs().export(&arguments.run),
    });
    match exported {
        Ok(mut envelope) => {
            let signatures = envelope.get("signatures").and_then(Json::as_array).unwrap_or_default();
            let is_signed = !signatures.is_empty();
            // The envelope as it is, for other programs; with `--json`, the same as a document of ours.
            if output.is_json()
                && let Json::Object(members) = &mut envelope
            {
                members.insert("schema".to_owned(), Json::from(ENVELOPE));
            }
            let exit = output.document(&envelope, Exit::Done);
            if !is_signed {
                output.note(
                    "this host has no key, so the envelope is not signed; brigade tools keys init makes one",
                );
            }
            exit
        }
        Err(error) => output.fail(&error),
    }
}
