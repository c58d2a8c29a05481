//! Reads the common subset of TOML, many times faster than a complete TOML parser.
//!
//! A plain piece is one header followed by lines `key = value` with known keys, each once, and valid values:
//! single-line strings without escapes, booleans, decimal numbers, lists of such strings, and inline tables from bare
//! keys to such strings. Tables of known fields may follow under their own headers. Anything else is left to the full
//! reader. Giving up is always correct; guessing never is.

use std::collections::HashSet;

use brigade_core::Place;
use brigade_redact::is_secret_name;

use super::cut::Piece;
use super::entry::{Entry, Slot};
use super::group::Group;
use crate::fields::{KNOWN_HARNESSES, Shape, misspelt_effect};
use crate::model::{FieldPlace, Level, Origin};

/// The maximum length of a line that is not ASCII, so that counting its characters stays cheap.
const MAX_LINE_BYTES: usize = 4096;

/// Reads pieces and reuses its buffers.
#[derive(Debug, Default)]
pub(super) struct Reader<'t> {
    places: Vec<FieldPlace>,
    keys: Vec<(&'t str, u32, u32)>,
    /// Keys of argument templates that are known not to look secret.
    harmless: HashSet<&'t str>,
}

impl<'t> Reader<'t> {
    /// Reads a piece. Returns `None` if it is not plain, contains an error, or has no header.
    pub(super) fn read_piece<E: Entry>(&mut self, piece: &Piece<'t>, file: &str, level: Level) -> Option<E> {
        let text = std::str::from_utf8(piece.bytes).ok().filter(|_| piece.starts_with_header)?;
        self.read(text, piece.first_line, file, level)
    }

    /// Reads a piece that starts with a header. Returns `None` if it is not plain or contains an error.
    pub(super) fn read<E: Entry>(
        &mut self,
        text: &'t str,
        first_line: usize,
        file: &str,
        level: Level,
    ) -> Option<E> {
        let mut cursor = Cursor {
            text,
            at: 0,
            line: u32::try_from(first_line).ok()?,
            line_start: 0,
            is_ascii: text.is_ascii(),
        };
        cursor.skip_blanks();
        let place = Place::at(file, first_line, cursor.column()? as usize);
        cursor.expect(b"[[")?;
        cursor.expect(E::KIND.as_bytes())?;
        cursor.expect(b"]]")?;
        cursor.end_line()?;

        let mut entry = E::blank(level, place.clone());
        let mut required = 0u64;
        let mut seen = 0u64;
        let mut expected = 0;
        self.places.clear();
        let mut more = cursor.next_statement()?;
        while more && cursor.peek() != Some(b'[') {
            let (line, column) = (cursor.line, cursor.column()?);
            let key = cursor.bare_key()?;
            let field = E::FIELDS.position_from(expected, key)?;
            if seen & (1 << field) != 0 {
                return None;
            }
            seen |= 1 << field;
            expected = field + 1;
            self.places.push(FieldPlace { field, element: 0, line, column });
            cursor.skip_blanks();
            cursor.expect(b"=")?;
            cursor.skip_blanks();
            match entry.slot(field) {
                Slot::List(list) => self.list(&mut cursor, field, key, list)?,
                Slot::Table(table) => {
                    self.table(&mut cursor, field, key, |key, text| {
                        table.insert(key.to_owned(), text).is_none()
                    })?;
                }
                slot @ Slot::Boolean(_) => slot.set_boolean(cursor.boolean()?).ok()?,
                Slot::Group(group) => self.inline_group(&mut cursor, field, group)?,
                slot @ (Slot::Seconds(_) | Slot::Port(_)) => {
                    let (number, is_integer) = cursor.number()?;
                    slot.set_number(number, is_integer).ok()?;
                }
                slot => slot.set_text(cursor.string()?).ok()?,
            }
            cursor.end_line()?;
            more = cursor.next_statement()?;
        }
        while more {
            let field = self.group_header::<E>(&mut cursor)?;
            if seen & (1 << field) != 0 {
                return None;
            }
            seen |= 1 << field;
            let Slot::Group(group) = entry.slot(field) else {
                return None;
            };
            more = self.group(&mut cursor, field, group)?;
        }
        for (field, (_, shape)) in E::FIELDS.0.iter().enumerate() {
            if *shape == Shape::Required {
                required |= 1 << field;
            }
        }
        if seen & required != required {
            return None;
        }
        entry.set_origin(Origin::with_fields(level, place, self.places.as_slice().to_vec()));
        (entry.contradiction().is_none() && entry.pointless().is_none()).then_some(entry)
    }

