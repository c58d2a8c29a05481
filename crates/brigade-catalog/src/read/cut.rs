//! Cuts a file into pieces, one per entry, without parsing them.
//!
//! In valid TOML a line that starts with `[[tool` without a dot is a header, unless it is inside a multi-line string.
//! So each piece of a valid file is a valid document with the same meaning. Lines that look like a misspelt header
//! (`[tool]`, `[[tool]`) are invalid next to correct headers. Cutting there, too, keeps their errors out of the entry
//! before.

use std::ops::Range;

/// A part of a file that is read separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// The bytes, up to the next piece.
    pub(crate) bytes: &'a [u8],
    /// The line number of the first byte, from 1.
    pub(crate) first_line: usize,
    /// Whether the piece starts with the header of an entry, even a misspelt one.
    pub(crate) starts_with_header: bool,
    /// Whether the piece follows an unclosed multi-line string, and so may be part of that string.
    pub(crate) is_uncertain: bool,
}

/// Cuts a file at the headers of entries. The pieces together are the whole file.
pub(crate) fn cut<'a>(bytes: &'a [u8], kind: &str) -> Vec<Piece<'a>> {
    let (texts, uncertain_from) = multi_line_strings(bytes);
    let mut texts = texts.into_iter().peekable();
    let mut pieces = Vec::new();
    let (mut start, mut first_line, mut starts_with_header) = (0, 1, false);
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length + 1);
        while texts.peek().is_some_and(|text| text.end <= at) {
            texts.next();
        }
        let is_text = texts.peek().is_some_and(|text| text.start < at);
        if !is_text && is_header(&bytes[at..end], kind) {
            if start < at {
                let is_uncertain = uncertain_from < start;
                pieces.push(Piece { bytes: &bytes[start..at], first_line, starts_with_header, is_uncertain });
            }
            (start, first_line, starts_with_header) = (at, line, true);
        }
        at = end;
        line += 1;
    }
    if start < bytes.len() {
        let is_uncertain = uncertain_from < start;
        pieces.push(Piece { bytes: &bytes[start..], first_line, starts_with_header, is_uncertain });
    }
    pieces
}

/// Returns whether a line is the header of an entry, even a misspelt one.
fn is_header(line: &[u8], kind: &str) -> bool {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let after_blank = |text: &mut &[u8]| *text = &text[text.iter().take_while(|byte| blank(byte)).count()..];
    let mut rest = line;
    after_blank(&mut rest);
    let Some(after) = rest.strip_prefix(b"[") else {
        return false;
    };
    rest = after;
    let opened_twice = rest.first() == Some(&b'[');
    rest = rest.strip_prefix(b"[").unwrap_or(rest);
    after_blank(&mut rest);
    let Some(after) = rest.strip_prefix(kind.as_bytes()) else {
        return false;
    };
    rest = after;
    after_blank(&mut rest);
    match rest.first() {
        // In broken TOML, `[tool` may open a list. `[[tool` can only be a header.
        None | Some(b'\r' | b'\n' | b'#') => opened_twice,
        Some(b']') => true,
        Some(_) => false,
    }
}

/// Returns the ranges of multi-line strings, and the start of the first one that is never closed.
///
/// The range of an unclosed string is omitted, so that the text after it can be read, although marked uncertain.
fn multi_line_strings(bytes: &[u8]) -> (Vec<Range<usize>>, usize) {
    let mut found = Vec::new();
    let has_any = |quotes: &[u8]| memchr::memmem::find(bytes, quotes).is_some();
    if !has_any(b"\"\"\"") && !has_any(b"'''") {
        return (found, usize::MAX);
    }
    let mut at = 0;
    while let Some(next) = memchr::memchr3(b'"', b'\'', b'#', &bytes[at..]).map(|length| at + length) {
        let quote = bytes[next];
        if quote == b'#' {
            at = memchr::memchr(b'\n', &bytes[next..]).map_or(bytes.len(), |length| next + length);
        } else if bytes[next..].starts_with(&[quote; 3]) {
            let Some(end) = end_of_multi_line(bytes, next + 3, quote) else {
                return (found, next);
            };
            found.push(next..end);
            at = end;
        } else {
            at = end_of_single_line(bytes, next + 1, quote);
        }
    }
    (found, usize::MAX)
}

/// Returns the end of a multi-line string, including quotes.
fn end_of_multi_line(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        at += memchr::memchr2(quote, b'\\', &bytes[at..])?;
        if bytes[at] == quote {
            let run = bytes[at..].iter().take_while(|byte| **byte == quote).count();
            if run >= 3 {
                // Up to two quotes before the closing three belong to the text.
                return Some(at + run.min(5));
            }
            at += run;
        } else {
            at = (at + if quote == b'"' { 2 } else { 1 }).min(bytes.len());
        }
    }
}

/// Returns the end of a single-line string: after its quote, or at the end of the line if it is not closed.
fn end_of_single_line(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(next) = memchr::memchr3(quote, b'\\', b'\n', &bytes[at..]).map(|length| at + length) {
        match bytes[next] {
            b'\n' => return next,
            b'\\' if quote == b'"' && bytes.get(next + 1).is_some_and(|byte| *byte != b'\n') => at = next + 2,
            b'\\' => at = next + 1,
            _ => return next + 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(usize, bool, bool)]) {
        let pieces = cut(text.as_bytes(), "tool");
        let whole: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes).copied().collect();
        assert_eq!(whole, text.as_bytes());
        let found: Vec<_> = pieces
            .iter()
            .map(|piece| (piece.first_line, piece.starts_with_header, piece.is_uncertain))
            .collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn a_piece_starts_at_every_header() {
        check("", &[]);
        check("# a\n", &[(1, false, false)]);
        check("[[tool]]\na=1\n[[tool]]", &[(1, true, false), (3, true, false)]);
        check("#\r\n\t[[ tool\t]] # x\r\na=1\n", &[(1, false, false), (2, true, false)]);
        check("[[tool]]\n[tool.projections]\n[[tool.x]]\n[[toolbox]]\n[tools]\n", &[(1, true, false)]);
    }

    #[test]
    fn a_misspelt_header_starts_a_piece_too() {
        check(
            "[[tool]]\n[tool]\n[[tool]\n[tool]]\n[[tool\n",
            &[(1, true, false), (2, true, false), (3, true, false), (4, true, false), (5, true, false)],
        );
    }

    #[test]
    fn headers_inside_multi_line_strings_are_text() {
        check(
            "[[tool]]\na = \"\"\"\n[[tool]]\n\\\"\"\"\n[[tool]]\"\"\"\"\n[[tool]]\n",
            &[(1, true, false), (6, true, false)],
        );
        check("a = '''\n[[tool]]\n\\'''\n[[tool]]\n", &[(1, false, false), (4, true, false)]);
        check("a = \"x\\\"'''\" # '''\nb = '\"\"\"'\n[[tool]]\n", &[(1, false, false), (3, true, false)]);
    }

    #[test]
    fn text_after_an_unclosed_string_is_uncertain() {
        check(
            "[[tool]]\na = \"\"\"x\n[[tool]]\nb = 1\n[[tool]]\n",
            &[(1, true, false), (3, true, true), (5, true, true)],
        );
    }
}
