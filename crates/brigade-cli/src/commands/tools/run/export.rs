//! `brigade tools run export`

use brigade::core::IdPrefix;
use brigade::report::Envelope;
use brigade::{Error, Exit, Report as _};
use clap::{Args, ValueEnum};

use crate::output::Output;
use crate::session::Session;

/// Print the receipt of a run as a DSSE envelope, signed if this host has a key
///
/// A receipt that `run verify` rejects is not exported.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Id of the run, a unique prefix, or latest
    run: IdPrefix,

    /// Format of the envelope: dsse is a DSSE envelope with an in-toto statement
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "dsse")]
    format: Format,
}

/// The format of an exported receipt.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A DSSE envelope with an in-toto statement
    Dsse,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &ExportArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let Format::Dsse = arguments.format;
    let mut envelope = session.workspace()?.runs().export(&arguments.run)?;
    // Other programs read the plain envelope; `--json` adds the schema id.
    if output.is_json() {
        envelope.schema = Some(Envelope::SCHEMA.to_owned());
    }
    let exit = output.document(&envelope, Exit::Done);
    if envelope.signatures.is_empty() {
        output.note(
            "the envelope is not signed: this host has no key; create one with `brigade tools keys init`",
        );
    }
    Ok(exit)
}
