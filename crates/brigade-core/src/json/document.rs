//! Writes documents: in one call, with long lists, or member by member.

use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::Rows;
use crate::parallel::try_in_parts;

/// The number of bytes buffered before a write.
const CHUNK: usize = 1 << 16;

/// Writes one document: indented by two spaces, UTF-8, keys in the order of its type, with a final newline.
///
/// # Errors
/// Fails on a write error.
pub fn write_document(out: &mut (impl Write + ?Sized), document: &impl Serialize) -> io::Result<()> {
    let mut chunks = Chunks { out, waiting: Vec::with_capacity(CHUNK + CHUNK / 8) };
    write_at(0, document, &mut chunks)?;
    chunks.write_all(b"\n")?;
    chunks.flush()
}

/// Writes a document with long lists, which are formatted in parallel.
///
/// `bare` is the document with these lists empty, `keys` names them in order, and `list` writes one list.
///
/// # Errors
/// Fails on a write error.
///
/// # Panics
/// Panics if the document has no empty list with one of these names.
pub fn write_with_lists<'k>(
    out: &mut dyn Write,
    bare: &impl Serialize,
    keys: &[&'k str],
    mut list: impl FnMut(&'k str, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    write_at(0, bare, &mut text)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
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

/// Formats a list of a document in pieces, and passes each piece to `keep`.
///
/// # Errors
/// Fails on a write error.
pub fn write_rows<T: Serialize>(
    out: &mut dyn Write,
    rows: &Rows<T>,
    mut keep: impl FnMut(Vec<u8>),
) -> io::Result<()> {
    let mut pieces = Pieces { out, is_first: true };
    rows.in_parts(written, |part| {
        keep(pieces.put(part)?);
        Ok::<(), io::Error>(())
    })?;
    keep(pieces.end()?);
    Ok(())
}

/// Formats a list that is in memory, on all processors.
///
/// # Errors
/// Fails on a write error.
pub fn write_list<T: Serialize + Sync>(out: &mut dyn Write, list: &[T]) -> io::Result<()> {
    let mut pieces = Pieces { out, is_first: true };
    let part = |range: Range<usize>| written(&mut list[range].iter());
    try_in_parts(list.len(), part, |part| pieces.put(part).map(drop))?;
    pieces.end().map(drop)
}

/// The pieces of a list, of which each is written and handed back.
struct Pieces<'o> {
    out: &'o mut dyn Write,
    is_first: bool,
}

impl Pieces<'_> {
    fn put(&mut self, part: io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
        let mut part = part?;
        if std::mem::replace(&mut self.is_first, false) {
            part[0] = b'[';
        }
        self.out.write_all(&part)?;
        Ok(part)
    }

    fn end(self) -> io::Result<Vec<u8>> {
        let end: &[u8] = if self.is_first { b"[]" } else { b"\n  ]" };
        self.out.write_all(end)?;
        Ok(end.to_vec())
    }
}

/// Formats rows of a list, each after a comma.
fn written<T: Serialize>(rows: &mut dyn Iterator<Item = T>) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(CHUNK);
    for row in rows {
        text.extend_from_slice(b",\n    ");
        write_at(2, &row, &mut text)?;
    }
    Ok(text)
}

/// Writes a value at the given nesting depth.
fn write_at(depth: usize, value: &(impl Serialize + ?Sized), out: &mut impl Write) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, IndentFormatter { depth, has_value: false }))?;
    Ok(())
}

/// Indents by two spaces, with one write for each line.
struct IndentFormatter {
    depth: usize,
    /// Whether the open list or object has an element.
    has_value: bool,
}

/// The beginning of a line after an element.
const LINE: &str = ",\n                                                                ";

impl IndentFormatter {
    fn line<W: Write + ?Sized>(&self, out: &mut W, is_first: bool) -> io::Result<()> {
        let end = 2 + 2 * self.depth;
        let from = usize::from(is_first);
        match LINE.as_bytes().get(from..end) {
            Some(line) => out.write_all(line),
            None => {
                out.write_all(&LINE.as_bytes()[from..])?;
                (LINE.len()..end).try_for_each(|_| out.write_all(b" "))
            }
        }
    }

    fn begin<W: Write + ?Sized>(&mut self, out: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        out.write_all(sign)
    }

    fn end<W: Write + ?Sized>(&mut self, out: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.line(out, true)?;
        }
        out.write_all(sign)
    }
}

