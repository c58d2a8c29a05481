//! Finds the piece of a file that contains an entry, and writes a changed piece back.

use std::ops::Range;

use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::{EditError, check_schema, id_of, list};
use crate::model::{Catalog, Level, Tool};
use crate::read::cut::{Piece, cut};

/// The piece that contains an entry.
pub(super) struct FoundEntry {
    /// The range of the piece in the text.
    range: Range<usize>,
    document: DocumentMut,
    /// The index of the entry within the piece.
    index: usize,
}

/// Finds the first entry with an id.
pub(super) fn find(text: &str, id: &str) -> Result<FoundEntry, EditError> {
    for (piece, range) in pieces(text) {
        let part = &text[range.clone()];
        // An id that does not occur literally must contain an escape.
        if !part.contains(id) && !part.contains('\\') {
            continue;
        }
        let broken = EditError::Broken { line: piece.first_line };
        match part.parse::<DocumentMut>() {
            Ok(document) => {
                if let Some(index) = index_of(&document, id) {
                    return if piece.is_uncertain {
                        Err(broken)
                    } else {
                        Ok(FoundEntry { range, document, index })
                    };
                }
            }
            Err(_) if Catalog::parse("", Level::Project, part.as_bytes()).tool(id).is_some() => {
                return Err(broken);
            }
            Err(_) => {}
        }
    }
    Err(EditError::NotFound)
}

/// Changes the entry with an id.
pub(super) fn change(
    text: &str,
    id: &str,
    edit: impl FnOnce(&mut dyn TableLike),
) -> Result<String, EditError> {
    check_schema(text)?;
    let mut found = find(text, id)?;
    let before = found.document.to_string();
    edit(entry_mut(&mut found.document, found.index).ok_or(EditError::NotFound)?);
    let after = found.document.to_string();
    if before == after {
        return Ok(text.to_owned());
    }
    Ok(put_back(text, found.range, &after))
}

/// Reads every entry whose piece is valid TOML.
pub(super) fn tables<T>(text: &str, read: impl Fn(&dyn TableLike) -> T) -> Vec<T> {
    let mut found = Vec::new();
    for (piece, range) in pieces(text) {
        let Ok(document) = text[range].parse::<DocumentMut>() else { continue };
        match document.get("tool") {
            _ if piece.is_uncertain => {}
            Some(Item::ArrayOfTables(tables)) => found.extend(tables.iter().map(|table| read(table))),
            Some(Item::Value(Value::Array(items))) => {
                let tables = items.iter().filter_map(Value::as_inline_table);
                found.extend(tables.map(|table| read(table)));
            }
            _ => {}
        }
    }
    found
}

/// Adds an entry after all others.
pub(super) fn append(text: &str, tool: &Tool) -> Result<String, EditError> {
    check_schema(text)?;
    let end = if uses_crlf(text) { "\r\n" } else { "\n" };
    for (piece, range) in pieces(text) {
        if piece.is_uncertain {
            return Err(EditError::Broken { line: piece.first_line });
        }
        let part = &text[range.clone()];
        if piece.starts_with_header && part.trim_start().starts_with("[[") {
            continue;
        }
        let Ok(mut document) = part.parse::<DocumentMut>() else { continue };
        match document.get_mut("tool") {
            None | Some(Item::ArrayOfTables(_)) => {}
            Some(Item::Value(Value::Array(list))) if list.iter().all(Value::is_inline_table) => {
                list::push(list, tool);
                return Ok(put_back(text, range, &document.to_string()));
            }
            Some(_) => {
                let before = part
                    .lines()
                    .position(|line| line.trim_start_matches([' ', '\t', '[']).starts_with("tool"));
                return Err(EditError::NotAList { line: piece.first_line + before.unwrap_or(0) });
            }
        }
    }
    let mut all = text.to_owned();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push_str(end);
    }
    if !text[bom(text)..].trim().is_empty() && !all.ends_with(&format!("{end}{end}")) {
        all.push_str(end);
    }
    let start = all.len();
    all.push_str(&tool.to_toml().replace('\n', end));
    // The existing text may swallow the new entry, for example in an unclosed string.
    let is_seen = pieces(&all).iter().any(|(piece, range)| range.start == start && !piece.is_uncertain);
    if is_seen { Ok(all) } else { Err(EditError::Broken { line: 1 }) }
}

/// Cuts a text into its pieces, with their ranges.
fn pieces(text: &str) -> Vec<(Piece<'_>, Range<usize>)> {
    let mut at = bom(text);
    let cut = cut(&text.as_bytes()[at..], "tool");
    cut.into_iter()
        .map(|piece| {
            let range = at..at + piece.bytes.len();
            at = range.end;
            (piece, range)
        })
        .collect()
}

fn bom(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

fn uses_crlf(text: &str) -> bool {
    text.find('\n').is_some_and(|at| text[..at].ends_with('\r'))
}

/// Writes a changed piece back with its original line ends.
fn put_back(text: &str, range: Range<usize>, piece: &str) -> String {
    let crlf = uses_crlf(&text[range.clone()]);
    let piece = piece.replace("\r\n", "\n");
    let piece = if crlf { piece.replace('\n', "\r\n") } else { piece };
    format!("{}{piece}{}", &text[..range.start], &text[range.end..])
}

fn index_of(document: &DocumentMut, id: &str) -> Option<usize> {
    match document.get("tool")? {
        Item::ArrayOfTables(tables) => tables.iter().position(|table| id_of(table) == Some(id)),
        Item::Value(Value::Array(items)) => {
            items.iter().position(|item| item.as_inline_table().and_then(|table| id_of(table)) == Some(id))
        }
        _ => None,
    }
}

fn entry_mut(document: &mut DocumentMut, index: usize) -> Option<&mut dyn TableLike> {
    match document.get_mut("tool")? {
        Item::ArrayOfTables(tables) => tables.get_mut(index).map(|table| table as &mut dyn TableLike),
        Item::Value(Value::Array(items)) => {
            items.get_mut(index).and_then(Value::as_inline_table_mut).map(|table| table as &mut dyn TableLike)
        }
        _ => None,
    }
}
