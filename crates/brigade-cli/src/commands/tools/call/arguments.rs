//! The options of `plan` and `queue` that give the arguments of a call.

use std::io::Read;
use std::path::PathBuf;

use brigade::{ArgsSource, Error, ErrorKind};
use clap::Args;

use crate::output::Output;

/// The maximum number of bytes to read from standard input.
const LIMIT: u64 = 16 << 20;

#[derive(Args, Debug)]
pub(crate) struct CallArguments {
    /// Arguments of the call, as a JSON object; given twice, the last one counts
    #[arg(long, value_name = "JSON")]
    args: Option<String>,

    /// Read the arguments from a JSON file; use - for standard input
    #[arg(long, value_name = "FILE")]
    args_json: Option<PathBuf>,
}

impl CallArguments {
    /// Returns the source of the arguments; reads standard input if it is the source.
    pub(super) fn source(&self, output: &mut Output<'_, '_>) -> Result<ArgsSource, Error> {
        match (&self.args, &self.args_json) {
            (Some(_), Some(_)) => Ok(ArgsSource::Both),
            (Some(text), None) => Ok(ArgsSource::Inline(text.clone())),
            (None, Some(file)) if file.as_os_str() == "-" => {
                standard_input(output).map(ArgsSource::StandardInput)
            }
            (None, Some(file)) => Ok(ArgsSource::File(file.clone())),
            (None, None) => Ok(ArgsSource::None),
        }
    }
}

fn standard_input(output: &mut Output<'_, '_>) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = output.input().take(LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        Error::new(ErrorKind::Environment, format!("cannot read standard input: {}", error.kind()))
    })?;
    if LIMIT < bytes.len() as u64 {
        let message = format!("standard input is larger than {LIMIT} bytes");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes).to_vec();
    String::from_utf8(text).map_err(|_| Error::new(ErrorKind::Usage, "standard input is not UTF-8"))
}