impl Formatter for IndentFormatter {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.line(out, is_first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.line(out, is_first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

/// Writes a document member by member, for documents that are larger than memory or not complete yet.
pub struct DocumentWriter<'o> {
    out: &'o mut dyn Write,
    is_empty: bool,
}

impl<'o> DocumentWriter<'o> {
    /// Starts a document.
    pub fn new(out: &'o mut dyn Write) -> DocumentWriter<'o> {
        DocumentWriter { out, is_empty: true }
    }

    /// Writes a member.
    ///
    /// # Errors
    /// Fails on a write error.
    pub fn member(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        self.name(name)?;
        let mut text = Vec::new();
        write_at(1, value, &mut text)?;
        self.out.write_all(&text)
    }

    /// Writes a member that is a list, with elements written by `fill`.
    ///
    /// # Errors
    /// Returns the errors of `fill`, and write errors.
    pub fn list<T>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut ListWriter<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.name(name)?;
        let mut list = ListWriter { out: &mut *self.out, text: Vec::new(), is_empty: true };
        let filled = fill(&mut list)?;
        let end: &[u8] = if list.is_empty { b"[]" } else { b"\n  ]" };
        self.out.write_all(end)?;
        Ok(filled)
    }

    /// Ends the document.
    ///
    /// # Errors
    /// Fails on a write error.
    pub fn end(self) -> io::Result<()> {
        self.out.write_all(if self.is_empty { b"{}\n" } else { b"\n}\n" })
    }

    fn name(&mut self, name: &str) -> io::Result<()> {
        self.out.write_all(if self.is_empty { b"{\n  " } else { b",\n  " })?;
        self.is_empty = false;
        serde_json::to_writer(&mut *self.out, name)?;
        self.out.write_all(b": ")
    }
}

/// Writes the elements of a list in a document.
pub struct ListWriter<'o> {
    out: &'o mut dyn Write,
    text: Vec<u8>,
    is_empty: bool,
}

impl ListWriter<'_> {
    /// The nesting depth of an element.
    pub const DEPTH: usize = 2;

    /// Writes an element.
    ///
    /// # Errors
    /// Fails on a write error.
    pub fn element(&mut self, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        write_at(ListWriter::DEPTH, value, &mut text)?;
        let written = self.text(&text);
        self.text = text;
        written
    }

    /// Writes an element from JSON that is already indented for [`ListWriter::DEPTH`].
    ///
    /// # Errors
    /// Fails on a write error.
    pub fn text(&mut self, json: &[u8]) -> io::Result<()> {
        self.out.write_all(if self.is_empty { b"[\n    " } else { b",\n    " })?;
        self.is_empty = false;
        self.out.write_all(json)
    }
}

/// Buffers the many small writes of a document, so that each does not go through a `dyn Write`.
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
        write_document(&mut expect, &document).unwrap();
        let bare = Document { rows: Rows::none(), again: Rows::none(), ..document };
        let (mut found, mut kept) = (Vec::new(), Vec::new());
        let list = |key: &str, out: &mut dyn Write| match key {
            "rows" => write_rows(out, &rows, |piece| kept.push(piece)),
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

    #[test]
    fn a_list_in_memory_is_written_like_rows() {
        for count in [0, 1, 2, 1_000] {
            let list: Vec<Vec<usize>> = (0..count).map(|index| vec![index; index % 3]).collect();
            let (mut expect, mut found) = (Vec::new(), Vec::new());
            write_rows(&mut expect, &Rows::new(count, |index| vec![index; index % 3]), drop).unwrap();
            write_list(&mut found, &list).unwrap();
            assert_eq!(String::from_utf8(found), String::from_utf8(expect));
        }
    }

    #[test]
    fn a_document_is_indented_as_serde_json_does() {
        let mut deep = serde_json::json!({"a": [], "b": {}, "c": [1, {"d": [[], {}]}], "e": "\u{1}\n\"x"});
        for _ in 0..40 {
            deep = serde_json::json!([{"in": deep}, null]);
        }
        for value in [serde_json::json!(1), serde_json::json!([]), deep] {
            let mut found = Vec::new();
            write_document(&mut found, &value).unwrap();
            let expect = serde_json::to_string_pretty(&value).unwrap() + "\n";
            assert_eq!(String::from_utf8(found).unwrap(), expect);
        }
    }

    #[track_caller]
    fn member_by_member(rows: &[Vec<usize>]) {
        let document = Document {
            name: "a\"b",
            rows: Rows::new(rows.len(), {
                let rows = rows.to_vec();
                move |index| rows[index].clone()
            }),
            count: rows.len(),
            again: Rows::none(),
        };
        let (mut expect, mut found) = (Vec::new(), Vec::new());
        write_document(&mut expect, &document).unwrap();
        let mut writer = DocumentWriter::new(&mut found);
        writer.member("name", document.name).unwrap();
        writer.list("rows", |list| rows.iter().try_for_each(|row| list.element(row))).unwrap();
        writer.member("count", &document.count).unwrap();
        writer.list("again", |_| Ok(())).unwrap();
        writer.end().unwrap();
        assert_eq!(String::from_utf8(found), String::from_utf8(expect));
    }

    #[test]
    fn a_document_is_the_same_member_by_member() {
        member_by_member(&[]);
        member_by_member(&[vec![1, 2], vec![], vec![3]]);
        let mut empty = Vec::new();
        DocumentWriter::new(&mut empty).end().unwrap();
        assert_eq!(empty, b"{}\n");
    }

    #[test]
    fn an_element_that_is_json_already_stands_as_it_is() {
        let mut found = Vec::new();
        let mut writer = DocumentWriter::new(&mut found);
        writer.list("a", |list| list.text(b"1").and_then(|()| list.element(&2))).unwrap();
        writer.end().unwrap();
        assert_eq!(found, b"{\n  \"a\": [\n    1,\n    2\n  ]\n}\n");
    }
}