    /// Reads the header of a table of known fields. Returns the field.
    fn group_header<E: Entry>(&mut self, cursor: &mut Cursor<'t>) -> Option<u8> {
        cursor.expect(b"[")?;
        cursor.expect(E::KIND.as_bytes())?;
        cursor.expect(b".")?;
        let (line, column) = (cursor.line, cursor.column()?);
        let field = E::FIELDS.position(cursor.bare_key()?)?;
        self.places.push(FieldPlace { field, element: 0, line, column });
        cursor.expect(b"]")?;
        cursor.end_line()?;
        Some(field)
    }

    /// Reads a table of known fields under its header. Returns whether anything follows.
    fn group(&mut self, cursor: &mut Cursor<'t>, field: u8, group: &mut dyn Group) -> Option<bool> {
        let mut seen = 0;
        let mut more = cursor.next_statement()?;
        while more && cursor.peek() != Some(b'[') {
            self.group_field(cursor, field, group, &mut seen)?;
            cursor.end_line()?;
            more = cursor.next_statement()?;
        }
        Some(more)
    }

    /// Reads a table of known fields in braces.
    fn inline_group(&mut self, cursor: &mut Cursor<'t>, field: u8, group: &mut dyn Group) -> Option<()> {
        let mut seen = 0;
        cursor.expect(b"{")?;
        cursor.skip_blanks();
        while cursor.peek() != Some(b'}') {
            self.group_field(cursor, field, group, &mut seen)?;
            cursor.skip_blanks();
            cursor.after_pair()?;
        }
        cursor.expect(b"}")
    }

    /// Reads one field of a table of known fields.
    fn group_field(
        &mut self,
        cursor: &mut Cursor<'t>,
        field: u8,
        group: &mut dyn Group,
        seen: &mut u64,
    ) -> Option<()> {
        let (line, column) = (cursor.line, cursor.column()?);
        let key = group.fields().position(cursor.bare_key()?)?;
        if *seen & (1 << key) != 0 {
            return None;
        }
        *seen |= 1 << key;
        self.places.push(FieldPlace::new(field, usize::from(key) + 1, line as usize, column as usize));
        cursor.skip_blanks();
        cursor.expect(b"=")?;
        cursor.skip_blanks();
        match group.slot(key) {
            Slot::Lines(lines) if cursor.peek() == Some(b'[') => cursor.strings(|text, _, _| {
                lines.push(text.to_owned());
                Some(())
            }),
            slot @ Slot::Amount(_) => {
                let (number, is_integer) = cursor.number()?;
                slot.set_number(number, is_integer).ok()
            }
            slot => slot.set_text(cursor.string()?).ok(),
        }
    }

    fn list(&mut self, cursor: &mut Cursor<'t>, field: u8, key: &str, list: &mut Vec<String>) -> Option<()> {
        cursor.strings(|text, line, column| {
            let is_strange = match key {
                "supported_harnesses" => !KNOWN_HARNESSES.contains(&text),
                "effects" => misspelt_effect(text).is_some(),
                _ => false,
            };
            if is_strange {
                return None;
            }
            list.push(text.to_owned());
            self.places.push(FieldPlace::new(field, list.len(), line as usize, column as usize));
            Some(())
        })
    }

    fn table(
        &mut self,
        cursor: &mut Cursor<'t>,
        field: u8,
        key: &str,
        mut insert: impl FnMut(&str, String) -> bool,
    ) -> Option<()> {
        cursor.expect(b"{")?;
        let is_harness = key != "argument_template";
        self.keys.clear();
        cursor.skip_blanks();
        while cursor.peek() != Some(b'}') {
            let (line, column) = (cursor.line, cursor.column()?);
            let name = cursor.bare_key()?;
            let is_known = if is_harness { KNOWN_HARNESSES.contains(&name) } else { self.is_harmless(name) };
            if !is_known {
                return None;
            }
            cursor.skip_blanks();
            cursor.expect(b"=")?;
            cursor.skip_blanks();
            if !insert(name, cursor.string()?.trim().to_owned()) {
                return None;
            }
            self.keys.push((name, line, column));
            cursor.skip_blanks();
            cursor.after_pair()?;
        }
        cursor.expect(b"}")?;
        self.keys.sort_unstable();
        for (at, (_, line, column)) in self.keys.iter().enumerate() {
            self.places.push(FieldPlace::new(field, at + 1, *line as usize, *column as usize));
        }
        Some(())
    }

    fn is_harmless(&mut self, name: &'t str) -> bool {
        self.harmless.contains(name) || (!is_secret_name(name) && self.harmless.insert(name))
    }
}

