//! The JSON documents on standard output.

use std::io::{self, Write};

use serde::Serialize;

/// How much is put together before it is handed on.
const CHUNK: usize = 1 << 16;

/// Writes one document: indented by two spaces, UTF-8, keys in the order of its type, with a final newline.
pub(crate) fn write(out: &mut (impl Write + ?Sized), document: &impl Serialize) -> io::Result<()> {
    let mut chunks = Chunks { out, waiting: Vec::with_capacity(CHUNK + CHUNK / 8) };
    serde_json::to_writer_pretty(&mut chunks, document)?;
    chunks.write_all(b"\n")?;
    chunks.flush()
}

/// Puts the many small pieces of a document together where the compiler can see it, unlike behind a `dyn Write`.
struct Chunks<'o, W: ?Sized> {
    out: &'o mut W,
    waiting: Vec<u8>,
}

impl<W: Write + ?Sized> Write for Chunks<'_, W> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() < CHUNK { Ok(()) } else { self.flush() }
    }

    #[cold]
    fn flush(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.waiting);
        self.waiting.clear();
        written
    }
}
