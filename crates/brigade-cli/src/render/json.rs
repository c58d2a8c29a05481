//! The JSON documents on standard output.

use std::io::{self, Write};

use serde::Serialize;

/// Writes one document: indented by two spaces, UTF-8, keys in the order of its type, with a final newline.
pub(crate) fn write(out: &mut (impl Write + ?Sized), document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}