/// A position in a piece.
#[derive(Debug)]
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    line_start: usize,
    is_ascii: bool,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Returns the current column in characters, from 1.
    fn column(&self) -> Option<u32> {
        let bytes = self.at - self.line_start;
        let before = if self.is_ascii {
            bytes
        } else if bytes <= MAX_LINE_BYTES {
            self.text[self.line_start..self.at].chars().count()
        } else {
            return None;
        };
        u32::try_from(before + 1).ok()
    }

    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.rest().starts_with(text).then(|| self.at += text.len())
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    }

    /// Skips the rest of a line after a value.
    fn end_line(&mut self) -> Option<()> {
        self.skip_blanks();
        if self.peek() == Some(b'#') {
            let rest = self.rest();
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let comment = &rest[..length];
            let comment =
                if length < rest.len() { comment.strip_suffix(b"\r").unwrap_or(comment) } else { comment };
            if comment.iter().any(|byte| CLASS[usize::from(*byte)] == CONTROL) {
                return None;
            }
            self.at += comment.len();
        }
        if self.at == self.text.len() {
            return Some(());
        }
        if self.peek() == Some(b'\r') {
            self.at += 1;
        }
        self.expect(b"\n")?;
        self.line += 1;
        self.line_start = self.at;
        Some(())
    }

    /// Skips empty lines and comments. Returns whether anything follows.
    fn next_statement(&mut self) -> Option<bool> {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return Some(false),
                Some(b'\r' | b'\n' | b'#') => self.end_line()?,
                Some(_) => return Some(true),
            }
        }
    }

    /// Skips whitespace, line ends and comments, as between the elements of a list.
    fn skip_lines(&mut self) -> Option<()> {
        self.next_statement().map(drop)
    }

    fn bare_key(&mut self) -> Option<&'t str> {
        let length = self.rest().iter().take_while(|byte| CLASS[usize::from(**byte)] == WORD).count();
        let key = &self.text[self.at..self.at + length];
        self.at += length;
        (length > 0).then_some(key)
    }

    /// Reads a single-line string without escapes.
    fn string(&mut self) -> Option<&'t str> {
        let quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\''))?;
        let start = self.at + 1;
        let mut end = start;
        loop {
            let byte = *self.text.as_bytes().get(end)?;
            match CLASS[usize::from(byte)] {
                QUOTE if byte == quote => break,
                BACKSLASH if quote == b'"' => return None,
                CONTROL => return None,
                _ => end += 1,
            }
        }
        self.at = end + 1;
        Some(&self.text[start..end])
    }

    /// Reads a list of such strings that are not empty, with the line and column of each.
    fn strings(&mut self, mut each: impl FnMut(&'t str, u32, u32) -> Option<()>) -> Option<()> {
        self.expect(b"[")?;
        loop {
            self.skip_lines()?;
            if self.peek() == Some(b']') {
                break;
            }
            let (line, column) = (self.line, self.column()?);
            let text = self.string()?.trim();
            if text.is_empty() {
                return None;
            }
            each(text, line, column)?;
            self.skip_lines()?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {}
                _ => return None,
            }
        }
        self.expect(b"]")
    }

    /// Skips the comma between the pairs of an inline table.
    fn after_pair(&mut self) -> Option<()> {
        match self.peek()? {
            b',' => {
                self.at += 1;
                self.skip_blanks();
                // The full reader decides about a trailing comma.
                (self.peek() != Some(b'}')).then_some(())
            }
            b'}' => Some(()),
            _ => None,
        }
    }

    fn boolean(&mut self) -> Option<bool> {
        match self.bare_key()? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Reads a decimal number without sign, exponent and underscores. Returns whether it is an integer.
    fn number(&mut self) -> Option<(f64, bool)> {
        let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let start = self.at;
        let whole = digits(self.rest());
        if whole == 0 || whole > 15 || (whole > 1 && self.peek() == Some(b'0')) {
            return None;
        }
        self.at += whole;
        let mut is_integer = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let fraction = digits(self.rest());
            if fraction == 0 {
                return None;
            }
            self.at += fraction;
            is_integer = false;
        }
        let number = self.text[start..self.at].parse().ok()?;
        Some((number, is_integer))
    }
}

const OTHER: u8 = 0;
const WORD: u8 = 1;
const QUOTE: u8 = 2;
const BACKSLASH: u8 = 3;
/// Control characters that TOML does not allow in strings and comments. Tabs are allowed.
const CONTROL: u8 = 4;

/// The class of each byte.
const CLASS: [u8; 256] = {
    let mut class = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => WORD,
            b'"' | b'\'' => QUOTE,
            b'\\' => BACKSLASH,
            b'\t' => OTHER,
            0..0x20 | 0x7f => CONTROL,
            _ => OTHER,
        };
        byte += 1;
    }
    class
};
