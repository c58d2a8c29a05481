//! The JSON documents on standard output.

use std::io::{self, Write};

use brigade::Rows;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter as _, PrettyFormatter};

/// How many bytes are collected before a write.
const CHUNK: usize = 1 << 16;

/// Writes one document: indented by two spaces, UTF-8, keys in the order of its type, with a final newline.
pub(crate) fn write(out: &mut (impl Write + ?Sized), document: &impl Serialize) -> io::Result<()> {
    let mut chunks = Chunks { out, waiting: Vec::with_capacity(CHUNK + CHUNK / 8) };
    serde_json::to_writer_pretty(&mut chunks, document)?;
    chunks.write_all(b"\n")?;
    chunks.flush()
}

/// Writes a document with long lists, which are formatted in parallel.
///
/// `bare` is the document with these lists empty, and `keys` names them in order; `list` writes one list.
pub(crate) fn write_with_lists<'k>(
    out: &mut dyn Write,
    bare: &impl Serialize,
    keys: &[&'k str],
    mut list: impl FnMut(&'k str, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let text = serde_json::to_string_pretty(bare)?;
    let mut rest = text.as_str();
    for key in keys {
        // Only top-level keys are indented by two spaces, and JSON strings contain no line ends.
        let member = format!("\n  \"{key}\": ");
        let place = rest.find(&format!("{member}[]")).expect("the document has the list, without rows");
        let (before, after) = rest.split_at(place + member.len());
        out.write_all(before.as_bytes())?;
        list(key, out)?;
        rest = &after["[]".len()..];
    }
    out.write_all(rest.as_bytes())?;
    out.write_all(b"\n")
}

/// Writes a list of a document in pieces, and passes each piece to `keep`.
pub(crate) fn write_list<T: Serialize>(
    out: &mut dyn Write,
    rows: &Rows<T>,
    mut keep: impl FnMut(Vec<u8>),
) -> io::Result<()> {
    let mut hand_on = |piece: Vec<u8>| {
        out.write_all(&piece)?;
        keep(piece);
        Ok::<(), io::Error>(())
    };
    let mut is_first = true;
    rows.in_parts(written, |part| {
        let mut part = part?;
        if is_first {
            part[0] = b'[';
            is_first = false;
        }
        hand_on(part)
    })?;
    hand_on(if is_first { b"[]".to_vec() } else { b"\n  ]".to_vec() })
}

/// Writes rows of such a list, each after a comma.
fn written<T: Serialize>(rows: &mut dyn Iterator<Item = T>) -> io::Result<Vec<u8>> {
    // The rows are members of a list in a document.
    let mut formatter = PrettyFormatter::new();
    formatter.begin_object(&mut io::sink())?;
    formatter.begin_array(&mut io::sink())?;
    let mut text = Vec::with_capacity(CHUNK);
    for row in rows {
        text.extend_from_slice(b",\n    ");
        row.serialize(&mut Serializer::with_formatter(&mut text, formatter.clone()))?;
    }
    Ok(text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Document {
        name: &'static str,
        rows: Rows<Vec<usize>>,
        count: usize,
        again: Rows<Vec<usize>>,
    }

    #[track_caller]
    fn check(count: usize) {
        let rows = Rows::new(count, |index| vec![index; index % 3]);
        let name = "\n  \"rows\": []";
        let document = Document { name, rows: rows.clone(), count, again: rows.clone() };
        let mut expect = Vec::new();
        write(&mut expect, &document).unwrap();
        let bare = Document { rows: Rows::none(), again: Rows::none(), ..document };
        let (mut found, mut kept) = (Vec::new(), Vec::new());
        let list = |key: &str, out: &mut dyn Write| match key {
            "rows" => write_list(out, &rows, |piece| kept.push(piece)),
            _ => kept.iter().try_for_each(|piece| out.write_all(piece)),
        };
        write_with_lists(&mut found, &bare, &["rows", "again"], list).unwrap();
        assert_eq!(String::from_utf8(found), String::from_utf8(expect));
    }

    #[test]
    fn long_lists_are_written_like_short_ones() {
        for count in [0, 1, 2, 63, 64, 1_000] {
            check(count);
        }
    }
}
